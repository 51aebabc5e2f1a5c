"""Element-wise arithmetic. Source of every rule: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import (
    BF16,
    F8E4M3,
    F8E5M2,
    F32,
    SI8,
    SI16,
    SI32,
    UI8,
    UI16,
    UI32,
    Array,
    DType,
)
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import elements, float32
from tdb_dap.targets.arithmetic.halves import calculated
from tdb_dap.targets.arithmetic.requantisation import UNLIMITED, Steps
from tdb_dap.targets.arithmetic.rounding import convert, converted_at_once, to_float8
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_EVEN, HALF_UP, saturate, shift, stepped
from tdb_dap.targets.arithmetic.stored import Stored, Value
from tdb_dap.targets.families import arithmetic as op
from tdb_dap.targets.kernel.constants import LARGEST_STORED_SHIFT, Condition, Limit, Operator
from tdb_dap.targets.semantics.finish import finite_half
from tdb_dap.targets.semantics.registry import Operation, copies, semantics


@copies
@semantics("arith", op.COPY, op.COPY_BATCH)
def copy(x: Operation) -> Array:
    """result = left, bit by bit; copyMb repeats batch 0."""
    if x.fields.sub == op.COPY_BATCH and x.fields.tsk_opd_num > 1:
        raise NotSimulated("copyMb of more than one operand is not known: the vendor's simulator answers at random")
    return elements.same(x["left"].stored)


FLOATS8 = (F8E4M3, F8E5M2)


@semantics("arith", op.CAST)
def cast(x: Operation) -> Array:
    """result = left converted by round mode; see ``rounding.convert``."""
    left, limit = x["left"], _limit_of_cast(x)
    at_once = converted_at_once(left.stored, x.dtype, x.fields.opd2_n_str, limit)
    if at_once is not None:
        return at_once if limit else _limited_cast(x, at_once)
    if left.dtype.kind in "iu" and left.dtype.bits == 8 and left.bits.size > _BYTES.size:
        return _cast(x, _BYTES)[left.bits]
    return _cast(x, left.bits)


_BYTES = np.arange(1 << 8, dtype=np.uint8)


def _limit_of_cast(x: Operation) -> Limit:
    """Treatment of results of 16-bit floats that ``sym_range`` asks for."""
    rules = x.rules
    if not x.fields.sym_range or x["left"].dtype is not F32 or x.dtype.name not in ("f16", "bf16"):
        return Limit.KEEPS_ALL
    if x.dtype.name in rules.finite_casts:
        return Limit.KEEPS_NONE
    return Limit.KEEPS_NAN if rules.symmetric_casts and rules.symmetric_floats else Limit.KEEPS_ALL


def _cast(x: Operation, bits: Array) -> Array:
    rules, left = x.rules, x["left"]
    words = convert(
        bits,
        left.dtype,
        x.dtype,
        x.fields.opd2_n_str,
        rules.overflow_to_infinity,
        rules.casts_halves,
        saturates=bool(x.fields.sym_range),
    )
    return _limited_cast(x, words)


def _limited_cast(x: Operation, words: Array) -> Array:
    left, rules = x["left"], x.rules
    if (left.dtype is F32 or not left.dtype.is_float) and x.fields.sym_range and x.dtype.name in rules.finite_casts:
        return finite_half(words, x.dtype)
    # Between floats only float32 is limited; to_float8 has seen to the 8-bit floats.
    kept = left.dtype.is_float and x.dtype.is_float and (left.dtype is not F32 or x.dtype in (F32, *FLOATS8))
    return words if kept or not rules.symmetric_casts else symmetric(x, words)


def symmetric(x: Operation, words: Array) -> Array:
    """Stored words limited as ``sym_range`` says: the most negative integer is left out.

    With ``symmetric_floats`` infinities become the largest finite number.
    """
    if not x.fields.sym_range or (x.dtype.itemsize == 4 and x.rules.keeps_least_word):
        return words
    if x.dtype.kind == "i":
        return x.dtype.encode(np.maximum(x.dtype.decode(words).astype(np.int64), -x.dtype.maximum))
    if not x.dtype.is_float or not x.rules.symmetric_floats:
        return words
    return _finite(x, words)


def _finite(x: Operation, words: Array) -> Array:
    """Stored words in which the largest finite numbers, the words before those of infinities, stand for these."""
    return np.where(np.isinf(x.dtype.decode(words)), words - words.dtype.type(1), words)


@semantics("arith", op.NOT)
def invert(x: Operation) -> Array:
    """result = ~left, of the number in the width of the result."""
    x.require_integers("left")
    return x.dtype.encode(~x["left"].numbers.astype(np.int64))


_MOST_SHIFTED = LARGEST_STORED_SHIFT
"""Largest amount of a shift of 32 bits."""

_SIGNED, _UNSIGNED = {1: SI8, 2: SI16, 4: SI32}, {1: UI8, 2: UI16, 4: UI32}
_BITWISE = {op.AND: Operator.AND, op.OR: Operator.OR, op.XOR: Operator.EXCLUSIVE_OR}


@semantics("arith", op.AND, op.OR, op.XOR)
def bitwise(x: Operation) -> Array:
    """and, or, xor of the stored words."""
    x.require_integers("left", "right")
    at_once = elements.bitwise(_BITWISE[x.fields.sub], x["left"].stored, x["right"].stored, x.dtype.itemsize)
    if at_once is not None:
        return at_once
    function = {op.AND: np.bitwise_and, op.OR: np.bitwise_or, op.XOR: np.bitwise_xor}[x.fields.sub]
    return function(x["left"].bits, x["right"].bits).astype(x.dtype.bits_dtype)


@semantics("arith", op.ABSOLUTE)
def absolute(x: Operation) -> Array:
    """result = |left|; the sign bit of floats is cleared.

    Subnormals stay, but f32 and bf16 where ``flushes_absolute``.
    """
    left = x["left"]
    if left.dtype.itemsize != x.dtype.itemsize:
        raise NotSimulated(f"the absolute value of {left.dtype} as {x.dtype} is not known")
    if left.dtype is x.dtype and left.dtype.name in _LEAST_NORMAL:
        words = elements.magnitudes(left.stored, x.rules.flushes_absolute)
        return _magnitudes(left, x.rules.flushes_absolute) if words is None else words
    if left.dtype.is_float:
        size = np.abs(left.numbers)
        return x.dtype.encode(float32.compared(size, left.dtype) if x.rules.flushes_absolute else size)
    return x.dtype.encode(np.abs(left.numbers.astype(np.int64)))


_LEAST_NORMAL = {"f32": 0x00800000, "f16": 0, "bf16": 0x0080}
"""Words of the least numbers that absolute values keep where they make zeros of subnormals."""


def _magnitudes(value: Value, is_flushed: bool) -> Array:
    """Words of floats without their signs: a NaN keeps what else it holds."""
    words = value.bits & ((1 << (value.dtype.bits - 1)) - 1)
    least = _LEAST_NORMAL[value.dtype.name] if is_flushed else 0
    return np.where(words < least, 0, words).astype(value.bits.dtype)


@semantics("arith", op.LEADING_ZEROS, op.LEADING_ONES)
def count_leading(x: Operation) -> Array:
    """Number of leading zeros (ones) of the word."""
    x.require_integers("left")
    left = x["left"]
    width = 8 * left.dtype.itemsize
    words = left.bits.astype(np.int64)
    if x.fields.sub == op.LEADING_ONES:
        words = ~words & ((1 << width) - 1)
    top = np.where(words > 0, np.floor(np.log2(np.maximum(words, 1).astype(np.float64))).astype(np.int64) + 1, 0)
    return x.dtype.encode(width - top)


def conditions(left: Value, right: Value) -> tuple[Array, Array, Array]:
    """(greater, equal, less) of two operands.

    Floats: equal means the same bits; greater is a > b as numbers (float32 and bf16 subnormals as zero); less is what
    is neither "not less" nor equal, so NaN against anything else is less and +0 against -0 is none of the three.
    """
    if left.dtype.is_float:
        equal = left.bits == right.bits
        a = float32.compared(left.numbers, left.dtype)
        b = float32.compared(right.numbers, right.dtype)
    else:
        a, b = left.numbers.astype(np.int64), right.numbers.astype(np.int64)
        equal = a == b
    return (a > b) & ~equal, equal, ~(a >= b) & ~equal


@semantics("arith", op.SELECT_GREATER, op.SELECT_EQUAL, op.SELECT_LESS)
def select(x: Operation) -> Array:
    """condition(left, right) ? third : 0."""
    third, zero = x["third"], Stored(np.zeros((1, 1, 1, 1), x.dtype.bits_dtype), x.dtype)
    if third.dtype.itemsize == x.dtype.itemsize:
        sides = x["left"].stored, x["right"].stored
        at_once = elements.selected(_CONDITIONS[x.fields.sub], *sides, third.stored, zero)
        if at_once is not None:
            return at_once
    greater, equal, less = conditions(x["left"], x["right"])
    chosen = {op.SELECT_GREATER: greater, op.SELECT_EQUAL: equal, op.SELECT_LESS: less}[x.fields.sub]
    return np.where(chosen, third.bits.astype(x.dtype.bits_dtype), zero.bits)


_CONDITIONS = {
    op.SELECT_GREATER: Condition.IS_GREATER,
    op.SELECT_EQUAL: Condition.IS_EQUAL,
    op.SELECT_LESS: Condition.IS_LESS,
}


@semantics("arith", op.MUL, op.ADD, op.SUB, op.MAX, op.MIN, op.DIVIDE, op.DISTANCE, op.MAC)
@semantics("arith", op.ADD_SATURATE, op.SUB_SATURATE, op.MUL_SATURATE)
def calculate(x: Operation) -> Array:
    """Arithmetic of two operands.

    Floats: one operation in float32, rounded to the result format. Integers: exact; with a third operand shifted by it
    (negative: right, rounded by mode); wrapped, or saturated in the saturating forms.
    """
    if x["left"].dtype.is_float:
        old = x["old"].numbers if x.fields.sub == op.MAC else None
        if x.dtype.itemsize == 1 and x["right"].dtype.itemsize > 1:
            raise NotSimulated(f"{x.dtype} results of {x['left'].dtype} and {x['right'].dtype} are not known")
        is_mixed = x.fields.sub in (op.MAX, op.MIN) and x["right"].dtype is not x["left"].dtype
        if x["right"].dtype in FLOATS8 and (is_mixed or x["left"].dtype.itemsize > 1):
            raise NotSimulated(f"an operation on {x['left'].dtype} and {x['right'].dtype} is not known")
        if x.fields.sub == op.DIVIDE:
            at_once = _divide_words(x)
            words = calculated(_divide(x), x.dtype) if at_once is None else at_once
            return finite_half(words, x.dtype) if _is_finite(x) else words
        at_once = _in_one_pass(x)
        if at_once is None:
            numbers = floats(x.fields.sub, x["left"], x["right"], old)
            if x.fields.sub == op.DISTANCE and x.rules.signs_distance:
                numbers = _signed_distance(x)
            if x.dtype.itemsize == 1 and x.fields.sub in (op.MUL, op.ADD, op.SUB):
                return to_float8(numbers, x.dtype, HALF_EVEN, saturates=bool(x.fields.sym_range))
            at_once = encoded(x.fields.sub, numbers, x.dtype)
        words = at_once
        if x.fields.sub not in (op.MUL, op.ADD, op.SUB, op.DISTANCE, op.MAC):
            return words
        if _is_finite(x):
            return finite_half(words, x.dtype)
        return words if x.fields.sub in (op.DISTANCE, op.MAC) else symmetric(x, words)
    return _integers(x)


_OPERATORS = {
    op.ADD: Operator.ADD,
    op.SUB: Operator.SUBTRACT,
    op.MUL: Operator.MULTIPLY,
    op.MAX: Operator.LARGER,
    op.MIN: Operator.SMALLER,
}


def _in_one_pass(x: Operation) -> Array | None:
    """Words of a float result, as ``encoded`` gives them, where the kernel does it all at once."""
    kind = _OPERATORS.get(x.fields.sub)
    if kind is None:
        return None
    return elements.floats(kind, x["left"].stored, x["right"].stored, x.dtype)


def _signed_distance(x: Operation) -> Array:
    """right - left without the sign that a number less than zero has; a zero keeps its own.

    bf16: the sign is dropped before the difference is flushed.
    """
    left, right = (float32.operand(x[side].numbers, x[side].dtype) for side in ("left", "right"))
    difference = float32.subtract(*np.broadcast_arrays(right, left))
    is_negative = right < left if x["left"].dtype is BF16 else difference < 0
    return np.where(is_negative, -difference, difference)


def _is_finite(x: Operation) -> bool:
    """Whether ``sym_range`` makes the result finite."""
    return bool(x.fields.sym_range and x.dtype.name in x.rules.symmetric_halves)


def _divide_words(x: Operation) -> Array | None:
    """As ``_divide``, words of the format of both operands; None for several formats, and without the kernel."""
    left, right = x["left"], x["right"]
    if not left.dtype is right.dtype is x.dtype:
        return None
    return elements.divided(left.stored, right.stored, _newton_steps(x), x.dtype, x.rules.reciprocal)


def _newton_steps(x: Operation) -> int:
    return (x.fields.opd2_n_str & 3) + 1


def _divide(x: Operation) -> Array:
    """left / right by iter Newton steps, of which only the low two bits count; see ``float32.divide``."""
    left, right = np.broadcast_arrays(x["left"].numbers, x["right"].numbers)
    return float32.divide(left, right, _newton_steps(x), x["left"].dtype, x.rules.reciprocal)


def floats(sub: int, left: Value, right: Value, old: Array | None = None) -> Array:
    """One float operation on widened numbers; the result is not yet rounded to its format.

    max: a > b ? a : b; min: a >= b ? b : a, flushed except f16. mac: old + round(a * b).
    """
    # 8-bit floats are computed with in float32.
    dtype = left.dtype if left.dtype.itemsize > 1 else F32
    a, b = np.broadcast_arrays(float32.operand(left.numbers, dtype), float32.operand(right.numbers, dtype))
    if sub == op.MUL:
        return float32.product_in(a, b, dtype)
    if sub == op.ADD:
        return float32.add(a, b)
    if sub == op.SUB:
        return float32.subtract(a, b)
    if sub in (op.MAX, op.MIN):
        # Operands keep their subnormals until the end: which one is chosen depends on the flushed numbers.
        whole_a, whole_b = np.broadcast_arrays(left.numbers, right.numbers)
        a, b = float32.compared(whole_a, dtype), float32.compared(whole_b, dtype)
        chosen = np.where(a > b, whole_a, whole_b) if sub == op.MAX else np.where(a >= b, whole_b, whole_a)
        return float32.compared(chosen, dtype)
    if sub == op.DISTANCE:
        return np.abs(float32.subtract(a, b))
    if sub == op.MAC and old is not None:
        return float32.add(float32.operand(old, dtype), float32.product_in(a, b, dtype))
    raise NotSimulated(f"operation {sub} on {dtype} is not defined")


def encoded(sub: int, numbers: Array, dtype: DType) -> Array:
    """Stored words of a result of ``floats``: maximum and minimum are chosen, the others calculated."""
    return dtype.encode(numbers) if sub in (op.MAX, op.MIN) else calculated(numbers, dtype)


def _integers(x: Operation) -> Array:
    sub, dtype = x.fields.sub, x.dtype
    mode = x.fields.opd2_n_str
    third = x.get("third")
    if sub in _INTEGER_OPERATORS and dtype.itemsize in (1, 2, 4) and dtype.per_byte == 1:
        limits = _saturation_limits(x) if sub in _SATURATING else UNLIMITED
        moves = third is not None and sub not in (op.MAX, op.MIN)
        stored = {"amount": third.stored} if moves and third is not None else {}
        steps = Steps(mode if stored else DOWN, limits=limits, keeps_sign=sub in _SATURATING)
        left, right = x["left"].stored, x["right"].stored
        # Products of two 32-bit numbers that saturate may be beyond 64 bits.
        if sub != op.MUL_SATURATE or left.bits.itemsize + right.bits.itemsize < 8:
            words = elements.integers(_INTEGER_OPERATORS[sub], left, right, steps, dtype.itemsize, **stored)
            if words is not None:
                return words
    a, b = x["left"].numbers.astype(np.int64), x["right"].numbers.astype(np.int64)
    if sub == op.MAC:
        return _multiply_accumulate(x, a, b, mode)
    amount = np.zeros(1, np.int64) if third is None else third.numbers.astype(np.int64)
    if third is not None and not third.is_constant and sub not in (op.MAX, op.MIN) and amount.max() > _MOST_SHIFTED:
        raise NotSimulated(f"a number that is shifted to the left by {int(amount.max())} bits is not known")
    if sub == op.MUL_SATURATE:
        total, is_half = _product(a, b)
        amount = np.where(is_half, np.minimum(amount + 1, 0), amount)
    else:
        total = integer_operation(sub, a, b)
    if third is not None and sub not in (op.MAX, op.MIN):
        total = stepped(total, Steps(mode, amount=amount, keeps_sign=sub in _SATURATING))
    return dtype.encode(np.clip(total, *_saturation_limits(x)) if sub in _SATURATING else total)


_INTEGER_OPERATORS = {
    **_OPERATORS,
    op.ADD_SATURATE: Operator.ADD,
    op.SUB_SATURATE: Operator.SUBTRACT,
    op.MUL_SATURATE: Operator.MULTIPLY,
}
_SATURATING = (op.ADD_SATURATE, op.SUB_SATURATE, op.MUL_SATURATE)


def _saturation_limits(x: Operation) -> tuple[int, int]:
    """Least and greatest result of a saturating form."""
    limits = saturation_range(x)
    is_symmetric = x.fields.sym_range and limits.kind == "i" and not (x.rules.keeps_least_word and limits.itemsize == 4)
    return -limits.maximum if is_symmetric else limits.minimum, limits.maximum


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    """Products of integers, and where it is half of them.

    A product of two unsigned 32-bit numbers may be beyond int64: half of it, with a last bit that is not lost.
    """
    wide = a.astype(np.uint64) * b.astype(np.uint64)
    is_half = (a > 0) & (b > 0) & (wide >= np.uint64(1 << 63))
    half = (wide >> np.uint64(1) | wide & np.uint64(1)).astype(np.int64)
    return np.where(is_half, half, a * b), is_half.astype(np.int64)


def integer_operation(sub: int, a: Array, b: Array) -> Array:
    """One exact integer operation in int64."""
    if sub in (op.MUL, op.MUL_SATURATE):
        return a * b
    if sub in (op.ADD, op.ADD_SATURATE):
        return a + b
    if sub in (op.SUB, op.SUB_SATURATE):
        return a - b
    if sub == op.MAX:
        return np.maximum(a, b)
    if sub == op.MIN:
        return np.minimum(a, b)
    raise NotSimulated(f"operation {sub} on integers is not defined")


def saturation_range(x: Operation) -> DType:
    """The result's width; signed if an operand is, and always for differences."""
    signed = x["left"].dtype.kind == "i" or x["right"].dtype.kind == "i" or x.fields.sub == op.SUB_SATURATE
    return (_SIGNED if signed else _UNSIGNED)[x.dtype.itemsize]


