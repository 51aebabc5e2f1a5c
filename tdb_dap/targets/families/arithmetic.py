"""Element-wise arithmetic."""

from __future__ import annotations

from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import SI8, UI16, DType
from tdb_dap.engine.hardware.views import Constant, Layout, Operand, View
from tdb_dap.targets.declaration.family import RESULT_SHAPE, Bound, constant, family, operand, result_
from tdb_dap.targets.declaration.fields import FLOAT8, Fields
from tdb_dap.targets.families.convolution import is_float
from tdb_dap.targets.families.formats import FLOATS, INT4, WORDS, named

MUL, NOT, ADD, SUB, MAX, MIN, LOGIC_SHIFT = 0, 1, 2, 3, 4, 5, 6
AND, OR, XOR, SELECT_GREATER, SELECT_EQUAL, DIVIDE, SELECT_LESS, CAST = 7, 8, 9, 10, 11, 12, 13, 14
ADD_SATURATE, SUB_SATURATE, CLAMP, MAC, COPY, MUL_SATURATE = 15, 16, 17, 18, 19, 20
ARITHMETIC_SHIFT, ROTATE, MUL_HIGH, EU_INDEX, NPU_INDEX, ABSOLUTE, DISTANCE = 21, 22, 23, 24, 25, 26, 27
COPY_BATCH, LEADING_ZEROS, LEADING_ONES, MUL_CAST = 28, 29, 30, 31

_SELECT = (SELECT_GREATER, SELECT_EQUAL, SELECT_LESS)
_UNARY = (NOT, CAST, COPY, EU_INDEX, NPU_INDEX, ABSOLUTE, COPY_BATCH, LEADING_ZEROS, LEADING_ONES)


def _third_dtype(f: Fields) -> DType:
    """Type of the third operand: selected values, shift amounts (i8) or the two shifts of mac (i16)."""
    if f.sub in _SELECT:
        listed, stored = f.tiu_dtype(f.opd2_prec, f.opd2_sign), f.tiu_dtype(f.res0_prec, f.opd2_sign)
        return listed if listed.itemsize == stored.itemsize else stored
    if f.sub == MAC:
        return UI16
    if f.sub == CLAMP:
        return f.tiu_dtype(f.opd0_prec, f.opd0_sign)
    return SI8


def _has_third(f: Fields) -> bool:
    """mac shifts integers by numbers that are there even when only two operands are announced, and select has them."""
    return f.tsk_opd_num > 2 or (f.sub == MAC and not is_float(f)) or f.sub in _SELECT


def _third_is_constant(f: Fields) -> bool:
    """Limits are numbers, whatever their flag says, and so is a third operand of select that is not announced."""
    return bool(f.opd2_const) or f.sub == CLAMP or (f.tsk_opd_num < 3 and f.sub in _SELECT)


def _takes_right(f: Fields) -> bool:
    """A second operand that is not announced is there, too, but no tensor of integers where there is no sym_range."""
    is_there = is_float(f) or f.has("sym_range") or f.opd1_const
    return f.tsk_opd_num > 1 or bool(f.sub not in _UNARY and is_there)


def _right_number(f: Fields) -> int:
    """The second operand where it is a number; one that is not announced is zero, but for integers as above."""
    return f.opd1_addr if f.tsk_opd_num > 1 or not (is_float(f) or f.has("sym_range")) else 0


def _third_as_listed(f: Fields, view: Operand) -> Operand | None:
    if f.tsk_opd_num <= 2:
        return None
    dtype = f.tiu_dtype(f.opd2_prec, f.opd2_sign)
    return replace(view, dtype=dtype) if isinstance(view, View) else constant(view.bits, dtype)


def _result_sign(f: Fields) -> int:
    if f.sign_tells(f.res0_prec) and (f.sub in (CAST, COPY) or not f.sign_tells(f.opd0_prec)):
        return f.res0_sign
    if f.sub == CAST:
        return f.opd2_sign
    if f.res0_prec == FLOAT8 and f.sub in (MUL, ADD, SUB):
        return f.res0_sign
    if f.res0_prec == FLOAT8 and f.sub in (ABSOLUTE, MAX, MIN):
        return f.opd0_sign
    return f.opd0_sign or f.opd1_sign


_OF_ONE_WIDTH = (MAX, MIN, AND, OR, XOR, COPY, ABSOLUTE, CLAMP, COPY_BATCH)
_SHIFTS = (LOGIC_SHIFT, ARITHMETIC_SHIFT, ROTATE)
_SHIFTED = (ADD, SUB, MUL, ADD_SATURATE, SUB_SATURATE, MUL_SATURATE)
_FLOAT32 = 2
_ROUNDINGS = 5
"""Codes of roundings to integers."""
_MOST_SHIFT = 32
"""Bits to the left; to the right as many as a product has."""
_BITWISE = (NOT, AND, OR, XOR, LEADING_ZEROS, LEADING_ONES)
_INTEGERS_ONLY = (*_SHIFTS, *_BITWISE, ADD_SATURATE, SUB_SATURATE, MUL_SATURATE, MUL_HIGH)
_FLOATS_ONLY = (DIVIDE, DISTANCE)


