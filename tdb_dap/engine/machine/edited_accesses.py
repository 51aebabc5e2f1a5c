"""Readers and writers of bytes as the program is executed, edited and left out commands included."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from heapq import merge

from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.edits import Edits
from tdb_dap.engine.program.accesses import views_of
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BadAccess


class EditedAccesses:
    """The program's own accesses, but for edited commands.

    ``command_at``: a command as it is executed; ``passes_over``: whether it is left out.
    """

    def __init__(
        self,
        program: Program,
        edits: Edits,
        command_at: Callable[[int], Command],
        passes_over: Callable[[int], bool],
    ) -> None:
        self._program = program
        self._edits = edits
        self._command_at = command_at
        self._passes_over = passes_over

    def last_writer(self, place: ByteRanges, before: int) -> int | None:
        """Ordinal of the last command before ``before`` that wrote a byte of ``place``; None if none did."""
        changed, skips = self._edits.changed, self._passes_over
        writer = self._program.accesses.last_writer(place, before, lambda o: o in changed or skips(o))
        ours = [o for o in changed if o < before and not skips(o) and self._touches(o, place, True)]
        return max([o for o in (writer, *ours) if o is not None], default=None)

    def touching(
        self, place: ByteRanges, reads: bool, writes: bool, start: int = 0, stop: int | None = None
    ) -> Iterator[int]:
        """Ordinals from ``start`` on and below ``stop``, ascending, of the commands that read or write a byte."""
        changed = self._edits.changed
        ordinals = (o for o in self._program.accesses.touching(place, reads, writes, start, stop) if o not in changed)
        last = len(self._program.commands) if stop is None else stop
        kinds = (False,) * reads + (True,) * writes
        edited = (
            ordinal
            for ordinal in sorted(changed)
            if start <= ordinal < last and any(self._touches(ordinal, place, is_write) for is_write in kinds)
        )
        return (o for o in merge(ordinals, edited) if not self._passes_over(o))

    def written_by(self, ordinal: int) -> list[ByteRanges]:
        """The places that a command writes: none if it is left out. NotSimulated where its form is not described."""
        command = self._command_at(ordinal)
        if self._passes_over(ordinal) or command.is_system:
            return []
        places: list[ByteRanges] = []
        for view in command.description.results:
            if isinstance(view, View) and view.size:
                with suppress(BadAccess):  # a view that has no place in memory touches none
                    places.append(ByteRanges.of(view))
        return places

    def _touches(self, ordinal: int, place: ByteRanges, writes: bool) -> bool:
        return any(ByteRanges.of(view).overlaps(place) for view in views_of(self._command_at(ordinal), writes))
