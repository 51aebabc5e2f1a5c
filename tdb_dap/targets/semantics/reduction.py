"""Reduction over rows and columns. Source: probing and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.families import reduction as op
from tdb_dap.targets.semantics.numerics import float32
from tdb_dap.targets.semantics.numerics.halves import calculated
from tdb_dap.targets.semantics.registry import Operation, semantics


@semantics("reduce", op.SUM, op.SUM_OF_POWERS)
def total(x: Operation) -> Array:
    """Sum over the rows and columns of a channel of its numbers or their squares, in the format of the result.

    Execution unit i of u (as many numbers as it takes at once) adds the numbers i, i + u, i + 2u ... in two
    accumulators by turns, then both; the units' sums are added in pairs: 0 + 1, 2 + 3 ..., then pairs of pairs.
    """
    f, source, dtype = x.fields, x["input"], x.dtype
    if not source.dtype.is_float or not dtype.is_float:
        raise NotSimulated(f"the sum of {source.dtype} numbers as {dtype} is not known")
    if f.relu or f.sym_range or x.shape != (*source.bits.shape[:2], 1, 1):
        raise NotSimulated("a sum over other axes than rows and columns, rectified or limited, is not known")
    numbers = float32.operand(source.numbers, source.dtype).reshape(*x.shape[:2], -1)
    if f.sub == op.SUM_OF_POWERS:
        numbers = float32.product_in(numbers, numbers, dtype)
    units = f.geometry.eu_bytes // dtype.itemsize
    rounds = -(-numbers.shape[2] // (2 * units))
    padded = np.zeros((*x.shape[:2], 2 * units * rounds), np.float32)
    padded[..., : numbers.shape[2]] = numbers
    turns = padded.reshape(*x.shape[:2], rounds, 2 * units)
    sums = float32.round_to(turns[:, :, 0], dtype)
    for turn in range(1, rounds):
        sums = _add(sums, turns[:, :, turn], x)
    sums = _add(sums[..., :units], sums[..., units:], x)
    while sums.shape[2] > 1:
        sums = _add(sums[..., ::2], sums[..., 1::2], x)
    return calculated(sums.reshape(x.shape), dtype)


def _add(a: Array, b: Array, x: Operation) -> Array:
    return float32.round_to(float32.add(np.ascontiguousarray(a), np.ascontiguousarray(b)), x.dtype)
