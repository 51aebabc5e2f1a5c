"""The launches of an answer, by token, and which positions each of them computes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from tdb_dap.engine.machine.machine import Machine
from tdb_dap.engine.program.program import Launch, Program
from tdb_dap.tools.float_model.vision_config import ENCODER
from tdb_dap.tools.llm.language_model import ADD, HEADS

_TABLES = ("embedding", "embedding_cache")


class Place(Struct, frozen=True):
    """A launch and the positions that it computes.

    ``number``: of its pass; ``before``: the launches of the same layer with the positions before; ``first``, ``count``:
    positions; ``source``: the launch that gives it states, None if none does. A prefill with history has several parts
    that begin so. A net that is launched again for the same positions has the place of its first launch.
    """

    launch: Launch
    number: int
    before: tuple[int, ...]
    first: int
    count: int
    source: int | None

    @property
    def begins(self) -> bool:
        """Whether no other launch gives it states."""
        return self.source is None


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
        latest: dict[str, int] = {}
        for part in _parts(own):
            if number == 0 and any(launch.net.startswith("block_") and "kv" not in launch.net for launch in part):
                layers, first = {}, 0  # it has no history
            count = _count(program, part, prompt - first) if number == 0 else 1
            yield from _of_part(part, number, layers, first, count, latest)
            if number == 0 and latest:
                first += count
                _keep(latest, layers)
        if number:
            first += 1
            _keep(latest, layers)


def _of_part(
    part: Sequence[Launch],
    number: int,
    layers: dict[str, list[int]],
    first: int,
    count: int,
    latest: dict[str, int],
) -> Iterator[Place]:
    """Launches of a part; ``latest``: layer -> its last launch, which is filled."""
    nets: list[str] = []
    last: dict[str, int] = {}
    for launch in part:
        if launch.net == ENCODER:  # its rows come in from the side
            yield Place(launch, number, (), first, count, None)
            continue
        name = f"{ADD} after {nets[-1] if nets else ''}" if launch.net == ADD else launch.net
        if name not in last:
            nets.append(name)
        index = nets.index(name)
        layer = launch.net.rpartition("_")[2]
        before = tuple(layers.get(layer, ())) if layer.isdigit() else ()
        yield Place(launch, number, before, first, count, last[nets[index - 1]] if index else None)
        last[name] = launch.number
        if layer.isdigit():
            latest[layer] = launch.number


def _keep(latest: dict[str, int], layers: dict[str, list[int]]) -> None:
    """Count the launches of a part among those before the next."""
    for layer, launch in latest.items():
        layers.setdefault(layer, []).append(launch)
    latest.clear()


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