def _multiply_accumulate(x: Operation, a: Array, b: Array, mode: int) -> Array:
    """(a*b + (old << low byte)) >> high byte of the third operand, rounded; i8 into i16 saturates."""
    amounts = x["third"].bits.astype(np.int64)
    low, high = amounts & 255, amounts >> 8
    if int(np.max(low)) > 31 or int(np.max(high)) > 62:
        raise NotSimulated("mac with shifts beyond the word is not known")
    total = shift(a * b + (x["old"].numbers.astype(np.int64) << low), -high, mode)
    if x["left"].dtype.itemsize == 1 and x.dtype.itemsize == 2:
        total = saturate(total, saturation_range(x))
    return x.dtype.encode(total)


@semantics("arith", op.MUL_CAST)
def multiply_and_cast(x: Operation) -> Array:
    """result = left * right in float32, converted by round mode as a cast does."""
    left, right = x["left"].dtype, x["right"].dtype
    if x.fields.tsk_opd_num != 2 or (left, right) != (F32, F32) or not x.dtype.is_float or x.dtype.itemsize != 2:
        raise NotSimulated(f"mul_cast of {left} and {right} to {x.dtype} is not known")
    if x.fields.opd2_n_str == HALF_UP:
        raise NotSimulated("mul_cast with round mode half up is not known")
    product = encoded(op.MUL, floats(op.MUL, x["left"], x["right"]), F32)
    return _cast(x, product)


