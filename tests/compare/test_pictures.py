"""Shown of where a tensor differs, drawn part by part."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.compare.finding import Checked
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.comparison import compare
from tdb_dap.engine.reference.tolerance import Tolerance
from tdb_dap.tools.check.rows import Shown, row_of
from tdb_dap.tools.check.schema import Picture

SHAPES = [(1,), (5,), (400,), (9, 70), (1, 64, 20, 20), (3, 100, 7, 9), (2, 197, 65), (2, 3, 1, 4, 5)]


def plain(actual: Array, expected: Array, axis: int) -> Picture:
    """All elements at once."""
    usable = np.isfinite(actual) & np.isfinite(expected)
    reach = float(np.abs(np.where(usable, expected, 0)).max()) or 1.0
    with np.errstate(all="ignore"):
        error = np.where(usable, np.abs(actual.astype(np.float64) - expected) / reach, np.inf)
    error[(actual == expected) | (np.isnan(actual) & np.isnan(expected))] = 0
    heat = np.moveaxis(error, axis, 0).reshape(error.shape[axis], -1)
    for side, limit in enumerate((24, 48)):
        if heat.shape[side] > limit:
            starts = np.linspace(0, heat.shape[side], limit, endpoint=False).astype(np.intp)
            heat = np.maximum.reduceat(heat, starts, axis=side)
    edges = [0.0, *10.0 ** np.arange(-8, 1)]
    counts = [
        int(((error > low) & (error <= high)).sum()) for low, high in zip(edges, [*edges[1:], np.inf], strict=True)
    ]
    cells = tuple(tuple(float(f"{x:.3g}") for x in line) for line in heat.tolist())
    return Picture(heat=cells, histogram=(int((error == 0).sum()), *counts))


@pytest.mark.parametrize("special", [(), (np.nan,), (np.inf, -np.inf)], ids=["finite", "nan", "infinite"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_picture_drawn_by_parts_is_that_of_the_whole(shape: tuple[int, ...], special: tuple[float, ...]) -> None:
    random = np.random.default_rng(sum(shape))
    expected = random.standard_normal(shape).astype(np.float32)
    actual = (expected * (1 + random.standard_normal(shape) * 10.0 ** random.integers(-9, 1, shape))).astype(np.float32)
    actual[random.random(shape) < 0.3] = 0
    for number, value in enumerate(special[: actual.size]):
        actual.reshape(-1)[number] = value
    result = compare("x", actual + np.float32(0.5), expected, Tolerance(max_abs=0.0))
    assert result.complaints
    assert result.metrics.channel_axis is not None
    row = row_of(Checked(1, "op", "x", "result", 0, "f32", 0, 0, "fail", comparison=result), Shown())
    assert row.picture == plain(result.actual, expected, result.metrics.channel_axis)
