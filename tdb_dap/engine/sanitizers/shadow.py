"""Shadow memory: one mark for each byte of the chip's memories that says whether somebody wrote it.

A mark is 0 where the byte is defined. UNWRITTEN: uninitialised. LEFT_OVER: stale, it belongs to an op that
is over. Other marks are numbers of origins: the byte was computed from bytes of the first two kinds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from tdb_dap.engine.hardware.dtypes import BY_NAME, Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory, blank, zeros
from tdb_dap.engine.hardware.views import PACKED, Layout, View
from tdb_dap.engine.machine.undo_log import Change, Outcome, OverwrittenBytes, OverwrittenView, UndoLog
from tdb_dap.engine.program.access_table import LOCAL, SPACES, AccessRows, Place
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BadAccess

UNWRITTEN = 255
LEFT_OVER = 254
MANY = 253
"""Origins beyond those that a byte can number."""

_HISTORY = 256 << 20
_NOTHING = Outcome()
_FEW = 64
"""Bytes that are looked at one by one."""

_AT_ONCE = 1 << 10
"""Commands whose accesses are taken out of the table at once."""

_SOON = 16
"""Commands among which the one that writes the result of an op is looked for."""

Access = tuple[bool, Place, int, slice]
"""Whether it writes, what encloses it, the number of its view, and the rows of its pieces."""

_BYTE = BY_NAME["ui8"]
_BY_STRIDES = {Layout.STRIDE, Layout.ALIGN_EU, Layout.COMPACT, Layout.DMA_STRIDE, Layout.CONTIGUOUS}


class Shadow:
    """The marks at one moment of a program. ``position``: how many commands they include.

    ``keeps_history``: whether one can go back from it without beginning anew.
    """

    def __init__(self, program: Program, keeps_history: bool) -> None:
        self._program = program
        self._history = UndoLog(_HISTORY if keeps_history else 0)
        self._weights = [(r.start, r.stop) for r in program.ddr_regions() if r.is_filled]
        self._changes: list[Change] = []
        self._clear: set[Place] = set()
        """Places that were found clear, and have got no marks since."""
        rows = program.access_rows
        local = rows.space == LOCAL
        self._reach = np.zeros(program.core_count, np.int64)
        """Up to which byte of its lanes the program uses the local memory of each core."""
        np.maximum.at(self._reach, rows.core[local], rows.stop[local])
        self.position = 0
        self.reset()

    def reset(self) -> None:
        """Before the first command weights, inputs and the tables of the firmware are defined, and nothing else."""
        program = self._program
        # Fresh zeros cost nothing until they are touched: weights never are.
        geometry = program.target.geometry
        allocate = partial(zeros, is_dense=program.is_dense)
        self.memory = memory = Memory(geometry, program.core_count, blank(program.ddr_regions()), allocate)
        self._mark_l2()
        for core in range(memory.cores):
            memory.static(core).fill(0)
            memory.local(core)[:, : self._reach[core]].fill(UNWRITTEN)
        for region in memory.regions(Space.GLOBAL):
            if not region.is_filled:
                region.data.fill(UNWRITTEN)
        for tensor in program.inputs:
            memory.bytes_at(tensor.view.space, tensor.view.address, tensor.size).fill(0)
        self._history.begin(0)
        self._changes = []
        self._clear.clear()
        self.position = 0

    def _mark_l2(self) -> None:
        """Of L2, as far as the program uses it, the tables are defined."""
        if self._program.shares_l2:
            return
        rows = self._program.access_rows
        used = rows.space == SPACES.index(Space.L2)
        if used.any():
            l2, tables = self.memory.l2(), self._program.target.l2_table_bytes
            l2[int(rows.start[used].min()) : int(rows.stop[used].max())].fill(UNWRITTEN)
            l2[tables.start : tables.stop].fill(0)

    @property
    def first(self) -> int:
        """The earliest moment that can be gone back to without running again."""
        return self._history.first

    def advance(self) -> None:
        """The marks are those after the next command."""
        self._history.record(Outcome(tuple(self._changes)) if self._changes else _NOTHING)
        if self._changes:
            self._changes = []
        self.position += 1

    def go_back(self, position: int) -> None:
        """Undo down to ``position``, which is not before ``first``."""
        self._clear.clear()
        for change in reversed(self._changes):
            change.undo(self.memory)
        self._changes = []
        while self.position > position:
            self._history.undo(self.memory)
            self.position -= 1

    def is_clear(self, place: Place) -> bool:
        """Whether all is defined in what encloses an access: then it has no marks. If not, it need not have any."""
        if place in self._clear:
            return True
        if unmarked := self._has_no_marks(place):
            self._clear.add(place)
        return unmarked

    def _has_no_marks(self, place: Place) -> bool:
        code, core, start, stop, lane, lane_stop = place
        if code == LOCAL:
            marks = self.memory.local(core)[lane:lane_stop, start:stop]
            return marks.shape == (lane_stop - lane, stop - start) and not _has_marks(marks)
        space = SPACES[code]
        if self._is_constant_place(space, start):
            return True
        try:
            return not _has_marks(self.memory.bytes_at(space, start, stop - start, core))
        except BadAccess:
            return False

    def marks(self, view: View) -> Array | None:
        """The marks of a view, a word for each of its elements; None if all are 0, or it is nowhere."""
        if self._is_constant(view):
            return None
        try:
            in_pieces = view.dtype.per_byte == 1 and view.layout is not Layout.STREAM
            if in_pieces and not any(_has_marks(piece) for _, piece in self.memory.pieces(view)):
                return None
            words = self.memory.read(view)
        except BadAccess:
            return None
        return words if _has_marks(words) else None

    def has_marks(self, view: View, unread: int) -> bool:
        """Whether a view may have marks, other than in the bits ``unread`` of its words."""
        if view.dtype.per_byte > 1 or view.layout is Layout.STREAM:
            return True
        if self._is_constant(view):
            return False
        try:
            return any(int(np.bitwise_or.reduce(piece, axis=None)) & ~unread for _, piece in self.memory.pieces(view))
        except BadAccess:
            return False

    def put(self, view: View, words: Array | None) -> None:
        """Set the marks of a view; None: all 0."""
        try:
            if self._is_constant(view) or (words is None and self._history.limit and self.marks(view) is None):
                return
            self._remember(view)
            if words is None:
                self._paint(view, 0)
            else:
                self._clear.clear()
                self.memory.write(view, words)
        except BadAccess:
            return

    def fill(self, view: View, mark: int) -> None:
        """Give all bytes of a view one mark."""
        self._clear.clear()
        try:
            self._remember(view)
            self._paint(view, mark)
        except BadAccess:
            return

    def leave(self, core: int, stretches: Iterable[tuple[int, int]]) -> None:
        """Mark ranges of every lane of a core as stale from now on."""
        self._clear.clear()
        for start, stop in stretches:
            if self._history.limit:
                self._remember(self._lanes(core, start, stop))
            self.memory.local(core)[:, start:stop].fill(LEFT_OVER)

    def _remember(self, view: View) -> None:
        """The marks are going to change; how they were is kept if there is room for it."""
        if self._history.limit:
            self._changes.append(OverwrittenView(view, self.memory.read(view)))

    def _paint(self, view: View, mark: int) -> None:
        word = int.from_bytes(bytes([mark]) * view.dtype.itemsize, "little")
        if view.dtype.per_byte > 1:
            self.memory.write(view, np.full(view.shape, word, view.dtype.bits_dtype))
            return
        for _, piece in self.memory.pieces(view):
            piece[...] = word

    def _lanes(self, core: int, start: int, stop: int) -> View:
        """A stretch of every lane of a core."""
        geometry = self.memory.geometry
        shape, strides = (1, geometry.lanes, 1, stop - start), (0, 0, stop - start, 1)
        return View(Space.LOCAL, start, shape, _BYTE, Layout.STRIDE, strides, geometry, core=core)

    def define(self, changes: Iterable[Change]) -> None:
        """Mark bytes overwritten by the user as defined."""
        for change in changes:
            if isinstance(change, OverwrittenView):
                self.put(change.view, None)
            elif isinstance(change, OverwrittenBytes):
                marks = self.memory.bytes_at(change.space, change.start, change.old.size, change.core)
                self._changes.append(OverwrittenBytes(change.space, change.core, change.start, marks.copy()))
                marks.fill(0)

    def _is_constant(self, view: View) -> bool:
        return self._is_constant_place(view.space, view.address)

    def _is_constant_place(self, space: Space, address: int) -> bool:
        if space is Space.STATIC:
            return True
        return space is Space.GLOBAL and any(start <= address < stop for start, stop in self._weights)


def _has_marks(words: Array) -> bool:
    """Whether some word is not 0; NumPy's ``any`` makes truth values of all first, and takes its time for a few.

    Most marks are in all lanes alike: where there are any, the first lane tells.
    """
    if words.nbytes <= _FEW:
        return any(words.tobytes())
    return bool(words[0].max(initial=0)) or (len(words) > 1 and bool(words[1:].max(initial=0)))


def _steps(view: View) -> tuple[object, ...] | None:
    """Shape and steps in bytes, if they and the address alone say where every element begins."""
    is_packed = view.layout in PACKED
    if view.strides is None or view.lane_mask is not None or not (is_packed or view.layout in _BY_STRIDES):
        return None
    step, per_byte = view.dtype.itemsize, view.dtype.per_byte
    steps = [step * stride if extent > 1 else 0 for stride, extent in zip(view.strides, view.shape, strict=True)]
    # The other packed batches begin within a word of the first one.
    is_plain = per_byte == 1 and not (is_packed and view.shape[0] > 1)
    return view.shape, steps, None if is_plain else (is_packed, step, per_byte)


def _do_meet(one: Place, other: Place) -> bool:
    """Whether what encloses two accesses has bytes in common."""
    (space, core, start, stop, lane, lane_stop), (*memory, begin, end, first, last) = one, other
    return [space, core] == memory and start < end and begin < stop and lane < last and first < lane_stop


class Defined:
    """Brings the marks past commands that read defined bytes only, as most do; none of them need be described."""

    def __init__(self, rows: AccessRows) -> None:
        self._rows = rows
        self._first = 0
        self._accesses: list[list[Access]] = []
        """Of the commands from ``_first`` on."""

    def carry(self, shadow: Shadow, ordinal: int) -> bool:
        """Bring the marks past a command; False, and nothing is done, where it may read a byte that is not defined."""
        rows = self._rows
        if ordinal in rows.irregular:
            return False
        if ordinal in rows.idle:
            return True
        accesses = self._of(ordinal)
        for is_write, place, view, pieces in accesses:
            if is_write or shadow.is_clear(place) or self._are_clear(shadow, pieces):
                continue
            if shadow.has_marks(rows.views[view], 0):
                return False
        for is_write, place, view, pieces in accesses:
            if is_write and not shadow.is_clear(place) and not self._are_clear(shadow, pieces):
                shadow.put(rows.views[view], None)
        return True

    def carry_some(self, shadow: Shadow, first: int, stop: int) -> int:
        """Bring the marks past commands from ``first`` on, at most to ``stop``; the first ``carry`` does not take."""
        for ordinal in range(first, stop):
            if not self.carry(shadow, ordinal):
                return ordinal
            shadow.advance()
        return max(first, stop)

    def overwrites(self, ordinal: int, stop: int, view: View) -> bool:
        """Whether a command from ``ordinal`` on, and below ``stop``, writes all of a tensor.

        True only if none reads anything near it until then: how it was marked does not matter. Not all are looked at.
        """
        reads: list[Place] = []
        self._of(ordinal)
        for each in range(ordinal, min(stop, ordinal + _SOON, self._first + len(self._accesses))):
            if each in self._rows.irregular:
                return False
            accesses = self._of(each)
            reads += [place for is_write, place, _, _ in accesses if not is_write]
            for is_write, place, number, _ in accesses:
                if is_write and self._is_at(number, view):
                    return not any(_do_meet(place, other) for other in reads)
        return False

    def _is_at(self, number: int, view: View) -> bool:
        """Whether the view of an access has the bytes of another one, element by element, and perhaps more of each."""
        views = self._rows.views
        one = views.kinds[views.kind[number]]
        return (
            views.address[number] == view.address
            and _steps(one) == _steps(view) is not None
            and one.dtype.itemsize >= view.dtype.itemsize
            and one.space is view.space
            and (one.space.is_shared or views.core[number] == view.core)
        )

    def _are_clear(self, shadow: Shadow, pieces: slice) -> bool:
        """Whether each piece of an access is clear, where what encloses them all is not."""
        return pieces.stop - pieces.start > 1 and all(map(shadow.is_clear, self._places(pieces)))

    def _places(self, part: slice) -> Iterator[Place]:
        rows = self._rows
        columns = (rows.space, rows.core, rows.start, rows.stop, rows.lane, rows.lane_stop)
        return zip(*[column[part].tolist() for column in columns], strict=True)

    def _of(self, ordinal: int) -> list[Access]:
        if not 0 <= ordinal - self._first < len(self._accesses):
            self._first, self._accesses = ordinal, self._taken(ordinal)
        return self._accesses[ordinal - self._first]

    def _taken(self, first: int) -> list[list[Access]]:
        rows = self._rows
        accesses: list[list[Access]] = [[] for _ in range(_AT_ONCE)]
        low, high = np.searchsorted(rows.ordinal, (first, first + _AT_ONCE)).tolist()
        if low == high:
            return accesses
        # The pieces of a tensor follow each other.
        begins = low + np.flatnonzero(np.diff(rows.view[low:high], prepend=-1))
        firsts = begins - low
        lows, highs = (
            [ufunc.reduceat(column[low:high], firsts).tolist() for column in columns]
            for ufunc, columns in ((np.minimum, (rows.start, rows.lane)), (np.maximum, (rows.stop, rows.lane_stop)))
        )
        places = zip(
            *(rows.space[begins].tolist(), rows.core[begins].tolist(), lows[0], highs[0], lows[1], highs[1]),
            strict=True,
        )
        pieces = map(slice, begins.tolist(), [*begins[1:].tolist(), high])
        each = zip(rows.is_write[begins].tolist(), places, rows.view[begins].tolist(), pieces, strict=True)
        for ordinal, access in zip(rows.ordinal[begins].tolist(), each, strict=True):
            accesses[ordinal - first].append(access)
        return accesses
