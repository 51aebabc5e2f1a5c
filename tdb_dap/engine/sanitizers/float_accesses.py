"""Accesses of floats by command, worked out for the whole program at once: no command need be described for them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.access_table import SPACES, AccessRows, Column


class FloatAccesses:
    """The results of each command that hold floats, and the commands that write where they read some."""

    def __init__(self, rows: AccessRows) -> None:
        self._rows = rows
        is_float = rows.views.which(lambda view: view.dtype.is_float)[rows.view]
        self._results: dict[int, dict[int, None]] = {}
        written = np.flatnonzero(rows.is_write & is_float)
        for ordinal, view in zip(rows.ordinal[written].tolist(), rows.view[written].tolist(), strict=True):
            self._results.setdefault(ordinal, {})[view] = None
        self._overwriting = _overwriting(rows, np.flatnonzero(~rows.is_write & is_float))

    def are_known(self, ordinal: int) -> bool:
        """Whether all accesses of a command are known."""
        return ordinal not in self._rows.irregular

    def results(self, ordinal: int) -> list[View]:
        """The results of a command that hold floats."""
        return [self._rows.views[view] for view in self._results.get(ordinal, ())]

    def may_overwrite(self, ordinal: int) -> bool:
        """Whether a command may write a byte of an operand that holds floats."""
        return ordinal in self._overwriting

    def reading(self, starts: Sequence[int], sizes: Sequence[int]) -> frozenset[int]:
        """Ordinals of commands with an operand that begins in one of these stretches of DDR, which ascend."""
        rows = self._rows
        read = np.flatnonzero(~rows.is_write & (rows.space == SPACES.index(Space.GLOBAL)))
        addresses = rows.views.address[rows.view[read]]
        near = np.searchsorted(np.array(starts, np.int64), addresses, side="right") - 1
        stops = np.array(starts, np.int64) + np.array(sizes, np.int64)
        inside = (near >= 0) & (addresses < stops[near])
        return frozenset(rows.ordinal[read[inside]].tolist())


def _overwriting(rows: AccessRows, read: Column) -> frozenset[int]:
    """Ordinals of commands of which what encloses one of these operands meets what encloses a result."""
    written = np.flatnonzero(rows.is_write)
    first, last = (np.searchsorted(rows.ordinal[written], rows.ordinal[read], side=side) for side in ("left", "right"))
    counts = last - first
    mine = np.repeat(read, counts)
    before = np.repeat(np.cumsum(counts) - counts, counts)
    others = written[np.arange(counts.sum()) - before + np.repeat(first, counts)]
    meets = (rows.space[mine] == rows.space[others]) & (rows.start[mine] < rows.stop[others])
    meets &= (rows.start[others] < rows.stop[mine]) & (rows.lane[mine] < rows.lane_stop[others])
    meets &= rows.lane[others] < rows.lane_stop[mine]
    return frozenset(rows.ordinal[mine[meets]].tolist())
