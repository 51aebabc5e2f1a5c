"""Whether a breakpoint stops at a moment. A hit is a point in time: the n-th moment, counted from the start of the
program, at which the place is reached and the condition holds, from whichever side one comes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.control.breakpoints import Breakpoint, parse_hit_condition
from tdb_dap.engine.control.logpoints import Message, message
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.machine.undo_log import OverwrittenBytes, OverwrittenView
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.control.breakpoint_specs import Watched
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.expressions.scope import Scope
    from tdb_dap.engine.hardware.memory import Memory
    from tdb_dap.engine.machine.machine import Machine
    from tdb_dap.engine.machine.undo_log import Change


class BreakpointConditions:
    """Evaluates conditions and hit conditions of a debugger's breakpoints at the moment where it is."""

    def __init__(self, inspector: Inspector) -> None:
        self._inspector = inspector

    def stops(self, breakpoint: Breakpoint) -> bool:
        """Whether condition and hit condition hold now."""
        return self._holds(breakpoint) and self._is_the_hit(breakpoint)

    def message(self, breakpoint: Breakpoint) -> Message:
        """Message of a log point now."""
        return message(breakpoint.log or "", self._scope(breakpoint))

    def _scope(self, breakpoint: Breakpoint) -> Scope:
        return self._inspector.scope(breakpoint.stops[self._inspector.ordinal], breakpoint.location.level)

    def _holds(self, breakpoint: Breakpoint) -> bool:
        if not breakpoint.is_conditional:
            return True
        here = self._inspector.ordinal
        verdict = breakpoint.verdicts.get(here)
        if verdict is None:
            verdict = breakpoint.verdicts[here] = is_access(
                breakpoint.location.watched, self._inspector.machine
            ) and self._condition(breakpoint)
        return verdict

    def _condition(self, breakpoint: Breakpoint) -> bool:
        if breakpoint.condition is None:
            return True
        inspector = self._inspector
        try:
            return inspector.holds(breakpoint.condition, self._scope(breakpoint))
        except TdbError as error:
            inspector.listener.log_point(Message(f"breakpoint {breakpoint.id}: condition: {error}"), breakpoint)
            return True

    def _is_the_hit(self, breakpoint: Breakpoint) -> bool:
        if breakpoint.hit is None:
            return True
        inspector = self._inspector
        if breakpoint.is_conditional:
            unknown = [o for o in sorted(breakpoint.stops) if o < inspector.ordinal and o not in breakpoint.verdicts]
            if unknown:
                with inspector.machine.excursion():
                    for ordinal in unknown:
                        inspector.machine.travel(ordinal)
                        with inspector.machine.before_edits():
                            self._holds(breakpoint)
        return parse_hit_condition(breakpoint.hit)(breakpoint.hits_until(inspector.ordinal))


def is_access(watched: Watched | None, machine: Machine) -> bool:
    """For a watch on changes: whether the last command has given any of its bytes another value; else true."""
    if watched is None or watched.access != "change":
        return True
    return any(_differs(change, machine.memory, watched.ranges) for change in machine.latest_changes())


def _differs(change: Change, memory: Memory, place: ByteRanges) -> bool:
    """Whether bytes of a place are not what they were before a change."""
    if isinstance(change, OverwrittenView):
        differing = memory.read(change.view) != change.old
        return bool(differing.any()) and ByteRanges.of(change.view, (differing,)).overlaps(place)
    if isinstance(change, OverwrittenBytes):
        now = memory.bytes_at(change.space, change.start, change.old.size, change.core)
        at = change.start + np.flatnonzero(now != change.old)
        return ByteRanges(change.space, change.core, np.stack([at, at + 1], axis=1)).overlaps(place)
    return True
