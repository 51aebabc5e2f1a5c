"""Order of commands that is certain, by vector clocks.

Every engine of every core executes its own commands in order: TIU and DMA, and the system DMA, which waits for no other
engine but with messages. Three things order commands of different engines: the
dependency in a command (wait until the other engine of this core has finished that id), messages between cores (a wait
passes when all sends that it counts have been made), and the ends of command groups and subnets, where all stop.

The clock of a command holds, for each engine, how many of its commands are certain to be finished. All of one engine
are worked out at once: what the other engine of the core has finished is a running maximum of dependencies; what other
cores have finished changes at waits only, of which there are few.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.commands.commands import ENGINES
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import Message

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

Clock = NDArray[np.int64]
_NO_ENGINE = -1
_IN_GROUPS = (ENGINES.index("tiu"), ENGINES.index("dma"))


class Timeline(Struct, frozen=True):
    """The commands of one engine of one core in one subnet, in stream order.

    ``ordinals``: of these commands. ``clocks[i, t]``: how many commands of timeline t are finished when command i
    begins; every column ascends.
    """

    core: int
    engine: int
    ordinals: Clock
    clocks: Clock


def timelines(program: Program, subnet: int) -> list[Timeline]:
    """Those of a subnet (its index) that are made of commands; empty for others. Moves between chips are left out."""
    return _Subnet(program, subnet).timelines()


class _Subnet:
    def __init__(self, program: Program, index: int) -> None:
        self._program = program
        columns = program.commands.columns
        inside = np.flatnonzero(columns.subnet == index)
        self._ordinals: list[Clock] = []
        self._known: list[Clock] = []
        cores = int(columns.core[inside].max(initial=-1)) + 1
        self._keys = [(core, engine) for core in range(cores) for engine in _engines(columns.engine[inside])]
        groups = program.stage.subnets[index].groups
        for core, engine in self._keys:
            self._ordinals.append(inside[(columns.core[inside] == core) & (columns.engine[inside] == engine)])
        for thread, (core, _) in enumerate(self._keys):
            own, other = self._ordinals[thread], self._ordinals[_partner(thread)]
            # Ids that do not ascend are another matter (decode); here the largest so far counts.
            ids = np.maximum.accumulate(columns.id[other])
            known = np.searchsorted(ids, columns.dependency[own], side="right")
            if core < len(groups) and len(groups[core]) > 1 and self._keys[thread][1] in _IN_GROUPS:
                starts = np.array([(group.tiu.start, group.dma.start) for group in groups[core]], np.int64)
                which = [
                    np.searchsorted(starts[:, self._keys[t][1]], columns.offset[self._ordinals[t]], side="right")
                    for t in (thread, _partner(thread))
                ]
                known = np.maximum(known, np.searchsorted(which[1], which[0], side="left"))
            self._known.append(np.maximum.accumulate(known))
        # Per engine: positions of its waits, and what is known from each on (a running maximum).
        self._waits: list[list[int]] = [[] for _ in self._keys]
        self._learned: list[list[Clock]] = [[np.zeros(len(self._keys), np.int64)] for _ in self._keys]

    def timelines(self) -> list[Timeline]:
        self._exchange()
        return [
            Timeline(core, engine, self._ordinals[thread], self._clocks(thread))
            for thread, (core, engine) in enumerate(self._keys)
        ]

    def _clocks(self, thread: int) -> Clock:
        partner, known = _partner(thread), self._known[thread]
        own = np.searchsorted(self._waits[thread], np.arange(known.size), side="right")
        others = np.searchsorted(self._waits[partner], known, side="left")
        clocks = np.maximum(np.stack(self._learned[thread])[own], np.stack(self._learned[partner])[others])
        clocks[:, partner] = np.maximum(clocks[:, partner], known)
        clocks[:, thread] = np.arange(known.size)
        return clocks

    def _exchange(self) -> None:
        """Walk through the messages in the order of execution."""
        columns = self._program.commands.columns
        events: list[tuple[int, int, int, Message]] = []
        for thread, ordinals in enumerate(self._ordinals):
            kinds = columns.kind[ordinals]
            system = [kind for kind in distinct(kinds) if self._program.target.is_system(kind)]
            for position in np.flatnonzero(np.isin(kinds, system)).tolist():
                message = self._program.message_of(int(ordinals[position]))
                if message is not None:
                    events.append((int(ordinals[position]), thread, position, message))
        rounds: dict[int, _Round] = {}
        for _, thread, position, message in sorted(events, key=lambda event: event[0]):
            current = rounds.setdefault(message.number, _Round())
            if message.is_send:
                current.sends.append(self._clock(thread, position))
                continue
            before = self._learned[thread][-1]
            self._waits[thread].append(position)
            self._learned[thread].append(np.maximum(before, current.certain(message.count, before.size)))
            current.passed += 1
            if current.passed == message.count:
                del rounds[message.number]

    def _clock(self, thread: int, position: int) -> Clock:
        """Commands finished when a send is made; the engine's own commands before it are."""
        partner = _partner(thread)
        known = int(self._known[thread][position])
        others = int(np.searchsorted(self._waits[partner], known, side="left"))
        clock = np.maximum(self._learned[thread][-1], self._learned[partner][others])
        clock[partner] = max(clock[partner], known)
        clock[thread] = position
        return clock


class _Round:
    """Sends of one message up to the last wait that they serve."""

    def __init__(self) -> None:
        self.sends: list[Clock] = []
        self.passed = 0

    def certain(self, count: int, size: int) -> Clock:
        """Sends that a wait for ``count`` of them can rely on: all, unless there are more than it waits for."""
        if not self.sends or len(self.sends) > count:
            return np.zeros(size, np.int64)
        return np.max(np.stack(self.sends), axis=0)


def _engines(used: NDArray[np.int8]) -> Iterator[int]:
    """The engines of a core in pairs that wait for each other; the system DMA has no partner."""
    yield from _IN_GROUPS
    mover = ENGINES.index("sdma")
    if (used == mover).any():
        yield from (mover, _NO_ENGINE)


def _partner(thread: int) -> int:
    return thread ^ 1
