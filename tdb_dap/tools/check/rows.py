"""From what the engine says about a tensor to a row of the report."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.compare.finding import Checked
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.comparison import Comparison
from tdb_dap.tools.check.schema import Numbers, Picture, Row

_HEAT = (24, 48)
_EDGES = 10.0 ** np.arange(-8, 1)


def row_of(checked: Checked) -> Row:
    """The row of one tensor; it holds no arrays."""
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
        numbers=_numbers(result) if result else None,
        picture=_picture(result) if result and result.complaints else None,
    )


def _numbers(result: Comparison) -> Numbers:
    found = result.metrics
    return Numbers(
        cosine=found.cosine,
        euclidean=found.euclidean,
        sqnr=found.sqnr,
        max_abs=found.max_abs,
        max_rel=found.max_rel,
        max_ulp=found.max_ulp,
        size=found.size,
        bad_count=found.bad_count,
        bad_share=found.bad_share,
        first_bad=found.first_bad,
        first_bad_per_axis=found.first_bad_per_axis,
        worst=found.worst,
        worst_actual=float(result.actual[found.worst]) if found.worst is not None else None,
        worst_expected=float(result.expected[found.worst]) if found.worst is not None else None,
        channel_axis=found.channel_axis,
        worst_channel=found.worst_channel,
        channel=found.channel,
        nan_count=found.nan_count,
        nan_expected=found.nan_expected,
        inf_count=found.inf_count,
        inf_expected=found.inf_expected,
    )


def _picture(result: Comparison) -> Picture:
    error = _relative_error(result.actual, result.expected)
    axis = result.metrics.channel_axis
    rows = np.moveaxis(error, axis, 0).reshape(error.shape[axis], -1) if axis is not None else error.reshape(1, 1)
    heat = _shrunk(_shrunk(rows, 0, _HEAT[0]), 1, _HEAT[1])
    counts = np.bincount(np.searchsorted(_EDGES, error[error > 0].reshape(-1)), minlength=len(_EDGES) + 1)
    return Picture(
        heat=tuple(tuple(float(f"{x:.3g}") for x in line) for line in heat.tolist()),
        histogram=(int((error == 0).sum()), *counts.tolist()),
    )


def _relative_error(actual: Array, expected: Array) -> Array:
    """|actual - expected| over the largest expected magnitude; infinite where only one of them is a number."""
    with np.errstate(all="ignore"):
        usable = np.isfinite(actual) & np.isfinite(expected)
        reach = float(np.abs(np.where(usable, expected, 0)).max(initial=0.0)) or 1.0
        error = np.abs(actual.astype(np.float64) - expected) / reach
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
    error[~usable] = np.inf
    error[same] = 0.0
    return np.asarray(error)


def _shrunk(array: Array, axis: int, limit: int) -> Array:
    """At most ``limit`` entries along an axis, each the largest of those that it stands for."""
    if array.shape[axis] <= limit:
        return array
    starts = np.linspace(0, array.shape[axis], limit, endpoint=False).astype(np.intp)
    return np.asarray(np.maximum.reduceat(array, starts, axis=axis))
