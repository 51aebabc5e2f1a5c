"""``unused``: a command whose results nobody reads before they are overwritten, or the program ends.

Compilers make few such commands, and none that matters, except for passing time. Where there is one, the command that
should have read it may be missing, come too early, or read another place.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.program.access_table import SPACES, AccessRows, Column
from tdb_dap.engine.sanitizers.finding_text import place_text, title_of
from tdb_dap.engine.sanitizers.overlap import SharedBytes
from tdb_dap.engine.sanitizers.repeated import is_repeated

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

NAME = "unused"
_WINDOW = 256
"""Accesses that are looked through at once, at first."""


def unused(program: Program) -> Iterator[Finding]:
    """One finding for each such command, in the order of execution."""
    rows = program.access_rows
    readers = _Readers(program)
    writes = np.flatnonzero(rows.is_write)
    ordinals, firsts = np.unique(rows.ordinal[writes], return_index=True)
    for ordinal, results in zip(ordinals.tolist(), np.split(writes, firsts[1:]), strict=True):
        if not _moves(rows, ordinal) or any(readers.has(row) for row in results.tolist()):
            continue
        command = program.commands[ordinal]
        what = place_text(readers.place(int(results[0])), program.target.geometry)
        text = f"{title_of(command)} writes {what} which nobody reads until they are overwritten or the program ends"
        yield Finding(NAME, "A result is not used", text, ordinal, (command.asm,), severity="warning")


def _moves(rows: AccessRows, ordinal: int) -> bool:
    """Whether a command takes anything, and not only to copy it onto itself: fills and idle ones do not."""
    first, last = np.searchsorted(rows.ordinal, [ordinal, ordinal + 1]).tolist()
    writes = rows.is_write[first:last]
    read, written = ({rows.views[view] for view in rows.view[first:last][chosen]} for chosen in (~writes, writes))
    return bool(read - written)


class _Readers:
    """Whether what an access writes is read by a later one."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._rows = rows = program.access_rows
        self._shared = SharedBytes(rows)
        self._outputs = [ByteRanges.of(tensor.view) for tensor in program.outputs]
        self._shared_space = SPACES.index(Space.L2) if program.shares_l2 else -1
        self._same_memory: dict[tuple[int, int], Column] = {}
        for space, core in np.unique(np.stack([rows.space, rows.core], axis=1), axis=0).tolist():
            self._same_memory[space, core] = np.flatnonzero((rows.space == space) & (rows.core == core))

    def place(self, row: int) -> ByteRanges:
        """The bytes of an access, exactly."""
        return self._shared.place(row)

    def has(self, row: int) -> bool:
        """Follow the bytes of a row until one of them is read, or all are overwritten."""
        rows = self._rows
        if rows.space[row] == self._shared_space:
            return True
        left: ByteRanges | None = None
        for other in self._meeting(row):
            if rows.ordinal[other] == rows.ordinal[row]:
                continue
            starts_alike = rows.start[other] == rows.start[row] and rows.lane[other] == rows.lane[row]
            if not rows.is_write[other] and left is None and starts_alike:
                return True
            left = left or self.place(row)
            if not rows.is_write[other]:
                if left.overlaps(self.place(other)):
                    return True
                continue
            if is_repeated(self._program, int(rows.ordinal[row]), int(rows.ordinal[other])):
                return True  # by another core, and those are read
            left = left.without(self.place(other))
            if left is None:
                return False
        left = left or self.place(row)
        return any(left.overlaps(output) for output in self._outputs)

    def _meeting(self, row: int) -> Iterator[int]:
        """The later accesses whose rectangles meet that of a row, in order."""
        rows = self._rows
        others = self._same_memory[int(rows.space[row]), int(rows.core[row])]
        begin, size = int(np.searchsorted(others, row)) + 1, _WINDOW
        while begin < others.size:
            part = others[begin : begin + size]
            meets = (rows.start[part] < rows.stop[row]) & (rows.start[row] < rows.stop[part])
            meets &= (rows.lane[part] < rows.lane_stop[row]) & (rows.lane[row] < rows.lane_stop[part])
            yield from part[meets].tolist()
            begin, size = begin + size, 2 * size
