"""Pairs of accesses that touch the same bytes while nothing orders their commands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.program.access_table import LOCAL, SHARED, AccessRows, Column
from tdb_dap.engine.sanitizers.happens_before import Timeline

_AT_ONCE = 1 << 16
"""Pairs that are compared at once."""


class _Side(Struct, frozen=True):
    """The rows of one timeline that can meet those of the other, and the position of each in its stream."""

    rows: Column
    positions: Column


def unordered_overlaps(rows: AccessRows, lines: list[Timeline]) -> Column:
    """Pairs of row numbers, shape (n, 2), whose rectangles meet and whose commands nothing orders."""
    columns: list[Column] = [np.zeros((0, 2), np.int64)]
    sides = [_side(rows, line) for line in lines]
    for first in range(len(lines)):
        for second in range(first + 1, len(lines)):
            same_core = lines[first].core == lines[second].core
            one, other = (_reachable(rows, sides[t], same_core) for t in (first, second))
            for pairs in _unordered(one, other, lines[first].clocks[:, second], lines[second].clocks[:, first]):
                columns.append(pairs[meet(rows, pairs)])
    return np.concatenate(columns)


def _side(rows: AccessRows, line: Timeline) -> _Side:
    after = np.searchsorted(line.ordinals, rows.ordinal)
    after = np.minimum(after, max(line.ordinals.size - 1, 0))
    chosen = np.flatnonzero(line.ordinals[after] == rows.ordinal) if line.ordinals.size else np.zeros(0, np.int64)
    return _Side(chosen, after[chosen])


def _reachable(rows: AccessRows, side: _Side, same_core: bool) -> _Side:
    """Of another core only accesses to shared memory matter."""
    if same_core:
        return side
    shared = np.isin(rows.space[side.rows], list(SHARED))
    return _Side(side.rows[shared], side.positions[shared])


def _unordered(one: _Side, other: _Side, known: Column, known_back: Column) -> Iterator[Column]:
    """All pairs of rows between which no order is certain.

    ``known[i]``: commands of the other timeline that are finished before command i begins; ``known_back`` vice versa.
    Both ascend, so what is unordered with one command is a stretch of the other timeline.
    """
    if not one.rows.size or not other.rows.size:
        return
    first = np.searchsorted(other.positions, known[one.positions], side="left")
    last = np.searchsorted(other.positions, np.searchsorted(known_back, one.positions, side="right"), side="left")
    counts = np.maximum(last - first, 0)
    ends = np.cumsum(counts)
    begin = 0
    while begin < counts.size:
        done = ends[begin - 1] if begin else 0
        stop = max(begin + 1, int(np.searchsorted(ends, done + _AT_ONCE, side="right")))
        part = counts[begin:stop]
        if part.any():
            mine = np.repeat(np.arange(begin, stop), part)
            theirs = (
                np.arange(part.sum()) - np.repeat(np.cumsum(part) - part, part) + np.repeat(first[begin:stop], part)
            )
            yield np.stack([one.rows[mine], other.rows[theirs]], axis=1)
        begin = stop


def meet(rows: AccessRows, pairs: Column) -> NDArray[np.bool_]:
    """Of pairs of rows, shape (n, 2), whether they meet and one of them writes."""
    a, b = pairs.T
    meet = rows.is_write[a] | rows.is_write[b]
    meet &= (rows.start[a] < rows.stop[b]) & (rows.start[b] < rows.stop[a])
    meet &= (rows.space[a] == rows.space[b]) & (rows.core[a] == rows.core[b])
    meet &= (rows.space[a] != LOCAL) | ((rows.lane[a] < rows.lane_stop[b]) & (rows.lane[b] < rows.lane_stop[a]))
    return meet


class SharedBytes:
    """The bytes that two rows share, exactly; what a view covers is worked out once for all that are equal."""

    def __init__(self, rows: AccessRows) -> None:
        self._rows = rows
        self._places: dict[tuple[int, ...], ByteRanges] = {}

    def __call__(self, one: int, other: int) -> ByteRanges | None:
        """None if they share none."""
        return self.place(one).intersection(self.place(other))

    def place(self, row: int) -> ByteRanges:
        """The bytes of the whole view that a row is a piece of."""
        view = int(self._rows.view[row])
        key = self._rows.views.key(view)
        if key not in self._places:
            self._places[key] = ByteRanges.of(self._rows.views[view])
        return self._places[key]

    def is_reached(self, place: ByteRanges, row: int) -> bool:
        """Whether the view that a row is a piece of has a byte of a place; where it does, its first lane may tell."""
        if self._rows.views.key(int(self._rows.view[row])) not in self._places:
            first = ByteRanges.in_first_lane(self._rows.views[int(self._rows.view[row])])
            if first is not None and place.overlaps(first):
                return True
        return place.overlaps(self.place(row))
