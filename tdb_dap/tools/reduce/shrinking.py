"""Smaller shapes and simpler numbers for a part of a model."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.tools.golden.library import LINEAR, Call, NoGolden, compute
from tdb_dap.tools.reduce.cutting import Part, Shape, kinds_of

_INDEXED = ("Lut", "Gather", "GatherElements", "GatherND")
"""Ops with a table whose extents are not those of the tensors."""


def axes(part: Part) -> Iterator[int]:
    """Axes along which something can be cut off, the last one first."""
    rank = max((array.ndim for array in part.inputs.values()), default=0)
    yield from (axis for axis in reversed(range(rank)) if _extent(part, axis) > 1)


def _extent(part: Part, axis: int) -> int:
    return max((array.shape[axis] for array in part.inputs.values() if axis < array.ndim), default=1)


def shorter(part: Part, axis: int, near: float) -> Iterator[Part]:
    """The same with one index left along an axis, then with half of them; nothing where the ops do not allow it.

    ``near``: where along the axis they are to be, from 0 to 1.
    """
    extent = _extent(part, axis)
    for share in dict.fromkeys((extent, 2) if extent > 1 else ()):
        parts = _divided(part, axis, share, near)
        if parts is not None:
            yield parts


def _divided(part: Part, axis: int, share: int, near: float) -> Part | None:
    """``1 / share`` of each input along an axis; None where an op cannot be computed on it."""
    level = part.level
    inputs = {
        name: np.ascontiguousarray(_window(array, axis, max(1, array.shape[axis] // share), near))
        if axis < array.ndim
        else array
        for name, array in part.inputs.items()
    }
    before: dict[str, Shape] = {}
    numbers: dict[str, Array] = {}
    for read in part.reads:
        before[read.value] = part.inputs[read.name].shape
        numbers[read.value] = np.asarray(inputs[read.name], np.float64)
    weights = dict(part.weights)
    shapes: dict[str, Shape] = dict(part.shapes)
    for op in part.ops:
        arrays: list[Array | None] = []
        for place, value in enumerate(op.operands):
            producer = level.mlir.op_defining(value, op.line)
            if value in numbers:
                arrays.append(numbers[value])
            elif producer is None or producer.name != "top.Weight" or producer.location not in weights:
                arrays.append(None)
            else:
                first = op.operands[0]
                if first not in numbers or first not in before:
                    return None
                fitted = _weight(op, place, weights[producer.location], axis, before[first], numbers[first].shape, near)
                if fitted is None:
                    return None
                weights[producer.location] = fitted
                shapes[value] = fitted.shape
                arrays.append(np.asarray(fitted, np.float64))
        operand_kinds, result_kinds = level.types(op)
        free = tuple(None if kind is None else replace(kind, shape=None) for kind in result_kinds)
        try:
            results = compute(Call(op.name, tuple(arrays), op.attributes, operand_kinds, free))
        except NoGolden:
            return None
        if len(results) != len(kinds_of(op)[1]) or op.result_count != len(op.results):
            return None
        for value, array, kind in zip(op.results, results, result_kinds, strict=False):
            old = part.shapes.get(value, kind.shape if kind is not None else None)
            if old is None or len(old) != array.ndim:
                return None
            before[value], numbers[value], shapes[value] = old, array, array.shape
    shapes |= {read.value: inputs[read.name].shape for read in part.reads}
    return replace(part, inputs=inputs, weights=weights, shapes=shapes)


def _window(array: Array, axis: int, count: int, near: float) -> Array:
    """``count`` indices along an axis, in the middle that one that is at ``near``."""
    extent = array.shape[axis]
    start = min(max(int(near * extent) - count // 2, 0), extent - count)
    return array[(slice(None),) * axis + (slice(start, start + count),)]


def _weight(op: MlirOp, place: int, weight: Array, axis: int, before: Shape, after: Shape, near: float) -> Array | None:
    """The part of a weight that belongs to the indices that are left; None where that is not known."""
    name = op.name.split(".")[1]
    if axis >= len(before) or before[axis] == after[axis] or name in _INDEXED:
        return weight
    if name in ("Conv", "Conv2D", "MatMul"):
        if place != 1:
            return weight
        if name == "MatMul":
            is_summed = axis == len(before) - 1
            if op.attributes.get("right_transpose") is True or weight.ndim != 2:
                return None
            return _window(weight, 0, after[axis], near) if is_summed else weight
        if axis != 1:
            return weight
        return _window(weight, 1, after[1], near) if op.attributes.get("group", 1) == 1 else None
    if op.name in LINEAR and weight.ndim != 1:
        return None
    if weight.ndim == len(before):
        return _window(weight, axis, after[axis], near) if weight.shape[axis] == before[axis] else weight
    return _window(weight, 0, after[1], near) if weight.ndim == 1 and axis == 1 and len(weight) == before[1] else weight


def sparser(part: Part) -> Iterator[Part]:
    """The same with half of the elements that are not 0 yet made 0: the latter half, then the former."""
    positions = sorted({p for array in part.inputs.values() for p in _positions(array)})
    if len(positions) < 2:
        return
    middle = positions[len(positions) // 2]
    for is_former in (True, False):
        yield replace(part, inputs={name: _kept(array, middle, is_former) for name, array in part.inputs.items()})


def _positions(array: Array) -> list[float]:
    """Positions of the elements that are not 0, from 0 to 1."""
    return [float(index) / max(1, array.size) for index in np.flatnonzero(array)]


def _kept(array: Array, middle: float, is_former: bool) -> Array:
    share = np.arange(array.size) / max(1, array.size)
    inside = (share < middle) if is_former else (share >= middle)
    return np.asarray(np.where(inside.reshape(array.shape), array, 0), array.dtype)