@semantics("arith", op.CLAMP)
def clamp(x: Operation) -> Array:
    """The number of left, or the limit that it is beyond: right or third; all flushed except f16. NaN gives right."""
    left = x["left"]
    if left.dtype.is_float:
        number, low, high = (float32.compared(x[role].numbers, left.dtype) for role in ("left", "right", "third"))
    else:
        number, low, high = (x[role].numbers.astype(np.int64) for role in ("left", "right", "third"))
    raised = np.where(number > low, number, low)
    return x.dtype.encode(np.where(raised >= high, high, raised))


@semantics("arith", op.LOGIC_SHIFT, op.ARITHMETIC_SHIFT, op.ROTATE)
def shift_words(x: Operation) -> Array:
    """left shifted by right: positive to the left, negative to the right with rounding.

    logicShift takes left as unsigned; cshift: see ``_rotated``. Amounts have a sign; see ``Rules.loses_shifted``, too.
    """
    x.require_integers("left", "right")
    left, right = x["left"], x["right"]
    half = 1 << right.dtype.bits - 1
    amount = (right.numbers.astype(np.int64) + half) % (2 * half) - half
    if x.fields.sub != op.ROTATE and right.is_constant:
        at_once = _shifted_by_constant(x, int(amount.reshape(-1)[0]))
        if at_once is not None:
            return at_once
    unsigned = left.bits.astype(np.int64)
    if x.fields.sub == op.ROTATE:
        return x.dtype.encode(_rotated(x, unsigned, amount))
    numbers = unsigned if x.fields.sub == op.LOGIC_SHIFT else left.numbers.astype(np.int64)
    known = np.where(amount > 0, amount & _MOST_SHIFTED, np.maximum(amount, -60))
    is_lost = x.rules.loses_shifted & (amount > _MOST_SHIFTED)
    return x.dtype.encode(np.where(is_lost, 0, shift(numbers, known, x.fields.opd2_n_str)))


