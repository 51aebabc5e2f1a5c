"""What commands and edits overwrote, so that they can be undone."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Protocol

from tdb_dap.engine.dtypes import Array
from tdb_dap.engine.geometry import Space
from tdb_dap.engine.memory import Bytes, Memory
from tdb_dap.engine.views import View

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


@dataclass(frozen=True)
class OverwrittenView:
    """The old words of one view."""

    view: View
    old: Array

    @property
    def nbytes(self) -> int:
        return self.old.nbytes

    def undo(self, memory: Memory) -> None:
        memory.write(self.view, self.old)


@dataclass(frozen=True)
class OverwrittenBytes:
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


class History:
    """Undo log of one run; the oldest entries are dropped beyond ``limit`` bytes.

    ``first``: the earliest ordinal that can still be reached by undoing.
    """

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        self.limit = limit
        self.first = 0
        self._entries: deque[tuple[Change, ...]] = deque()
        self._edits: list[tuple[int, Change]] = []
        self._bytes = 0

    def record(self, changes: tuple[Change, ...]) -> None:
        """Remember what the next command overwrites."""
        self._entries.append(changes)
        self._bytes += _size(changes)
        while self._bytes > self.limit and self._entries:
            self._bytes -= _size(self._entries.popleft())
            self.first += 1

    def record_edit(self, ordinal: int, change: Change) -> None:
        """Remember what the user overwrites at a moment."""
        self._edits.append((ordinal, change))

    def undo(self, memory: Memory) -> None:
        """Take back the edits of this moment and the last command."""
        ordinal = self.first + len(self._entries)
        while self._edits and self._edits[-1][0] >= ordinal:
            _, edit = self._edits.pop()
            edit.undo(memory)
        changes = self._entries.pop()
        self._bytes -= _size(changes)
        for change in reversed(changes):
            change.undo(memory)

    def clear(self) -> None:
        self.first = 0
        self._entries.clear()
        self._edits.clear()
        self._bytes = 0


def _size(changes: tuple[Change, ...]) -> int:
    return _OVERHEAD + sum(change.nbytes for change in changes)
