"""Shadow memory: one mark for each byte of the chip's memories that says whether somebody wrote it.

A mark is 0 where the byte is defined. UNWRITTEN: nobody has written it. LEFT_OVER: what it holds belongs to an op that
is over. Other marks are numbers of origins: the byte was computed from bytes of the first two kinds.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from tdb_dap.engine.access_rows import LOCAL
from tdb_dap.engine.backend import Outcome
from tdb_dap.engine.dtypes import BY_NAME, Array
from tdb_dap.engine.geometry import Space
from tdb_dap.engine.history import Change, History, OverwrittenBytes, OverwrittenView
from tdb_dap.engine.memory import Memory, Region
from tdb_dap.engine.program import Program
from tdb_dap.engine.views import Layout, View
from tdb_dap.errors import BadAccess

UNWRITTEN = 255
LEFT_OVER = 254
MANY = 253
"""Origins beyond those that a byte can number."""

_HISTORY = 256 << 20
_BYTE = BY_NAME["ui8"]


class Shadow:
    """The marks at one moment of a program. ``position``: how many commands they are behind."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._history = History(_HISTORY)
        geometry = program.target.geometry
        regions = [Region(r.start, np.zeros(r.data.size, np.uint8), r.title) for r in program.ddr_regions()]
        self.memory = Memory(geometry, program.core_count, regions)
        self._weights = [(r.start, r.stop) for r in regions if r.title == "weights"]
        self._changes: list[Change] = []
        self.position = 0
        self.reset()

    def reset(self) -> None:
        """Before the first command weights, inputs and the tables of the firmware are defined, and nothing else."""
        memory, program = self.memory, self._program
        self._mark_l2()
        for core in range(memory.cores):
            memory.static(core).fill(0)
            memory.local(core).fill(UNWRITTEN)
        for region in memory.regions(Space.GLOBAL):
            region.data.fill(0 if region.title == "weights" else UNWRITTEN)
        for tensor in program.inputs:
            memory.bytes_at(tensor.view.space, tensor.view.address, tensor.size).fill(0)
        self._history.begin(0)
        self._changes = []
        self.position = 0

    def _mark_l2(self) -> None:
        """Of L2 the tables are defined: what is written into it, whatever it held before."""
        l2 = self.memory.l2()
        l2.fill(UNWRITTEN)
        self._program.target.fill_tables(self.memory, "firmware")
        tables = np.flatnonzero(l2 != UNWRITTEN)
        if tables.size:
            l2.fill(0)
            self._program.target.fill_tables(self.memory, "firmware")
            also = np.flatnonzero(l2)
            l2.fill(UNWRITTEN)
            l2[tables] = 0
            l2[also] = 0

    @property
    def first(self) -> int:
        """The earliest moment that can be gone back to without running again."""
        return self._history.first

    def advance(self) -> None:
        """The marks are those behind the next command."""
        self._history.record(Outcome(tuple(self._changes)))
        self._changes = []
        self.position += 1

    def go_back(self, position: int) -> None:
        """Undo down to ``position``, which is not before ``first``."""
        for change in reversed(self._changes):
            change.undo(self.memory)
        self._changes = []
        while self.position > position:
            self._history.undo(self.memory)
            self.position -= 1

    def marks(self, view: View) -> Array | None:
        """The marks of a view, a word for each of its elements; None if all are 0, or it lies nowhere."""
        if self._is_constant(view):
            return None
        try:
            if view.dtype.per_byte == 1 and view.layout is not Layout.STREAM:
                pieces = self.memory.pieces(view)
                if not any(piece.any() for _, piece in pieces):
                    return None
            words = self.memory.read(view)
        except BadAccess:
            return None
        return words if words.any() else None

    def put(self, view: View, words: Array | None) -> None:
        """Set the marks of a view; None: all 0."""
        before = self.marks(view)
        if before is None and words is None:
            return
        try:
            old = self.memory.read(view)
            self.memory.write(view, np.zeros_like(old) if words is None else words)
        except BadAccess:
            return
        self._changes.append(OverwrittenView(view, old))

    def fill(self, view: View, mark: int) -> None:
        """Give all bytes of a view one mark."""
        word = int.from_bytes(bytes([mark]) * view.dtype.itemsize, "little")
        try:
            old = self.memory.read(view)
            self.memory.write(view, np.full_like(old, word))
        except BadAccess:
            return
        self._changes.append(OverwrittenView(view, old))

    def leave(self, core: int) -> None:
        """What the scratchpad of a core holds is left over from now on; what nobody has written stays so."""
        used = self.memory.local(core)[:, : self._reach.get(core, 0)]
        old = used.copy()
        np.copyto(used, LEFT_OVER, where=old != UNWRITTEN)
        if used.size:
            self._changes.append(
                OverwrittenView(self._lanes(core, used.shape[1]), old.reshape(1, *old.shape[:1], 1, -1))
            )

    @cached_property
    def _reach(self) -> dict[int, int]:
        """Per core the bytes of a lane, from its start, that the program ever touches."""
        rows, found = self._program.access_rows, {}
        for core in np.unique(rows.core).tolist():
            stops = rows.stop[(rows.space == LOCAL) & (rows.core == core)]
            found[core] = min(int(stops.max(initial=0)), self.memory.geometry.lane_bytes)
        return found

    def _lanes(self, core: int, size: int) -> View:
        """The first ``size`` bytes of every lane of a core."""
        geometry = self.memory.geometry
        strides = (0, 0, size, 1)
        return View(Space.LOCAL, 0, (1, geometry.lanes, 1, size), _BYTE, Layout.STRIDE, strides, geometry, core=core)

    def define(self, changes: Iterable[Change]) -> None:
        """What was overwritten by hand is defined."""
        for change in changes:
            if isinstance(change, OverwrittenView):
                self.put(change.view, None)
            elif isinstance(change, OverwrittenBytes):
                marks = self.memory.bytes_at(change.space, change.start, change.old.size, change.core)
                self._changes.append(OverwrittenBytes(change.space, change.core, change.start, marks.copy()))
                marks.fill(0)

    def _is_constant(self, view: View) -> bool:
        if view.space is Space.STATIC:
            return True
        return view.space is Space.GLOBAL and any(start <= view.address < stop for start, stop in self._weights)
