"""Accesses of floats by command, worked out for the whole program at once: no command need be described for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.commands.commands import ENGINES
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import WATCHED_FORMATS, WATCHED_IN_PLACE
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.engine.program.access_table import SPACES, AccessRows, Column


class FloatAccesses:
    """The results of each command that hold floats, and the operands with floats that it may overwrite."""

    def __init__(self, rows: AccessRows, engines: NDArray[np.int8]) -> None:
        """``engines``: of each command, by number in ENGINES."""
        self._rows = rows
        self._engines = engines
        is_float = rows.views.which(lambda view: view.dtype.is_float)[rows.view]
        self._results: dict[int, dict[int, None]] = {}
        written = np.flatnonzero(rows.is_write & is_float)
        for ordinal, view in zip(rows.ordinal[written].tolist(), rows.view[written].tolist(), strict=True):
            self._results.setdefault(ordinal, {})[view] = None
        self._overwritten: dict[int, dict[int, None]] = {}
        for row in _overwritten(rows, np.flatnonzero(~rows.is_write & is_float)).tolist():
            self._overwritten.setdefault(int(rows.ordinal[row]), {})[int(rows.view[row])] = None

    def are_known(self, ordinal: int) -> bool:
        """Whether all accesses of a command are known."""
        return ordinal not in self._rows.irregular

    def results(self, ordinal: int) -> list[View]:
        """The results of a command that hold floats."""
        return [self._rows.views[view] for view in self._results.get(ordinal, ())]

    @cached_property
    def making(self) -> frozenset[int]:
        """Ordinals of the commands of which not all is known, and of those that compute a result that holds floats."""
        return self._rows.irregular | (self._results.keys() - self._moving)

    @property
    def _moving(self) -> frozenset[int]:
        """Ordinals of commands of the DMA engine that leave what one tensor holds, in its format, in another."""
        rows, kinds = self._rows, self._rows.views.kinds
        read = np.flatnonzero(~rows.is_write & (self._engines[rows.ordinal] == ENGINES.index("dma")))
        sources: dict[int, set[int]] = {}
        for ordinal, view in zip(rows.ordinal[read].tolist(), rows.view[read].tolist(), strict=True):
            sources.setdefault(ordinal, set()).add(view)
        moving = set[int]()
        for ordinal, targets in self._results.items():
            source = sources.get(ordinal, set())
            views = [kinds[rows.views.kind[view]] for view in (*source, *targets)]
            is_plain = all(view.dtype is views[0].dtype and view.layout is not Layout.STREAM for view in views)
            if len(source) == len(targets) == 1 and is_plain:
                moving.add(ordinal)
        return frozenset(moving)

    def overwritten(self, ordinal: int) -> list[View]:
        """The operands with floats of which a command may write a byte; perhaps also others of its operands."""
        return [self._rows.views[view] for view in self._overwritten.get(ordinal, ())]

    def watched_format(self, ordinal: int) -> int:
        """How ``Watched`` is to find a NaN that a command makes, from its only result; 0 if that cannot tell."""
        rows, results = self._rows, self._results.get(ordinal, {})
        if len(results) != 1 or not self.are_known(ordinal):
            return 0
        (number,) = results
        key, view = rows.views.key(number), rows.views.kinds[rows.views.kind[number]]
        overwritten = self._overwritten.get(ordinal, ())
        is_only = all(rows.view[row] == number for row in rows.of_command(ordinal) if rows.is_write[row])
        if not is_only or view.layout is Layout.STREAM or any(rows.views.key(other) != key for other in overwritten):
            return 0
        known = WATCHED_FORMATS.get(view.dtype.name, 0)
        return known + WATCHED_IN_PLACE if known and overwritten else known

    def reading(self, starts: Sequence[int], sizes: Sequence[int]) -> frozenset[int]:
        """Ordinals of commands with an operand that begins in one of these stretches of DDR, which ascend."""
        if not starts:
            return frozenset()
        rows = self._rows
        read = np.flatnonzero(~rows.is_write & (rows.space == SPACES.index(Space.GLOBAL)))
        addresses = rows.views.address[rows.view[read]]
        near = np.searchsorted(np.array(starts, np.int64), addresses, side="right") - 1
        stops = np.array(starts, np.int64) + np.array(sizes, np.int64)
        inside = (near >= 0) & (addresses < stops[near])
        return frozenset(rows.ordinal[read[inside]].tolist())


def _overwritten(rows: AccessRows, read: Column) -> Column:
    """Of these rows of operands those whose enclosing bytes meet those of a result of their command."""
    written = np.flatnonzero(rows.is_write)
    first, last = (np.searchsorted(rows.ordinal[written], rows.ordinal[read], side=side) for side in ("left", "right"))
    counts = last - first
    mine = np.repeat(read, counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    others = written[np.arange(counts.sum()) - before + np.repeat(first, counts)]
    meets = (rows.space[mine] == rows.space[others]) & (rows.start[mine] < rows.stop[others])
    meets &= (rows.start[others] < rows.stop[mine]) & (rows.lane[mine] < rows.lane_stop[others])
    meets &= rows.lane[others] < rows.lane_stop[mine]
    return np.array(distinct(mine[meets]), np.int64)
