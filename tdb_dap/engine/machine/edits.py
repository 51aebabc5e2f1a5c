"""Edits of the user: memory, fields of commands, commands that are passed over.

An edit belongs to a moment of the run. Going back before that moment undoes it; running again from an earlier
checkpoint makes it again when its moment comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.runs import Runs, merged
from tdb_dap.engine.machine.undo_log import Change, OverwrittenBytes, OverwrittenView


class Edit(Struct, frozen=True):
    """``moment``: the ordinal at which it was made; ``text``: what it did, in words."""

    moment: int
    text: str

    @property
    def made_at(self) -> int:
        """The last moment whose memories do not depend on it."""
        return self.moment

    def apply(self, memory: Memory) -> None:
        """Make it."""

    def undo(self, memory: Memory) -> None:
        """Take it back."""


def _place_of(change: Change) -> ByteRanges | None:
    if isinstance(change, OverwrittenView):
        return ByteRanges.of(change.view)
    if isinstance(change, OverwrittenBytes):
        return ByteRanges.range(change.space, change.core, change.start, change.old.size)
    return None


class MemoryEdit(Edit, frozen=True):
    """Memory was overwritten."""

    before: tuple[Change, ...]
    """What puts the old contents back."""
    after: tuple[Change, ...]
    """What puts the new contents in place."""
    ranges: ByteRanges | None = None
    """Which bytes, if it is not all that."""

    def touches(self, place: ByteRanges) -> bool:
        """Whether it has written a byte of a place."""
        written = (self.ranges,) if self.ranges else map(_place_of, self.after)
        return any(ranges is not None and ranges.overlaps(place) for ranges in written)

    def apply(self, memory: Memory) -> None:
        for change in self.after:
            change.undo(memory)

    def undo(self, memory: Memory) -> None:
        for change in reversed(self.before):
            change.undo(memory)


class MovedBack(MemoryEdit, frozen=True, dict=True):
    """An earlier command is the next one, with the memories as they were."""

    came_from: int = 0
    """Where it was done."""
    later: tuple[Edit, ...] = ()
    """The edits made between there and ``moment``. Both are as before when it is undone."""

    def touches(self, place: ByteRanges) -> bool:
        return any(ranges.overlaps(place) for ranges in self.changed)

    @cached_property
    def changed(self) -> tuple[ByteRanges, ...]:
        """The bytes that are not what they were when the command was the next one for the first time."""
        by_memory: dict[tuple[Space, int], list[Runs]] = {}
        for old, new in zip(self.before, self.after, strict=True):
            if isinstance(old, OverwrittenBytes) and isinstance(new, OverwrittenBytes):
                at = old.start + np.flatnonzero(old.old != new.old)
                by_memory.setdefault((old.space, old.core), []).append(np.stack([at, at + 1], axis=1))
        return tuple(ByteRanges(*where, merged(np.concatenate(runs))) for where, runs in by_memory.items())


class CommandEdit(Edit, frozen=True):
    """A command that has not been executed yet is executed with another ``descriptor``."""

    ordinal: int
    descriptor: bytes


class Skip(Edit, frozen=True):
    """The commands [first, stop) are not executed. It is undone when time goes back to the first of them."""

    first: int
    stop: int

    @property
    def made_at(self) -> int:
        return self.first


class Edits:
    """The edits of one run, oldest first.

    Those whose moment has come are in force. The others wait: time has been taken back for a while, and goes on as it
    went before.
    """

    def __init__(self) -> None:
        self._all: list[Edit] = []
        self._in_force = 0

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Edit]:
        return iter(tuple(self._all))

    @property
    def waiting(self) -> bool:
        """Whether any edit's moment is still to come."""
        return self._in_force < len(self._all)

    def add(self, edit: Edit, memory: Memory) -> None:
        """Make an edit now; a skip waits until its first command is passed over."""
        self._all.append(edit)
        if not isinstance(edit, Skip):
            self._in_force += 1
            edit.apply(memory)

    def go_back(self, memory: Memory, moment: int) -> None:
        """Undo the edits that were made after ``moment``; they wait from now on."""
        while self._in_force and self._all[self._in_force - 1].moment > moment:
            self._in_force -= 1
            self._all[self._in_force].undo(memory)

    def arrive(self, memory: Memory, moment: int) -> None:
        """Make the edits that were waiting for this moment."""
        while self.waiting and self._all[self._in_force].moment <= moment:
            self._all[self._in_force].apply(memory)
            self._in_force += 1

    def restart_at(self, moment: int) -> None:
        """The memories are those of ``moment`` before any edit of that moment."""
        self._in_force = sum(edit.moment < moment for edit in self._all)

    def forget(self, moment: int) -> int | None:
        """Drop the edits that were made after ``moment``; the last moment that none of them concerns, if any."""
        kept = [edit for edit in self._all if edit.moment <= moment]
        dropped = self._all[len(kept) :]
        self._all = kept
        self._in_force = min(self._in_force, len(kept))
        return min((edit.made_at for edit in dropped), default=None)

    def take_back(self, memory: Memory) -> Edit:
        """Undo the last edit, which is in force, and forget it."""
        edit = self._all.pop()
        self._in_force = min(self._in_force, len(self._all))
        edit.undo(memory)
        return edit

    def await_again(self, edits: Sequence[Edit]) -> None:
        """Add edits whose moments are still to come."""
        self._all += edits

    def hide(self, edits: Sequence[Edit]) -> list[Edit]:
        """Leave out edits of commands for a while; what there was before, for ``show``."""
        before = list(self._all)
        in_force = [edit for edit in before[: self._in_force] if edit not in edits]
        self._all, self._in_force = [edit for edit in before if edit not in edits], len(in_force)
        return before

    def show(self, before: list[Edit]) -> None:
        """Undo ``hide``; the moment is the one at which it was called."""
        self._in_force += sum(edit not in self._all for edit in before if not isinstance(edit, Skip))
        self._all = before

    def descriptor_of(self, ordinal: int) -> bytes | None:
        """Descriptor of an edited command; None for the program's own."""
        for edit in reversed(self._all):
            if isinstance(edit, CommandEdit) and edit.ordinal == ordinal:
                return edit.descriptor
        return None

    @property
    def changed(self) -> frozenset[int]:
        """Ordinals of the commands that are executed with another descriptor."""
        return frozenset(edit.ordinal for edit in self._all if isinstance(edit, CommandEdit))

    def skips(self, ordinal: int) -> bool:
        """Whether a command is passed over."""
        return any(isinstance(edit, Skip) and edit.first <= ordinal < edit.stop for edit in self._all)
