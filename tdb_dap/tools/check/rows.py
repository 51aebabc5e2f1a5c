"""From what the engine says about a tensor to a row of the report."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from itertools import pairwise
from typing import TypeVar

import numpy as np

from tdb_dap.engine.compare.finding import Checked
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.comparison import Comparison
from tdb_dap.tools.check.schema import Numbers, Picture, Row

_HEAT = (24, 48)
_AT_ONCE = 1 << 15
"""Elements that are looked at at once, about."""
_EDGES = 10.0 ** np.arange(-8, 1)


class Shown:
    """Numbers and pictures of the comparisons of a run; those of equal tensors are worked out once.

    ``pictures``: whether they have pictures of what differs.
    """

    def __init__(self, pictures: bool = True) -> None:
        self._draws = pictures
        self._numbers: dict[Hashable, Numbers] = {}
        self._pictures: dict[Hashable, Picture] = {}

    def numbers(self, result: Comparison) -> Numbers:
        """The numbers of one comparison."""
        return _known(self._numbers, result, _numbers)

    def picture(self, result: Comparison) -> Picture | None:
        """The picture of one comparison, where it differs."""
        return _known(self._pictures, result, _picture) if self._draws and result.complaints else None


_T = TypeVar("_T")


def _known(cache: dict[Hashable, _T], result: Comparison, make: Callable[[Comparison], _T]) -> _T:
    if result.identity is None:
        return make(result)
    if result.identity not in cache:
        cache[result.identity] = make(result)
    return cache[result.identity]


def row_of(checked: Checked, shown: Shown) -> Row:
    """The row of one tensor; it holds no arrays. ``shown``: of the run that it belongs to."""
    result = checked.comparison
    return Row(
        line=checked.line,
        opcode=checked.opcode,
        name=checked.name,
        role=checked.role,
        index=checked.index,
        dtype=checked.dtype,
        first=checked.first,
        last=checked.last,
        pieces=checked.pieces,
        covered=checked.covered,
        verdict=checked.verdict,
        reason=checked.reason,
        note=checked.note,
        complaints=result.complaints if result else (),
        numbers=shown.numbers(result) if result else None,
        picture=shown.picture(result) if result else None,
    )


def _numbers(result: Comparison) -> Numbers:
    metrics = result.metrics
    return Numbers(
        cosine=metrics.cosine,
        euclidean=metrics.euclidean,
        sqnr=metrics.sqnr,
        max_abs=metrics.max_abs,
        max_rel=metrics.max_rel,
        max_ulp=metrics.max_ulp,
        size=metrics.size,
        bad_count=metrics.bad_count,
        bad_share=metrics.bad_share,
        first_bad=metrics.first_bad,
        first_bad_per_axis=metrics.first_bad_per_axis,
        worst=metrics.worst,
        worst_actual=float(result.actual[metrics.worst]) if metrics.worst is not None else None,
        worst_expected=float(result.expected[metrics.worst]) if metrics.worst is not None else None,
        channel_axis=metrics.channel_axis,
        worst_channel=metrics.worst_channel,
        channel=metrics.channel,
        nan_count=metrics.nan_count,
        nan_expected=metrics.nan_expected,
        inf_count=metrics.inf_count,
        inf_expected=metrics.inf_expected,
    )


def _picture(result: Comparison) -> Picture:
    axis, shape = result.metrics.channel_axis, result.actual.shape
    before, channels, after = (
        (math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])) if axis is not None else (1, 1, 1)
    )
    metrics = result.metrics
    is_finite = not (metrics.nan_count or metrics.nan_expected or metrics.inf_count or metrics.inf_expected)
    actual, expected = (side.reshape(before, channels, after) for side in (result.actual, result.expected))
    reach = _reach(actual, expected, is_finite)
    rows, columns = _starts(channels, _HEAT[0]), _starts(before * after, _HEAT[1])
    heat = np.empty((rows.size, columns.size))
    counts = np.zeros(len(_EDGES) + 2, np.int64)
    # A part of the tensor at a time: whole groups of elements that are together.
    is_by_column = after == 1 and before > 1
    starts, end = (columns, before) if is_by_column else (rows, channels)
    bounds = [*starts.tolist(), end]
    several = max(1, _AT_ONCE * starts.size // actual.size)
    for first in range(0, starts.size, several):
        groups = bounds[first : first + several + 1]
        part = slice(groups[0], groups[-1]) if is_by_column else (slice(None), slice(groups[0], groups[-1]))
        error = _relative_error(actual[part], expected[part], reach, is_finite)
        counts += _histogram(error)
        for number, (start, stop) in enumerate(pairwise(groups), first):
            group = slice(start - groups[0], stop - groups[0])
            if is_by_column:
                heat[:, number] = np.maximum.reduceat(error[group].max(axis=0)[:, 0], rows)
            else:
                heat[number] = np.maximum.reduceat(error[:, group].max(axis=1).reshape(-1), columns)
    return Picture(
        heat=tuple(tuple(float(f"{x:.3g}") for x in line) for line in heat.tolist()),
        histogram=tuple(counts.tolist()),
    )


def _reach(actual: Array, expected: Array, is_finite: bool) -> float:
    """The largest expected magnitude where both are numbers; 1 if it is 0."""
    if not is_finite:
        expected = np.where(np.isfinite(actual) & np.isfinite(expected), expected, np.float32(0))
    return max(float(expected.max()), -float(expected.min())) or 1.0


def _relative_error(actual: Array, expected: Array, reach: float, is_finite: bool) -> Array:
    """|actual - expected| over ``reach``, the largest expected magnitude; infinite where only one of them is a number.

    ``is_finite``: both are numbers everywhere.
    """
    error = actual.astype(np.float64)
    with np.errstate(all="ignore"):
        error -= expected
        np.abs(error, out=error)
        error /= reach
        if not is_finite:
            error[~(np.isfinite(actual) & np.isfinite(expected))] = np.inf
            error[(actual == expected) | (np.isnan(actual) & np.isnan(expected))] = 0.0
    return error


def _histogram(error: Array) -> Array:
    """Counts of the elements without error, of those up to each edge, and of those beyond."""
    above = [error.size, int(np.count_nonzero(error))]
    for edge in _EDGES:
        above.append(int(np.count_nonzero(error > edge)) if above[-1] else 0)
    return -np.diff(above, append=0)


def _starts(size: int, limit: int) -> Array:
    """The first of each group of elements, at most ``limit`` groups."""
    if size <= limit:
        return np.arange(size)
    return np.linspace(0, size, limit, endpoint=False).astype(np.intp)