def _formats(bound: Bound) -> str:
    """Numbers of one kind throughout: floats of one format, or integers, of one width where nothing widens them."""
    f, sub = bound.fields, bound.fields.sub
    third = bound.operands.get("third")
    if sub in _SHIFTED and isinstance(third, Constant) and not -64 < third.value <= _MOST_SHIFT:
        return f"it shifts its result by {third.value} bits"
    if sub == CAST and f.opd2_n_str >= _ROUNDINGS and f.opd0_prec in FLOATS and f.res0_prec in WORDS:
        return f"its rounding has the code {f.opd2_n_str}"
    if sub == CAST and INT4 in (f.opd0_prec, f.res0_prec) and not f.conventions.has_int4:
        return f"it takes no {named(INT4)}"
    if sub in (CAST, EU_INDEX, NPU_INDEX, MUL_CAST):
        return ""
    is_number = f.tsk_opd_num > 1 and isinstance(bound.operands.get("right"), Constant)
    if sub in _SHIFTS and is_number and (f.opd1_prec, f.opd1_sign) != (0, 1):
        return "its amount is no signed number of 8 bits"
    if sub in _SELECT and isinstance(bound.operands.get("third"), View):
        return "the numbers that it chooses from are a tensor"
    takes_right = f.tsk_opd_num > 1 and "right" in bound.operands and sub not in _SHIFTS
    codes = [f.opd0_prec, *([f.opd1_prec] if takes_right else ()), f.res0_prec]
    if sub in _SELECT:
        pairs = [(f.opd0_prec, f.opd1_prec), (f.opd2_prec, f.res0_prec)]
        wrong = [pair for pair in pairs if pair[0] != pair[1]]
        return f"it mixes {named(wrong[0][0])} with {named(wrong[0][1])}" if wrong else ""
    integers = WORDS | {INT4} if f.conventions.has_int4 else WORDS
    if sub in _INTEGERS_ONLY and not integers.issuperset(codes):
        return f"it takes no {named(next(code for code in codes if code not in integers))}"
    if sub in _FLOATS_ONLY and not FLOATS.issuperset(codes):
        return f"it takes no {named(next(code for code in codes if code not in FLOATS))}"
    if sub == MAC and FLOATS.issuperset(codes) and set(codes) != {_FLOAT32} and not f.conventions.adds_halves:
        return f"it takes no {named(next(code for code in codes if code != _FLOAT32))}"
    if sub == MAC and WORDS.issuperset(codes):
        if f.opd0_prec or f.opd1_prec or f.res0_prec == 4:
            return "it makes integers of 8 or 16 bits out of integers of 8 bits, and no others"
        if isinstance(bound.operands.get("third"), View):
            return "its shifts are a tensor"
    are_words = integers.issuperset(codes)
    mixes_bytes = FLOAT8 in codes[:-1] and FLOATS.issuperset(codes)  # 8-bit floats with others, where a chip has them
    if len(set(codes)) > 1 and not mixes_bytes and (not are_words or sub in _OF_ONE_WIDTH):
        return f"it mixes {' with '.join(named(code) for code in dict.fromkeys(codes))}"
    if sub in (MAX, MIN) and are_words and takes_right and f.opd0_sign != f.opd1_sign:
        return "it mixes signed with unsigned numbers"
    return ""


@family("arith", registers=("sAR", "AR"))
class Arithmetic:
    """One operation per element of up to three operands; a stride of zero repeats an element.

    Integer add, sub and mul shift their result by the third operand. ``iter``: Newton steps of the division.
    """

    left = operand(
        "opd0",
        lambda f: (1 if f.sub == COPY_BATCH else f.res0_n, f.res0_c, f.res0_h, f.res0_w),
        "opd0_str",
    )
    right = operand(
        "opd1",
        RESULT_SHAPE,
        "opd1_str",
        when=_takes_right,
        constant=lambda f: f.opd1_const or f.tsk_opd_num < 2 or f.sub == CLAMP,
        number=_right_number,
        vendor=lambda f, view: view if f.tsk_opd_num > 1 else None,
    )
    third = operand(
        "opd2",
        lambda f: (1, f.res0_c, 1, 1),
        Layout.COMPACT,
        dtype=_third_dtype,
        when=_has_third,
        constant=_third_is_constant,
        vendor=_third_as_listed,
    )
    old = operand("res0", RESULT_SHAPE, "res0_str", sign=1, constant=False, hidden=True, when=lambda f: f.sub == MAC)
    result = result_("res0", RESULT_SHAPE, "res0_str", sign=_result_sign)
    rules = (_formats,)

    @staticmethod
    def attributes(f: Fields) -> dict[str, int]:
        return {"iter": f.opd2_n_str + 1} if f.sub == DIVIDE else {"round_mode": f.opd2_n_str}
