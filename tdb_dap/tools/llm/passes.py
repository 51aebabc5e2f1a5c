"""The launches of an answer, by token, and which positions each of them computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.program import Launch, Program
from tdb_dap.tools.llm.language_model import HEADS

_TABLES = ("embedding", "embedding_cache")


@dataclass(frozen=True)
class Place:
    """A launch and the positions that it computes.

    ``number``: of its pass; ``before``: the launches of the same layer before it; ``first``, ``count``: positions;
    ``begins``: whether no other launch gives it states. A prefill with history has several parts that begin so.
    """

    launch: Launch
    number: int
    before: tuple[int, ...]
    first: int
    count: int
    begins: bool


def passes(launches: Sequence[Launch]) -> list[list[Launch]]:
    """The launches of each token: up to the head that gives it."""
    groups: list[list[Launch]] = [[]]
    for launch, ahead in zip(launches, [*launches[1:], None], strict=True):
        groups[-1].append(launch)
        is_last = launch.net in HEADS and (ahead is None or ahead.net not in HEADS)
        if is_last and ahead is not None:
            groups.append([])
    return [own for own in groups if own and own[-1].net in HEADS]


def token_of(machine: Machine, program: Program, head: Launch) -> int:
    """The token that a head, or the host from its logits, has answered, as it is in memory now."""
    place = program.answered_at(head.token) if head.token is not None else None
    view = place or program.borders_of(head)[1][0].view
    numbers = machine.read(view).reshape(-1)
    return int(numbers.argmax() if view.dtype.is_float else numbers[0])


def places(program: Program, passes: Sequence[Sequence[Launch]], prompt: int) -> Iterator[Place]:
    """Every launch of a completion of a prompt of this number of tokens, in order."""
    layers: dict[str, list[int]] = {}
    first = 0
    for number, own in enumerate(passes):
        for part in _parts(own):
            count = _count(program, part, prompt - first) if number == 0 else 1
            for launch in part:
                layer = launch.net.rpartition("_")[2]
                before = layers.setdefault(layer, [])
                known = tuple(before) if layer.isdigit() else ()
                yield Place(launch, number, known, first, count, launch is part[0])
                before.append(launch.number)
            first += count


def rows_of(program: Program, launch: Launch) -> int:
    """Positions for which a launch of a block or of a table has room."""
    shape = program.borders_of(launch)[0][0].shape
    return shape[1] if len(shape) > 1 else 1


def _parts(own: Sequence[Launch]) -> Iterator[Sequence[Launch]]:
    """The launches of a pass cut where states begin: at a table of embeddings, else at the first block."""
    starts = [
        index
        for index, launch in enumerate(own)
        if launch.net in _TABLES
        or (launch.net in ("block_0", "block_kv_0") and (index == 0 or own[index - 1].net not in _TABLES))
    ]
    bounds = [0, *(start for start in starts if start), len(own)]
    for start, stop in pairwise(bounds):
        yield own[start:stop]


def _count(program: Program, part: Sequence[Launch], rest: int) -> int:
    """Positions of a part of the prefill: those of its first block, at most the rest of the prompt."""
    block = next((launch for launch in part if launch.net.startswith("block_")), None)
    return max(1, min(rest, rows_of(program, block))) if block is not None else max(1, rest)
