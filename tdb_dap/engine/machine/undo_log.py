"""Undo log: the bytes that commands overwrote."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Bytes, Memory
from tdb_dap.engine.hardware.views import View

DEFAULT_LIMIT = 1 << 30
# Bookkeeping per change, counted so that a million tiny commands stay within the limit.
_OVERHEAD = 512


class Change(Protocol):
    """Something that was overwritten. ``nbytes``: what it takes to remember it."""

    @property
    def nbytes(self) -> int: ...

    def undo(self, memory: Memory) -> None:
        """Put back what was there."""
        ...


class OverwrittenView(Struct, frozen=True):
    """The old words of one view."""

    view: View
    old: Array

    @property
    def nbytes(self) -> int:
        return self.old.nbytes

    def undo(self, memory: Memory) -> None:
        memory.write(self.view, self.old)


class OverwrittenBytes(Struct, frozen=True):
    """The old bytes of one range of a space."""

    space: Space
    core: int
    start: int
    old: Bytes

    @property
    def nbytes(self) -> int:
        return self.old.nbytes

    def undo(self, memory: Memory) -> None:
        memory.bytes_at(self.space, self.start, self.old.size, self.core)[...] = self.old


class Outcome(Struct, frozen=True):
    """Outcome of executing a command."""

    changes: tuple[Change, ...] = ()
    """What it overwrote, in an order in which the last one is to be undone first."""
    divergence: str | None = None
    """Where two backends did not agree, in words; None where they did, or where there is only one."""


class UndoLog:
    """Undo log of one run; the oldest entries are dropped beyond ``limit`` bytes.

    ``first``: the earliest ordinal that can still be reached by undoing.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self.first = 0
        self._entries: deque[Outcome] = deque()
        self._bytes = 0

    @property
    def latest(self) -> Outcome | None:
        """Outcome of the last command; None where it is not kept."""
        return self._entries[-1] if self._entries else None

    def record(self, outcome: Outcome) -> None:
        """Remember what the next command has done."""
        if not self.limit:
            self.first += 1
            return
        self._entries.append(outcome)
        self._bytes += _size(outcome)
        while self._bytes > self.limit and self._entries:
            self._bytes -= _size(self._entries.popleft())
            self.first += 1

    def undo(self, memory: Memory) -> None:
        """Take back the last command."""
        outcome = self._entries.pop()
        self._bytes -= _size(outcome)
        for change in reversed(outcome.changes):
            change.undo(memory)

    def begin(self, ordinal: int) -> None:
        """Forget everything; what is recorded next is the command with this ordinal."""
        self.first = ordinal
        self._entries.clear()
        self._bytes = 0


def _size(outcome: Outcome) -> int:
    return _OVERHEAD + sum([change.nbytes for change in outcome.changes])
