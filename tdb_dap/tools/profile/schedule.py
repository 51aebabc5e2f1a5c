"""When each command begins and ends: every engine in its order, dependencies, messages between cores, subnets."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program


@dataclass(frozen=True)
class Span:
    """Cycles from the start of the program: a half-open interval."""

    start: float
    stop: float


class _Messages:
    """Sends made so far; a wait of the count's worth of receivers uses them up."""

    def __init__(self) -> None:
        self._sent: dict[int, float] = defaultdict(float)
        self._passed: Counter[int] = Counter()

    def send(self, number: int, when: float) -> None:
        self._sent[number] = max(self._sent[number], when)

    def wait(self, number: int, count: int) -> float:
        ready = self._sent[number]
        self._passed[number] += 1
        if self._passed[number] >= count:
            self._passed[number] = 0
            self._sent[number] = 0.0
        return ready


def schedule(program: Program, cycles: Sequence[float]) -> list[Span]:
    """One span per command, in the order of execution. ``cycles``: what each takes.

    A command begins when its engine is free and the command of the other engine that it depends on has ended; a wait
    ends when the last send that it expects was made. A subnet begins when the one before it has ended on all engines.
    """
    columns = program.commands.columns
    spans: list[Span] = []
    latest = 0.0
    for subnet in program.subnets:
        free: dict[tuple[int, int], float] = {}
        ended: dict[tuple[int, int], tuple[list[int], list[float]]] = defaultdict(lambda: ([], []))
        messages = _Messages()
        for ordinal in range(subnet.start, subnet.stop):
            core, engine = int(columns.core[ordinal]), int(columns.engine[ordinal])
            begin = max(
                free.get((core, engine), latest), _met(ended[core, 1 - engine], int(columns.dependency[ordinal]))
            )
            message = program.message_of(ordinal) if program.core_count > 1 else None
            if message is not None and not message.is_send:
                begin = max(begin, messages.wait(message.number, message.count))
            end = begin + cycles[ordinal]
            if message is not None and message.is_send:
                messages.send(message.number, end)
            free[core, engine] = end
            ids, ends = ended[core, engine]
            ids.append(int(columns.id[ordinal]))
            ends.append(end)
            spans.append(Span(begin, end))
        latest = max([latest, *free.values()])
    return spans


def _met(ended: tuple[list[int], list[float]], dependency: int) -> float:
    """When the command with the id ``dependency`` had ended; ids ascend on an engine."""
    ids, ends = ended
    index = bisect_right(ids, dependency) - 1
    return ends[index] if dependency > 0 and index >= 0 else 0.0
