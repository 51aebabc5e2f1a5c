"""Element-wise operations and table look-up of CV18xx."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.arithmetic import truncating
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_UP, shift
from tdb_dap.targets.families.cv18xx import elements as op
from tdb_dap.targets.families.cv18xx.rows import is_float
from tdb_dap.targets.semantics.cv18xx import common
from tdb_dap.targets.semantics.cv18xx.common import refuse, tiu
from tdb_dap.targets.semantics.registry import Operation


@tiu("cvi.arith", op.MUL, op.MAC, op.ADD, op.SUB)
def calculate(x: Operation) -> Array | tuple[Array, ...]:
    """The result of one operation; mac adds the product to the old result."""
    f = x.fields
    refuse(f.res_add and f.sub != op.MAC, "an operation that adds to the old result")
    refuse(f.chl_quan and f.sub != op.MUL, "an operation that multiplies its result")
    if is_float(f):
        # A difference of floats is never rectified.
        return truncating.encode(_floats(x)) if f.sub == op.SUB else common.encoded(x, _floats(x))
    refuse(f.relu and f.sub == op.SUB, "a difference of integers that is rectified")
    left, right = common.integers(x, "left"), common.integers(x, "right")
    if f.sub in (op.ADD, op.SUB):
        return common.finished(x, left + right if f.sub == op.ADD else left - right)
    product = left * right
    if f.sub == op.MAC:
        return common.finished(x, product + (common.integers(x, "old") << f.left_shift))
    if f.chl_quan:
        multiplier = f.quan_m - (1 << 32) if f.quan_m >> 31 else f.quan_m
        return common.multiplied(x, product, multiplier, f.res_shift)
    return common.finished(x, product)


def _floats(x: Operation) -> Array:
    left, right = (truncating.operand(x[role].bits) for role in ("left", "right"))
    operation = x.fields.sub
    if operation == op.ADD:
        return left + right
    if operation == op.SUB:
        return left - right
    if operation == op.MUL:
        return left * right
    # Subnormals of the old result count.
    old = (x["old"].bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
    return truncating.add(truncating.multiply(left, right), old)


@tiu("cvi.arith", op.MAX, op.MIN)
def choose(x: Operation) -> Array | tuple[Array, ...]:
    """The larger or smaller number; of floats NaN if one is."""
    function = np.maximum if x.fields.sub == op.MAX else np.minimum
    if is_float(x.fields):
        left, right = (truncating.operand(x[role].bits) for role in ("left", "right"))
        return common.encoded(x, function(left, right))
    return common.limited(x, function(common.integers(x, "left"), common.integers(x, "right")))


@tiu("cvi.arith", op.GREATER_EQUAL)
def compare(x: Operation) -> Array | tuple[Array, ...]:
    """1 where left >= right, else 0; of floats NaN if one is."""
    if is_float(x.fields):
        left, right = (truncating.operand(x[role].bits) for role in ("left", "right"))
        numbers = (left >= right).astype(np.float32)
        return common.encoded(x, np.where(np.isnan(left + right), np.float32(np.nan), numbers))
    return common.limited(x, (common.integers(x, "left") >= common.integers(x, "right")).astype(np.int64))


@tiu("cvi.arith", op.SHIFT)
def shifted(x: Operation) -> Array | tuple[Array, ...]:
    """left * 2^right, right shifts rounded half up or cut off."""
    f = x.fields
    refuse(is_float(f), "a shift of floats")
    amount = common.integers(x, "right")
    refuse(np.any(np.abs(amount) > 31), "a shift by more than 31 bits")
    return common.limited(x, shift(common.integers(x, "left"), amount, HALF_UP if f.rshift_typ else DOWN))


@tiu("cvi.arith", *op.BITWISE)
def combine(x: Operation) -> Array | tuple[Array, ...]:
    """The bits of both operands, combined."""
    refuse(is_float(x.fields), "a combination of the bits of floats")
    function = {op.AND: np.bitwise_and, op.OR: np.bitwise_or, op.XOR: np.bitwise_xor}[x.fields.sub]
    return common.words(x, function(common.integers(x, "left"), common.integers(x, "right")))


@tiu("cvi.arith", op.COPY)
def copy(x: Operation) -> Array | tuple[Array, ...]:
    """The operand; of floats without subnormals, -0 and infinities."""
    if is_float(x.fields):
        return truncating.encode(truncating.operand(x["left"].bits))
    return common.words(x, common.integers(x, "left"))


@tiu("cvi.lut", op.MUL, op.LOOKUP)
def look_up(x: Operation) -> Array | tuple[Array, ...]:
    """Words of the table in the lane of each channel."""
    index, table = x["index"].bits & 0xFF, x["table"].bits
    lanes = np.arange(index.shape[1])[None, :, None, None] % table.shape[1]
    entries = table[0, lanes, 0, index]
    return entries if is_float(x.fields) else common.words(x, entries.astype(np.int64))
