"""Element-wise arithmetic of BM1684. Source of every rule: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import F32, SI16, SI32, UI16, UI32, Array
from tdb_dap.targets.arithmetic import elements, float32
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.shifts import HALF_UP
from tdb_dap.targets.arithmetic.stored import Stored, Value
from tdb_dap.targets.families.bm1684 import arithmetic as op
from tdb_dap.targets.kernel.constants import Condition, Operator, Reciprocal
from tdb_dap.targets.semantics.bm1684.common import refuse, refuse_repeated_batch, shift_steps, shifted, tiu
from tdb_dap.targets.semantics.registry import Operation, copies

NEWTON_STEPS = 3


@copies
@tiu("bm1684.arith", op.COPY)
def copy(x: Operation) -> Array:
    """result = left, bit by bit."""
    _refuse_repeated(x)
    refuse(x["left"].dtype.itemsize != x.dtype.itemsize, "a copy into another width")
    return elements.same(x["left"].stored)


@tiu("bm1684.arith", op.MUL, op.MAC, op.ADD, op.SUB, op.MAX, op.MIN, op.DIVIDE)
def calculate(x: Operation) -> Array:
    """float32: one operation, see ``floats``; mac: old + round(left * right).

    8- and 16-bit integers: exact, then shifted right half up and saturated; mac adds the old result, shifted left, to
    the product.
    """
    refuse(x.fields.res_add, "tensor arithmetic that adds to the old result")
    if x["left"].dtype is not F32:
        return _integers(x)
    words = _product_added(x) if x.fields.sub == op.MAC else _in_one_pass(x)
    if words is not None:
        return words
    product_or_sum = floats(op.MUL if x.fields.sub == op.MAC else x.fields.sub, x["left"], x["right"])
    return x.dtype.encode(_added_to_old(x, product_or_sum) if x.fields.sub == op.MAC else product_or_sum)


@tiu("bm1684.scalar", op.MUL, op.ADD, op.SUB, op.DIVIDE)
def calculate_aligned(x: Operation) -> Array:
    """float32: one operation; mul: added to the old result if the command says so."""
    refuse(x["left"].dtype is not F32, "md scalar on integers")
    refuse(x.fields.res_add and x.fields.sub != op.MUL, "md scalar other than mul that adds to the old result")
    words = _product_added(x) if x.fields.res_add else _in_one_pass(x)
    if words is not None:
        return words
    values = floats(x.fields.sub, x["left"], x["right"])
    return x.dtype.encode(_added_to_old(x, values) if x.fields.res_add else values)


_OPERATORS = {
    op.MUL: Operator.MULTIPLY,
    op.ADD: Operator.ADD,
    op.SUB: Operator.SUBTRACT,
    op.MAX: Operator.LARGER,
    op.MIN: Operator.SMALLER,
}


def _in_one_pass(x: Operation) -> Array | None:
    """Words of a float32 result, as ``floats`` gives them, where the kernel does it all at once."""
    left, right, sub = x["left"].stored, x["right"].stored, x.fields.sub
    if x.dtype is not F32 or right.dtype is not F32:
        return None
    if sub == op.DIVIDE:
        return elements.divided(left, right, NEWTON_STEPS, F32, Reciprocal.BY_FORMULA, is_flushed=True)
    if sub == op.MIN:  # a <= b ? a : b, and b where a NaN is
        return elements.selected(Condition.IS_LESS, right, left, right, left)
    operator = _OPERATORS.get(sub)
    return None if operator is None else elements.floats(operator, left, right, F32)


def _product_added(x: Operation) -> Array | None:
    """Words of old + left * right of float32, where the kernel does it all at once."""
    if x.dtype is not F32:
        return None
    return elements.products_added(x["left"].stored, x["right"].stored, x["old"].stored, True)


def _added_to_old(x: Operation, numbers: Array) -> Array:
    return float32.add(float32.flush(x["old"].numbers), numbers)


def floats(sub: int, left: Value, right: Value) -> Array:
    """One operation in float32.

    max: a > b ? a : b, flushed; min: a <= b ? a : b, not flushed; divide: a * (1/sqrt(b))^2 with three Newton steps.
    """
    refuse(right.dtype is not F32, f"float32 and {right.dtype} in one operation")
    whole_a, whole_b = np.broadcast_arrays(left.numbers, right.numbers)
    a, b = float32.flush(whole_a), float32.flush(whole_b)
    if sub == op.MUL:
        return float32.multiply(a, b)
    if sub == op.ADD:
        return float32.add(a, b)
    if sub == op.SUB:
        return float32.subtract(a, b)
    if sub == op.MAX:
        return float32.flush(np.where(a > b, a, b))
    if sub == op.MIN:
        return np.where(a <= b, whole_a, whole_b)
    return float32.divide(a, b, NEWTON_STEPS, F32)


def _refuse_repeated(x: Operation) -> None:
    for role, prefix in (("left", "opd0"), ("right", "opd1")):
        operand = x.get(role)
        if operand is not None and operand.dtype.itemsize < 4:
            refuse_repeated_batch(x.fields, prefix)


def _integers(x: Operation) -> Array:
    f, left, right = x.fields, x["left"], x["right"]
    _refuse_repeated(x)
    refuse(left.dtype.itemsize != right.dtype.itemsize, f"{left.dtype} and {right.dtype} in one operation")
    refuse(max(left.dtype.itemsize, x.dtype.itemsize) > 2, "arithmetic of 32-bit integers")
    refuse(f.sub in (op.MUL, op.MAC) and left.dtype.itemsize > 1, "products of 16-bit integers")
    refuse(f.sub == op.MAC and x.dtype.itemsize == 1, "mac into 8 bits")
    refuse(f.sub in (op.MAX, op.MIN) and f.right_shift, "a right shift of a maximum or minimum")
    if f.sub in _OPERATORS and (f.sub not in (op.MAX, op.MIN) or left.dtype.itemsize == x.dtype.itemsize):
        steps = Steps(HALF_UP) if f.sub in (op.MAX, op.MIN) else shift_steps(x)
        words = elements.integers(_OPERATORS[f.sub], left.stored, right.stored, steps, x.dtype.itemsize)
        if words is not None:
            return words
    a, b = left.numbers.astype(np.int64), right.numbers.astype(np.int64)
    if f.sub in (op.MUL, op.MAC):
        total = a * b
        return shifted(x, total + (x["old"].numbers.astype(np.int64) << f.left_shift) if f.sub == op.MAC else total)
    if f.sub == op.ADD:
        return shifted(x, a + b)
    if f.sub == op.SUB:
        return shifted(x, a - b)
    refuse(f.sub == op.DIVIDE, "division of integers")
    refuse(left.dtype.itemsize != x.dtype.itemsize, f"the maximum or minimum of {left.dtype} as {x.dtype}")
    return x.dtype.encode(np.maximum(a, b) if f.sub == op.MAX else np.minimum(a, b))


@tiu("bm1684.arith", op.SELECT_GREATER, op.SELECT_EQUAL)
def select(x: Operation) -> Array:
    """condition(left, right) ? third : 0, of 32-bit words, whatever their format says.

    greater: as float32, subnormals as zero; equal: the same bits.
    """
    left, right = x["left"], x["right"]
    widths = {left.dtype.itemsize, right.dtype.itemsize, x.dtype.itemsize}
    refuse(widths != {4}, "a select of 8- or 16-bit numbers")
    condition = Condition.IS_EQUAL if x.fields.sub == op.SELECT_EQUAL else Condition.IS_GREATER
    zero = Stored(np.zeros((1, 1, 1, 1), np.uint32), F32)
    sides = left.of(F32).stored, right.of(F32).stored
    at_once = elements.selected(condition, *sides, x["third"].stored, zero)
    if at_once is not None:
        return at_once
    if x.fields.sub == op.SELECT_EQUAL:
        chosen = left.bits == right.bits
    else:
        chosen = float32.flush(left.bits.view(np.float32)) > float32.flush(right.bits.view(np.float32))
    return np.where(chosen, x["third"].bits, np.uint32(0))


_MOST_SHIFT = 31


@tiu("bm1684.arith", op.SHIFT)
def shift_words(x: Operation) -> Array:
    """left shifted by right: positive to the left, wrapped; negative to the right, truncated.

    The amount is the low byte of the right operand. ``arithmetic`` alone decides whether the sign is drawn in; that of
    the operand does not matter.
    """
    f, left = x.fields, x["left"]
    _refuse_repeated(x)
    width = left.dtype.itemsize
    refuse(width == 1 or left.dtype.is_float or x.dtype.itemsize != width, f"shifts of {left.dtype} into {x.dtype}")
    refuse(f.right_shift or f.res_add, "a shift with a further shift or sum")
    amount = (x["right"].bits & 0xFF).astype(np.uint8).view(np.int8).astype(np.int64)
    refuse(width == 4 and bool((np.abs(amount) > _MOST_SHIFT).any()), "a shift of 32 bits by more than 31")
    integers = {2: (UI16, SI16), 4: (UI32, SI32)}[width]
    numbers = integers[f.shift_typ].decode(left.bits).astype(np.int64)
    shifted_right = numbers >> np.maximum(-amount, 0)
    return x.dtype.encode(np.where(amount >= 0, numbers << np.maximum(amount, 0), shifted_right))


_BITWISE = {op.AND: Operator.AND, op.OR: Operator.OR, op.XOR: Operator.EXCLUSIVE_OR}


@tiu("bm1684.arith", op.AND, op.OR, op.XOR)
def bitwise(x: Operation) -> Array:
    """and, or, xor of the stored words."""
    _refuse_repeated(x)
    left, right = x["left"], x["right"]
    same = left.dtype.itemsize == right.dtype.itemsize == x.dtype.itemsize
    refuse(not same or left.dtype.is_float, f"bits of {left.dtype} and {right.dtype} into {x.dtype}")
    refuse(x.fields.right_shift or x.fields.res_add, "bits with a shift or sum")
    at_once = elements.bitwise(_BITWISE[x.fields.sub], left.stored, right.stored, x.dtype.itemsize)
    if at_once is not None:
        return at_once
    function = {op.AND: np.bitwise_and, op.OR: np.bitwise_or, op.XOR: np.bitwise_xor}[x.fields.sub]
    return function(left.bits, right.bits)
