"""``unused``: a command whose results are not read before they are overwritten, or the program ends.

Compilers make few such commands, and none that matters, except for passing time. Where there is one, the command that
should have read it may be missing, come too early, or read another place.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.rectangles import rectangles
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.access_table import SPACES, AccessRows, Column
from tdb_dap.engine.sanitizers.finding_text import place_text, title_of
from tdb_dap.engine.sanitizers.harmless import is_repeated, is_unneeded
from tdb_dap.engine.sanitizers.overlap import SharedBytes
from tdb_dap.errors import BadAccess

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

NAME = "unused"
_WINDOW = 32
"""Accesses that are looked through at once, at first."""
_WINDOWS = range(1, 33), range(33, 97), range(97, 225), range(225, 513)
"""Accesses after one, among which the next of the same bytes mostly is."""

_PAIRS_AT_ONCE = 1 << 18
"""Pairs of accesses that are compared at once: more do not stay in the caches of a processor."""


def unused(program: Program) -> Iterator[Finding]:
    """One finding for each such command, in the order of execution."""
    rows = program.access_rows
    readers = _Readers(program)
    writes = np.flatnonzero(rows.is_write)
    # The first pieces of tensors tell of most commands, and the others need not be looked at.
    heads = writes[np.diff(rows.view[writes], prepend=-1) != 0]
    writes = readers.without_certain(writes, heads)
    writes = readers.without_certain(writes, writes)
    for ordinal in distinct(rows.ordinal[writes]):
        results = writes[slice(*np.searchsorted(rows.ordinal[writes], (ordinal, ordinal + 1)))]
        if not _moves(rows, ordinal) or any(map(readers.has, results.tolist())):
            continue
        if is_unneeded(program, ordinal, readers.has):
            continue
        command = program.commands[ordinal]
        what = place_text(readers.place(int(results[0])), program.target.geometry)
        text = f"{title_of(command)} writes {what} which are not read before they are overwritten or the program ends"
        yield Finding(NAME, "A result is not used", text, ordinal, (command.asm,), severity="warning")


def _moves(rows: AccessRows, ordinal: int) -> bool:
    """Whether a command takes anything, and not only to copy it onto itself: fills and idle ones do not."""
    sides: tuple[set[Hashable], set[Hashable]] = (set(), set())
    for row in rows.of_command(ordinal):
        sides[int(rows.is_write[row])].add(rows.views.key(int(rows.view[row])))
    return bool(sides[0] - sides[1])


class _Memory(NamedTuple):
    """The accesses of one memory, in order; each field as in ``AccessRows``. ``row``: their numbers there.

    Some that touch nothing follow, with -1 everywhere.
    """

    row: Column
    ordinal: Column
    start: Column
    stop: Column
    lane: Column
    lane_stop: Column


def _next_touching(rows: AccessRows, memory: _Memory, mine: Column, position: Column, window: range) -> Column:
    """Of rows at positions in a memory the next row in ``window`` that may touch their first byte; -1: none does."""

    def after(column: Column) -> Column:
        return sliding_window_view(column, len(window))[position + window.start]

    start, lane = rows.start[mine][:, None], rows.lane[mine][:, None]
    touches = (after(memory.start) <= start) & (after(memory.stop) > start)
    touches &= (after(memory.lane) <= lane) & (after(memory.lane_stop) > lane)
    touches &= after(memory.ordinal) != rows.ordinal[mine][:, None]
    following = memory.row[position + window.start + touches.argmax(axis=1)]
    return np.where(touches.any(axis=1), following, -1)


def _is_whole(view: View) -> bool:
    """Whether a tensor has every byte of what encloses its pieces."""
    try:
        enclosing = sum((stop - start) * (lane_stop - lane) for start, stop, lane, lane_stop in rectangles(view))
        if view.size * view.dtype.itemsize < enclosing:
            return False
        return ByteRanges.of(view).size == enclosing
    except BadAccess:
        return False


class _Readers:
    """Whether what an access writes is read by a later one."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._rows = rows = program.access_rows
        self._shared = SharedBytes(rows)
        self._outputs = [ByteRanges.of(tensor.view) for tensor in program.outputs]
        # Firmware that makes commands reads DDR as well, such as boxes to be cut out, and no recording tells.
        shared = {Space.L2: program.shares_l2, Space.GLOBAL: bool(program.of_firmware)}
        self._shared_spaces = [SPACES.index(space) for space, is_shared in shared.items() if is_shared]
        self._same_memory: dict[tuple[int, int], _Memory] = {}
        self._position = np.zeros(len(rows), np.int64)
        self._cores = int(rows.core.max(initial=0)) + 1
        for space, core in self._memories(np.arange(len(rows))):
            mine = np.flatnonzero((rows.space == space) & (rows.core == core))
            columns = (column[mine] for column in (rows.ordinal, rows.start, rows.stop, rows.lane, rows.lane_stop))
            beyond = np.full(_WINDOWS[-1].stop, -1)
            self._same_memory[space, core] = _Memory(*[np.append(column, beyond) for column in (mine, *columns)])
            self._position[mine] = np.arange(mine.size)

    def _memories(self, chosen: Column) -> list[tuple[int, int]]:
        """Space and core of each memory that these rows touch."""
        rows = self._rows
        return [divmod(code, self._cores) for code in distinct(rows.space[chosen] * self._cores + rows.core[chosen])]

    def place(self, row: int) -> ByteRanges:
        """The bytes of an access, exactly."""
        return self._shared.place(row)

    def are_certain(self, written: Column) -> NDArray[np.bool_]:
        """Whether the first byte of each of these rows is certainly read by the next access that may touch it.

        Most are, and need not be looked at one by one.
        """
        rows = self._rows
        after = np.full(len(rows), -1)
        for space, core in self._memories(written):
            memory = self._same_memory[space, core]
            mine = written[(rows.space[written] == space) & (rows.core[written] == core)]
            for window in _WINDOWS:
                mine = mine[after[mine] < 0]
                for part in np.array_split(mine, 1 + mine.size * len(window) // _PAIRS_AT_ONCE):
                    after[part] = _next_touching(rows, memory, part, self._position[part], window)
        next_one = after[written]
        is_read = (next_one >= 0) & ~rows.is_write[next_one]
        begins_there = rows.start[next_one] == rows.start[written]
        views = rows.view[next_one]
        has_all = rows.views.which(_is_whole, views[is_read & ~begins_there])[views]
        certain: NDArray[np.bool_] = is_read & (begins_there | has_all)
        return certain

    def without_certain(self, writes: Column, looked_at: Column) -> Column:
        """The rows of commands of which none of those that are ``looked_at`` is certainly read."""
        ordinal = self._rows.ordinal
        certain = distinct(ordinal[looked_at[self.are_certain(looked_at)]])
        return writes[~np.isin(ordinal[writes], certain)]

    def has(self, row: int) -> bool:
        """Follow the bytes of a row until one of them is read, or all are overwritten."""
        rows = self._rows
        if rows.space[row] in self._shared_spaces:
            return True
        left: ByteRanges | None = None
        for other in self._meeting(row):
            # Each has the first byte of its rectangle in every one of its lanes, and they have lanes in common.
            if not rows.is_write[other] and left is None and rows.start[other] == rows.start[row]:
                return True
            left = left or self.place(row)
            if not rows.is_write[other]:
                if self._shared.is_reached(left, other):
                    return True
                continue
            if self._program.may_keep(int(rows.ordinal[other])):
                continue
            if is_repeated(self._program, int(rows.ordinal[row]), int(rows.ordinal[other])):
                return True  # by another core, and those are read
            left = left.without(self.place(other))
            if left is None:
                return False
        left = left or self.place(row)
        return any(left.overlaps(output) for output in self._outputs)

    def _meeting(self, row: int) -> Iterator[int]:
        """The accesses of later commands whose rectangles meet that of a row, in order."""
        rows = self._rows
        others = self._same_memory[int(rows.space[row]), int(rows.core[row])]
        ordinal, start, stop = int(rows.ordinal[row]), int(rows.start[row]), int(rows.stop[row])
        lane, lane_stop = int(rows.lane[row]), int(rows.lane_stop[row])
        begin, size = int(self._position[row]) + 1, _WINDOW
        while begin < others.row.size:
            part = slice(begin, begin + size)
            meets = others.start[part] < stop
            meets &= others.stop[part] > start
            meets &= others.lane[part] < lane_stop
            meets &= others.lane_stop[part] > lane
            meets &= others.ordinal[part] != ordinal
            yield from others.row[part][meets].tolist()
            begin, size = begin + size, 2 * size
