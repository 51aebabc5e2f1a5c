"""Accesses of floats by command, worked out for the whole program at once: no command need be described for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.commands.commands import ENGINES
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import WATCHED_FORMATS, WATCHED_IN_PLACE
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.engine.program.access_table import CHOSEN, MOVED, SPACES, AccessRows, Column


class _Tensors(NamedTuple):
    """``counts``: of each command; ``first``: number of the view of the first one, or 0."""

    counts: Column
    first: Column


class FloatAccesses:
    """The results of each command that hold floats, and the operands with floats that it may overwrite."""

    def __init__(self, rows: AccessRows, engines: NDArray[np.int8]) -> None:
        """``engines``: of each command, by number in ENGINES."""
        self._rows = rows
        self._engines = engines
        self._is_float = rows.views.which(lambda view: view.dtype.is_float)
        self._overwritten = _overwritten(rows, np.flatnonzero(~rows.is_write & self._is_float[rows.view]))

    def are_known(self, ordinal: int) -> bool:
        """Whether all accesses of a command are known."""
        return ordinal not in self._rows.irregular

    def results(self, ordinal: int) -> list[View]:
        """The results of a command that hold floats."""
        rows = self._rows
        mine = [int(rows.view[row]) for row in rows.of_command(ordinal) if rows.is_write[row]]
        return [rows.views[view] for view in dict.fromkeys(mine) if self._is_float[view]]

    def overwritten(self, ordinal: int) -> list[View]:
        """The operands with floats of which a command may write a byte; perhaps also others of its operands."""
        return [self._rows.views[view] for view in self._overwritten_of(ordinal)]

    def kept(self, ordinal: int) -> list[View]:
        """The other operands with floats of a command."""
        rows = self._rows
        mine = [int(rows.view[row]) for row in rows.of_command(ordinal) if not rows.is_write[row]]
        overwritten = self._overwritten_of(ordinal)
        return [rows.views[view] for view in dict.fromkeys(mine) if self._is_float[view] and view not in overwritten]

    def _overwritten_of(self, ordinal: int) -> dict[int, None]:
        """The numbers of their views."""
        rows = self._rows
        mine = self._overwritten[slice(*np.searchsorted(rows.ordinal[self._overwritten], (ordinal, ordinal + 1)))]
        return dict.fromkeys(rows.view[mine].tolist())

    @cached_property
    def making(self) -> NDArray[np.bool_]:
        """Of each command whether not all is known of it, or it computes a result that holds floats."""
        making = self._tensors(True, self._is_float).counts > 0
        making &= ~self._moving
        making[list(self._rows.irregular)] = True
        return making

    @property
    def _moving(self) -> NDArray[np.bool_]:
        """Of each command whether it leaves what is in one tensor, in its format, in another."""
        rows, views, size = self._rows, self._rows.views, self._engines.size
        sources, targets = self._tensors(False), self._tensors(True, self._is_float)
        words = np.zeros(size, np.int8)
        words[: rows.words.size] = rows.words
        moving = (words == MOVED) | (self._engines == ENGINES.index("dma"))
        moving = ((moving & (sources.counts == 1)) | (words == CHOSEN)) & (targets.counts == 1)
        if not moving.any():
            return moving
        numbers: dict[str, int] = {}
        formats = np.array([numbers.setdefault(view.dtype.name, len(numbers)) for view in views.kinds])[views.kind]
        is_stream = views.which(lambda view: view.layout is Layout.STREAM)
        read = np.flatnonzero(~rows.is_write & ~is_stream[rows.view])
        mine = rows.ordinal[read]
        alike = mine[formats[rows.view[read]] == formats[targets.first[mine]]]
        return moving & (np.bincount(alike, minlength=size) > 0) & ~is_stream[targets.first]

    @cached_property
    def watched(self) -> NDArray[np.int8]:
        """The formats by which ``Watched`` finds a NaN that a command makes in its only result; 0 where it cannot."""
        rows, views = self._rows, self._rows.views
        if not len(views):
            return np.zeros(self._engines.size, np.int8)
        is_stream = views.which(lambda view: view.layout is Layout.STREAM)
        formats = np.array([WATCHED_FORMATS.get(view.dtype.name, 0) for view in views.kinds], np.int8)[views.kind]
        results = self._tensors(True)
        result = results.first
        watched = np.where((results.counts == 1) & ~is_stream[result], formats[result], np.int8(0))
        ordinal, view = rows.ordinal[self._overwritten], rows.view[self._overwritten]
        watched[ordinal] |= np.where(watched[ordinal] > 0, np.int8(WATCHED_IN_PLACE), np.int8(0))
        is_other = np.zeros(view.size, np.bool_)
        for column in (views.kind, views.address, views.core):
            is_other |= column[view] != column[result[ordinal]]
        watched[ordinal[is_other]] = 0
        watched[list(rows.irregular)] = 0
        return watched

    def _tensors(self, is_write: bool, among: NDArray[np.bool_] | None = None) -> _Tensors:
        """Of each command how many tensors it reads or writes, and which is the first. ``among``: views that count."""
        rows = self._rows
        mine = np.flatnonzero(rows.is_write == is_write)
        mine = mine[np.diff(rows.view[mine], prepend=-1) != 0]  # the pieces of a tensor follow each other
        if among is not None:
            mine = mine[among[rows.view[mine]]]
        counts = np.bincount(rows.ordinal[mine], minlength=self._engines.size)
        first = np.zeros(counts.size, np.int64)
        first[rows.ordinal[mine][::-1]] = rows.view[mine][::-1]
        return _Tensors(counts, first)

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
