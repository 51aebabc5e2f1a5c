"""When each command begins and ends: every engine in its order, dependencies, messages between cores, subnets."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program


class Span(Struct, frozen=True):
    """Cycles from the start of the program: a half-open interval."""

    start: float
    stop: float


class _Messages:
    """Sends made so far, by ordinal; a wait of the count's worth of receivers uses them up."""

    def __init__(self) -> None:
        self._sent: dict[int, list[int]] = defaultdict(list)
        self._passed: Counter[int] = Counter()

    def send(self, number: int, ordinal: int) -> None:
        self._sent[number].append(ordinal)

    def wait(self, number: int, count: int) -> tuple[int, ...]:
        senders = tuple(self._sent[number])
        self._passed[number] += 1
        if self._passed[number] >= count:
            self._passed[number] = 0
            self._sent[number].clear()
        return senders


def schedule(program: Program, cycles: Sequence[float]) -> list[Span]:
    """One span per command, in the order of execution. ``cycles``: what each takes.

    A command begins when its engine is free and the command of the other engine that it depends on has ended; a wait
    ends when the last send that it expects was made. A subnet begins when the one before it has ended on all engines.
    """
    return [span for span, _ in _scheduled(program, cycles)]


def measured_schedule(program: Program, measured: Mapping[int, Span]) -> list[Span]:
    """One span per command: the measured one, or none of time at the end of what its engine did before."""
    columns = program.commands.columns
    free: dict[tuple[int, int], float] = {}
    spans: list[Span] = []
    for ordinal in range(len(program.commands)):
        engine = int(columns.core[ordinal]), int(columns.engine[ordinal])
        at = free.get(engine, 0.0)
        span = measured.get(ordinal, Span(at, at))
        free[engine] = span.stop
        spans.append(span)
    return spans


def waits(program: Program) -> list[tuple[int, int]]:
    """Pairs of commands on different engines or cores: the second begins when the first has ended, or sent."""
    scheduled = _scheduled(program, [1.0] * len(program.commands))
    core, engine = program.commands.columns.core, program.commands.columns.engine
    return [
        (before, ordinal)
        for ordinal, (_, awaited) in enumerate(scheduled)
        for before in awaited
        if (core[before], engine[before]) != (core[ordinal], engine[ordinal])
    ]


def _scheduled(program: Program, cycles: Sequence[float]) -> list[tuple[Span, tuple[int, ...]]]:
    """Each command's span and the commands of other engines that it waits for."""
    columns = program.commands.columns
    scheduled: list[tuple[Span, tuple[int, ...]]] = []
    latest = 0.0
    for subnet in program.subnets:
        free: dict[tuple[int, int], float] = {}
        ended: dict[tuple[int, int], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        messages = _Messages()
        for ordinal in range(subnet.start, subnet.stop):
            core, engine = int(columns.core[ordinal]), int(columns.engine[ordinal])
            awaited = _met(ended[core, 1 - engine], int(columns.dependency[ordinal]))
            message = program.message_of(ordinal) if program.core_count > 1 else None
            if message is not None and not message.is_send:
                awaited += messages.wait(message.number, message.count)
            begin = max([free.get((core, engine), latest), *(scheduled[before][0].stop for before in awaited)])
            end = begin + cycles[ordinal]
            if message is not None and message.is_send:
                messages.send(message.number, ordinal)
            free[core, engine] = end
            ids, ordinals = ended[core, engine]
            ids.append(int(columns.id[ordinal]))
            ordinals.append(ordinal)
            scheduled.append((Span(begin, end), awaited))
        latest = max([latest, *free.values()])
    return scheduled


def _met(ended: tuple[list[int], list[int]], dependency: int) -> tuple[int, ...]:
    """The last command that has ended with an id up to ``dependency``; ids ascend on an engine."""
    ids, ordinals = ended
    index = bisect_right(ids, dependency) - 1
    return (ordinals[index],) if dependency > 0 and index >= 0 else ()
