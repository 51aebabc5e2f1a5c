"""Element-wise arithmetic."""

from __future__ import annotations

from collections.abc import Collection, Sequence

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
_HALF, _FLOAT32 = 1, 2
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
    if sub == CAST and f.opd2_n_str >= _ROUNDINGS and f.opd0_prec in FLOATS and f.res0_prec in WORDS:
        return f"its rounding has the code {f.opd2_n_str}"
    codes = _codes(bound)
    lacking = {
        code for code, is_there in ((INT4, f.conventions.has_int4), (_HALF, f.conventions.computes_f16)) if not is_there
    }
    if sub == CAST and lacking.intersection(codes):
        return f"it takes no {named(next(code for code in codes if code in lacking))}"
    if sub in (CAST, EU_INDEX, NPU_INDEX, MUL_CAST):
        return ""
    if sub in _SELECT and isinstance(bound.operands.get("third"), View):
        return "the numbers that it chooses from are a tensor"
    if sub in _SELECT:
        pairs = [(f.opd0_prec, f.opd1_prec), (f.opd2_prec, f.res0_prec)]
        wrong = [pair for pair in pairs if pair[0] != pair[1]]
        return f"it mixes {named(wrong[0][0])} with {named(wrong[0][1])}" if wrong else _lacking(codes, lacking)
    integers = WORDS | {INT4} if f.conventions.has_int4 else WORDS
    if sub in _INTEGERS_ONLY and not integers.issuperset(codes):
        return f"it takes no {named(next(code for code in codes if code not in integers))}"
    if sub in _FLOATS_ONLY and not FLOATS.issuperset(codes):
        return f"it takes no {named(next(code for code in codes if code not in FLOATS))}"
    is_wide = (sub == MAC and not f.conventions.adds_halves) or (sub == DIVIDE and not f.conventions.divides_halves)
    if is_wide and FLOATS.issuperset(codes) and set(codes) != {_FLOAT32}:
        return f"it takes no {named(next(code for code in codes if code != _FLOAT32))}"
    are_words = integers.issuperset(codes)
    if len(set(codes)) > 1 and not _mixes_bytes(sub, codes) and (not are_words or sub in _OF_ONE_WIDTH):
        return f"it mixes {' with '.join(named(code) for code in dict.fromkeys(codes))}"
    if sub in (MAX, MIN) and are_words and f.opd0_sign != f.opd1_sign:
        return "it mixes signed with unsigned numbers"
    return _lacking(codes, lacking)


def _lacking(codes: Sequence[int], lacking: Collection[int]) -> str:
    """Formats that are not there on a chip."""
    return next((f"it takes no {named(code)}" for code in codes if code in lacking and code in FLOATS), "")


def _codes(bound: Bound) -> list[int]:
    """Formats of the left operand, of the right one, and of the result.

    That of the right one counts where it is announced, and in operations of one width also where it is not: always of
    integers, of floats on some chips.
    """
    f, sub = bound.fields, bound.fields.sub
    is_announced = f.tsk_opd_num > 1 and "right" in bound.operands
    is_compared = sub in _OF_ONE_WIDTH and (f.opd0_prec not in FLOATS or f.conventions.compares_formats)
    takes_right = sub not in _SHIFTS and sub not in _UNARY and (is_announced or is_compared)
    return [f.opd0_prec, *([f.opd1_prec] if takes_right else ()), f.res0_prec]


_WITH_BYTES: dict[int, tuple[int, ...]] = {
    FLOAT8: (FLOAT8, _HALF, _FLOAT32),
    _HALF: (_HALF, _FLOAT32),
    _FLOAT32: (_FLOAT32,),
}
"""Formats of what 8-bit floats make with another number, by that of the number."""


def _mixes_bytes(sub: int, codes: Sequence[int]) -> bool:
    """Whether 8-bit floats are added to, or multiplied with, floats of other formats, or subtracted from each other."""
    if sub not in (MUL, ADD, SUB) or len(codes) < 3 or codes[0] != FLOAT8:
        return False
    return codes[2] in _WITH_BYTES.get(codes[1], ()) and (sub != SUB or codes[1] == FLOAT8)


def _shifts(bound: Bound) -> str:
    """Amounts have a sign, in the command they are bytes; what a product is shifted by is in the command."""
    f, sub = bound.fields, bound.fields.sub
    third = bound.operands.get("third")
    if sub in _SHIFTED and isinstance(third, Constant) and not -64 < third.value <= _MOST_SHIFT:
        return f"it shifts its result by {third.value} bits"
    is_number = f.tsk_opd_num > 1 and isinstance(bound.operands.get("right"), Constant)
    if sub in _SHIFTS and is_number and (f.opd1_prec, f.opd1_sign) != (0, 1):
        return "its amount is no signed number of 8 bits"
    if sub in _SHIFTS and f.has("sym_range") and not f.opd1_sign:
        return "its amount has no sign"
    left, right = bound.operands.get("left"), bound.operands.get("right")
    if sub == ROTATE and left and right and right.dtype.itemsize > left.dtype.itemsize:
        return f"it rotates {named(f.opd0_prec)} by {named(f.opd1_prec)}"
    if sub != MAC or not WORDS.issuperset(_codes(bound)):
        return ""
    widths = (0, 3) if f.has("sym_range") else (3,)
    if f.opd0_prec or f.opd1_prec or f.res0_prec not in widths:
        return (
            f"it makes integers of {'8 or 16' if 0 in widths else '16'} bits out of integers of 8 bits, and no others"
        )
    if f.has("sym_range") and f.opd2_prec != 3:
        return f"its shifts are {named(f.opd2_prec)}, and not {named(3)}"
    return "its shifts are a tensor" if isinstance(third, View) else ""


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
    rules = (_shifts, _formats)

    @staticmethod
    def attributes(f: Fields) -> dict[str, int]:
        return {"iter": f.opd2_n_str + 1} if f.sub == DIVIDE else {"round_mode": f.opd2_n_str}
