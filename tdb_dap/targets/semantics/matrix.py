"""Matrix multiplication. Source: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tdb_dap.engine.dtypes import F32, Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.families import matrix as op
from tdb_dap.targets.families.fields import Fields
from tdb_dap.targets.semantics import float32
from tdb_dap.targets.semantics.dot import grouped, interleaved
from tdb_dap.targets.semantics.integers import exact_product, saturate
from tdb_dap.targets.semantics.registry import Operation, Value, semantics


def _spread(value: Value, shape: tuple[int, int]) -> Array:
    return np.broadcast_to(value.numbers.reshape(1, 1), shape) if value.is_constant else value.numbers


@semantics("mm", 1)
def multiply(x: Operation) -> Array:
    """result = left x right + bias + old.

    f32: two interleaved accumulators over [bias, old, products by k]. 8 bit: exact, saturated into 8 and 16 bits.
    """
    f = x.fields
    left = _spread(x["left"], (op.left_rows(f), op.left_columns(f)))
    left = left.T if f.left_tran else left
    right = x["right"].numbers
    old = x.get("old")
    if x["left"].dtype is F32:
        bias = x["bias"].numbers.reshape(1, -1)
        return x.dtype.encode(_float32_product(left, right, bias, None if old is None else old.numbers))
    if x["left"].dtype.is_float:
        raise NotSimulated(f"mm.normal on {x['left'].dtype} is not defined")
    total = exact_product(left, right)
    if old is not None:
        total = total + old.numbers.astype(np.int64)
    if x.dtype.itemsize == 4:
        return x.dtype.encode(total)
    signed = f.opd0_sign or f.opd1_sign
    return x.dtype.encode(saturate(total, f.tiu_dtype({1: 0, 2: 3}[x.dtype.itemsize], signed)))


def _float32_product(left: Array, right: Array, bias: Array, old: Array | None) -> Array:
    left, right, bias = float32.flush(left), float32.flush(right), float32.flush(bias)
    before = None if old is None else float32.flush(old)
    terms: list[tuple[Array, ...]] = [(left, right), (bias,)]
    normal = float32.stays_normal(*terms, *([(before,)] if before is not None else []))

    def factors() -> Iterator[tuple[Array, Array]]:
        for k in range(left.shape[1]):
            yield left[:, k][:, None], right[k][None]

    return interleaved(bias, before, factors(), (left.shape[0], right.shape[1]), normal)


@semantics("mm2", op.NN, op.NT, op.TT)
def multiply_on_lanes(x: Operation) -> Array:
    """nn: left x right; nt: left x right^T; tt: right x left.

    f32: two interleaved accumulators; f16, bf16: exact sums per group of channels, added in float32. 8 bit: the zero
    point is subtracted from the right operand; results of 32 bits wrap, others saturate.
    """
    f = x.fields
    left, right = x["left"], x["right"]
    a = _spread(left, _shape(f, "left"))
    b = _spread(right, _shape(f, "right"))
    if f.sub == op.NT:
        b = b.T
    old = x.get("old")
    if left.dtype.is_float:
        if f.sub == op.TT:
            a, b = b, a
        before = None if old is None else old.numbers
        if left.dtype is F32:
            return x.dtype.encode(_float32_product(a, b, np.zeros((1, 1), np.float32), before))
        return x.dtype.encode(_grouped_product(a, b, before, x.rules.channel_group))
    zero = _zero_points(x)
    a, b = a.astype(np.int64), b.astype(np.int64)
    a, b = (b - zero, a) if f.sub == op.TT else (a, b - zero)
    total = exact_product(a, b)
    if old is not None:
        total = total + old.numbers.astype(np.int64)
    return x.dtype.encode(total if x.dtype.itemsize == 4 else saturate(total, x.dtype))


def _shape(f: Fields, side: str) -> tuple[int, int]:
    return op.left_shape(f) if side == "left" else op.right_shape(f)


def _zero_points(x: Operation) -> Array:
    """One number per result column (tt: row); the row of columns is the same on every lane."""
    zero = x["zero_point"]
    if zero.is_constant:
        return zero.numbers.astype(np.int64).reshape(1, 1)
    if x.fields.sub == op.TT:
        return zero.numbers.astype(np.int64).reshape(-1, 1)
    rows = zero.numbers[0, :, 0, :].astype(np.int64)
    if (rows != rows[:1]).any():
        raise NotSimulated("mm2 whose zero points differ between lanes is not known")
    return rows[:1]


def _grouped_product(left: Array, right: Array, old: Array | None, group: int) -> Array:
    total = np.zeros((left.shape[0], right.shape[1]), np.float32)
    if old is not None:
        total = float32.add(total, old)
    for first in range(0, left.shape[1], group):
        part = grouped(left[:, first : first + group].T, right[first : first + group])
        total = float32.add(total, part)
    return total