def _shifted_by_constant(x: Operation, amount: int) -> Array | None:
    """The low bytes of words shifted by one amount, by the kernel; None where NumPy has to do it."""
    stored = x["left"].stored
    if abs(amount) > _MOST_SHIFTED or x.dtype.itemsize > 4 or x.dtype.is_float:
        return None
    words = stored._replace(dtype=_UNSIGNED[stored.dtype.itemsize]) if x.fields.sub == op.LOGIC_SHIFT else stored
    return elements.integers(Operator.FIRST, words, words, Steps(x.fields.opd2_n_str, amount=amount), x.dtype.itemsize)


def _rotated(x: Operation, words: Array, amount: Array) -> Array:
    """Words rotated inside their width by the remainder of the amount; by more than the width nothing is left."""
    width = 8 * x.dtype.itemsize
    if x.dtype.itemsize != x["left"].dtype.itemsize:
        raise NotSimulated("rotation into another width is not known")
    amount = np.fmod(amount, x.rules.rotation_period or width)
    turn = amount % width
    return np.where(np.abs(amount) > width, 0, (words << turn) | (words >> (width - turn)))


@semantics("arith", op.MUL_HIGH)
def multiply_high(x: Operation) -> Array:
    """Upper half of the doubled product: saturate(round(a * b / 2^(width-1))), by the width of the result."""
    x.require_integers("left", "right")
    left, right = x["left"], x["right"]
    product, is_half = _product(left.numbers.astype(np.int64), right.numbers.astype(np.int64))
    rounded = shift(product, is_half - (8 * x.dtype.itemsize - 1), x.fields.opd2_n_str)
    return x.dtype.encode(saturate(rounded, saturation_range(x)))
