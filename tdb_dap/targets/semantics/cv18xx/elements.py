"""Element-wise operations and table look-up of CV18xx."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import UI8, Array
from tdb_dap.targets.arithmetic import elements, look_ups, truncating
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_UP, shift, signed
from tdb_dap.targets.families.cv18xx import elements as op
from tdb_dap.targets.families.cv18xx.rows import is_float, is_wide
from tdb_dap.targets.kernel.constants import Operator
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
        of_floats = _floats_in_one_pass(x)
        if of_floats is not None:
            return of_floats
        # A difference of floats is never rectified.
        return truncating.encode(_floats(x)) if f.sub == op.SUB else common.encoded(x, _floats(x))
    refuse(f.relu and f.sub == op.SUB, "a difference of integers that is rectified")
    words = _in_one_pass(x)
    if words is not None:
        return words
    left, right = common.integers(x, "left"), common.integers(x, "right")
    if f.sub in (op.ADD, op.SUB):
        return common.finished(x, left + right if f.sub == op.ADD else left - right)
    product = left * right
    if f.sub == op.MAC:
        total = product + (common.integers(x, "old") << f.left_shift)
        return common.finished(x, total.astype(np.int32).astype(total.dtype))  # sums of 32 bits wrap around
    if f.chl_quan:
        return common.multiplied(x, product, signed(f.quan_m, 32), f.res_shift)
    return common.finished(x, product)


_LARGEST_SHIFT = 15
"""Of 16 bits to the left, so that a product of 8 bits may be added within 32 bits."""

_OPERATORS = {
    op.MUL: Operator.MULTIPLY,
    op.ADD: Operator.ADD,
    op.SUB: Operator.SUBTRACT,
    op.MAX: Operator.LARGER,
    op.MIN: Operator.SMALLER,
    op.GREATER_EQUAL: Operator.GREATER_OR_EQUAL,
    op.AND: Operator.AND,
    op.OR: Operator.OR,
    op.XOR: Operator.EXCLUSIVE_OR,
}


def _in_one_pass(x: Operation) -> Array | tuple[Array, ...] | None:
    """The words of integers where the kernel does it all at once."""
    f = x.fields
    if f.sub == op.MAC:
        return _product_added(x)
    if f.chl_quan and f.sub == op.MUL:
        refuse(f.res_shift > 31, "a shift above 31")
        steps = replace(common.multiplying(f), multiplier=signed(f.quan_m, 32), amount=-f.res_shift)
    else:
        steps = common.shifting(f)
    return common.in_one_pass(x, _OPERATORS[f.sub], steps)


def _product_added(x: Operation) -> Array | tuple[Array, ...] | None:
    if "left_high" in x or "right_high" in x or x.fields.left_shift > _LARGEST_SHIFT:
        return None
    left, right, low, high = [x[role].stored for role in ("left", "right", "old", "old_high")]
    steps, planes = common.shifting(x.fields), range(1 + is_wide(x.fields, "res0"))
    shift = x.fields.left_shift
    return common.as_result([elements.integers_added(left, right, low, high, shift, steps, plane) for plane in planes])


def _floats_in_one_pass(x: Operation) -> Array | None:
    """The words of bfloat16 where the kernel does it all at once."""
    sub, roles = x.fields.sub, ("left", "right", "old") if x.fields.sub == op.MAC else ("left", "right")
    operator = Operator.MULTIPLY_ADD if sub == op.MAC else _OPERATORS[sub]
    rectifies = bool(x.fields.relu and sub != op.SUB)
    return elements.truncating(operator, *[x[role].stored for role in roles], rectifies=rectifies)


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
        in_one_pass = _floats_in_one_pass(x)
        if in_one_pass is not None:
            return in_one_pass
        left, right = (truncating.operand(x[role].bits) for role in ("left", "right"))
        return common.encoded(x, function(left, right))
    words = common.in_one_pass(x, _OPERATORS[x.fields.sub], Steps(DOWN, limits=common.limits_of(x.fields)))
    if words is not None:
        return words
    return common.limited(x, function(common.integers(x, "left"), common.integers(x, "right")))


@tiu("cvi.arith", op.GREATER_EQUAL)
def compare(x: Operation) -> Array | tuple[Array, ...]:
    """1 where left >= right, else 0; of floats NaN if one is."""
    if is_float(x.fields):
        in_one_pass = _floats_in_one_pass(x)
        if in_one_pass is not None:
            return in_one_pass
        left, right = (truncating.operand(x[role].bits) for role in ("left", "right"))
        numbers = (left >= right).astype(np.float32)
        return common.encoded(x, np.where(np.isnan(left + right), np.float32(np.nan), numbers))
    words = common.in_one_pass(x, Operator.GREATER_OR_EQUAL, Steps(DOWN, limits=common.limits_of(x.fields)))
    if words is not None:
        return words
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
    words = common.in_one_pass(x, _OPERATORS[x.fields.sub], Steps(DOWN))
    if words is not None:
        return words
    function = {op.AND: np.bitwise_and, op.OR: np.bitwise_or, op.XOR: np.bitwise_xor}[x.fields.sub]
    return common.words(x, function(common.integers(x, "left"), common.integers(x, "right")))


@tiu("cvi.arith", op.COPY)
def copy(x: Operation) -> Array | tuple[Array, ...]:
    """The operand; of floats without subnormals, -0 and infinities."""
    if is_float(x.fields):
        in_one_pass = elements.truncating(Operator.FIRST, x["left"].stored)
        return truncating.encode(truncating.operand(x["left"].bits)) if in_one_pass is None else in_one_pass
    words = common.in_one_pass(x, Operator.FIRST, Steps(DOWN))
    return common.words(x, common.integers(x, "left")) if words is None else words


@tiu("cvi.lut", op.MUL, op.LOOKUP)
def look_up(x: Operation) -> Array | tuple[Array, ...]:
    """Words of the table in the lane of each channel."""
    planned = look_ups.looked_up_by_lane(x["table"].stored, x["index"].stored.part(UI8, 0))
    if planned is not None and (is_float(x.fields) or not is_wide(x.fields, "res0")):
        return planned
    index, table = x["index"].bits & 0xFF, x["table"].bits
    lanes = np.arange(index.shape[1])[None, :, None, None] % table.shape[1]
    entries = table[0, lanes, 0, index]
    return entries if is_float(x.fields) else common.words(x, entries.astype(np.int64))
