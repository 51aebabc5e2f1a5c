"""Goldens of ops that look numbers up, choose and count them."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.calls import Call, NoGolden, golden


def _indices(numbers: Array, extent: int) -> Array:
    """Whole numbers; those below 0 count from the end."""
    indices = numbers.astype(np.int64)
    return np.where(indices < 0, indices + extent, indices)


@golden("Gather")
def gather(call: Call) -> Array:
    """Slices of the first operand that the second numbers."""
    x, axis = call[0], call.axis(call[0].ndim)
    return np.take(x, _indices(call[1], x.shape[axis]), axis=axis)


@golden("GatherElements")
def gather_elements(call: Call) -> Array:
    """Elements along ``axis`` that the second operand numbers."""
    x, axis = call[0], call.axis(call[0].ndim)
    return np.take_along_axis(x, _indices(call[1], x.shape[axis]), axis=axis)


@golden("GatherND")
def gather_slices(call: Call) -> Array:
    """Slices of the first operand that the rows of the second number."""
    if call.number("batch_dims"):
        raise NoGolden("batches of indices")
    rows = call[1].astype(np.int64)
    return call[0][tuple(np.moveaxis(rows, -1, 0))]


@golden("ScatterND")
def scatter_slices(call: Call) -> Array:
    """First operand with the slices that the second numbers replaced by, or added to, the third's."""
    x, rows = call[0].copy(), call[1].astype(np.int64)
    places = tuple(np.moveaxis(rows, -1, 0))
    if call.number("reduction"):
        np.add.at(x, places, call[2])
    else:
        x[places] = call[2]
    return x


@golden("ScatterElements")
def scatter_elements(call: Call) -> Array:
    """First operand with the elements that the second numbers along ``axis`` replaced by the third's."""
    if call.number("reduction"):
        raise NoGolden("elements that are added up")
    x, axis = call[0].copy(), call.axis(call[0].ndim)
    np.put_along_axis(x, _indices(call[1], x.shape[axis]), call[2], axis=axis)
    return x


@golden("Arg")
def extreme(call: Call) -> tuple[Array, ...]:
    """Index of the greatest or least number along ``axis``, and that number; of equal ones the first, or the last."""
    x, axis = call[0], call.axis(call[0].ndim)
    find = np.argmax if call.get("mode") == "ArgMax" else np.argmin
    is_last = call.flag("select_last_index")
    index = find(np.flip(x, axis) if is_last else x, axis=axis, keepdims=True)
    index = x.shape[axis] - 1 - index if is_last else index
    value = np.take_along_axis(x, index, axis=axis)
    keep = call.attributes.get("keepdims", True)
    return (index, value) if keep else (index.squeeze(axis), value.squeeze(axis))


@golden("TopK")
def most(call: Call) -> tuple[Array, ...]:
    """The K greatest or least numbers along ``axis`` in order, and their indices."""
    x, axis, count = call[0], call.axis(call[0].ndim, default=-1), int(call.number("K"))
    key = -x if call.attributes.get("largest", True) else x
    index = np.argsort(key, axis=axis, kind="stable").take(range(count), axis=axis)
    return np.take_along_axis(x, index, axis=axis), index


@golden("CumSum")
def running_sum(call: Call) -> Array:
    """Sums of all numbers so far along ``axis``."""
    return np.cumsum(call[0], axis=call.axis(call[0].ndim))


@golden("tpu.Lut")
def look_up(call: Call) -> Array:
    """The entry of the table at each stored number; a signed one below 0 counts from the end."""
    table = call[1].reshape(-1)
    kind = call.operand_types[0]
    words = np.rint(call[0] / (kind.scale if kind else 1) + (kind.zero_point if kind else 0)).astype(np.int64)
    values = table[words % table.size]
    result = call.result
    if result is not None and result.is_quantised:
        if result.storage.startswith("u"):
            values = np.where(values < 0, values + 256, values)
        return (values - result.zero_point) * result.scale
    return values


@golden("NonZero")
def non_zero(call: Call) -> Array:
    """Indices of the elements that are not 0, one row for each axis, or one column (``ColMajor``).

    As many as there are: the compiler's shape has room for all.
    """
    positions = np.stack(np.nonzero(call[0]))
    return positions.T if call.get("order") == "ColMajor" else positions


@golden("Nms")
def suppress(call: Call) -> Array:
    """Boxes of high score that overlap none of higher score: rows of batch, class and number of the box.

    Operands: boxes [batch, count, 4], scores [batch, classes, count], then, each of one element, the most boxes of a
    class, the largest overlap and the least score. As many rows as there are.
    """
    boxes, scores = call[0], call[1]
    given = [one.reshape(-1) if (one := call.optional(place)) is not None else None for place in (2, 3, 4)]
    most = int(given[0][0]) if given[0] is not None and given[0].size else int(call.number("max_output_size"))
    overlap = float(given[1][0]) if given[1] is not None and given[1].size else 0.0
    least = float(given[2][0]) if given[2] is not None and given[2].size else -np.inf
    corners = boxes
    if call.number("center_point_box"):
        half = boxes[..., 2:] / 2
        corners = np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], axis=-1)
    low, high = np.minimum(corners[..., :2], corners[..., 2:]), np.maximum(corners[..., :2], corners[..., 2:])
    rows = [
        (batch, kind, box)
        for batch in range(scores.shape[0])
        for kind in range(scores.shape[1])
        for box in _kept(scores[batch, kind], low[batch], high[batch], most, overlap, least)
    ]
    return np.asarray(rows, np.float64).reshape(-1, 3)


def _kept(scores: Array, low: Array, high: Array, most: int, overlap: float, least: float) -> list[int]:
    """Numbers of the boxes of one class that are kept, the best first."""
    kept: list[int] = []
    area = np.prod(high - low, axis=-1)
    for box in np.argsort(-scores, kind="stable"):
        if len(kept) == most or not scores[box] > least:
            break
        common = np.clip(np.minimum(high[box], high[kept]) - np.maximum(low[box], low[kept]), 0, None).prod(axis=-1)
        if not (common > overlap * (area[box] + area[kept] - common)).any():
            kept.append(int(box))
    return kept
