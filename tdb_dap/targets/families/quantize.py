"""Requantisation and dequantisation."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import F32, SI8, SI16, SI32, UI16, UI32, DType
from tdb_dap.engine.hardware.views import Constant, Layout, Operand, View, strides_of
from tdb_dap.targets.declaration.family import (
    RESULT_SHAPE,
    Bound,
    Precision,
    Row,
    VendorView,
    constant,
    family,
    operand,
    result_,
)
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.formats import INT4, among

RQ0, RQ1, RQ2, DQ0, DQ1, DQ2, QT0 = 0, 1, 2, 3, 4, 5, 6


def is_packed(f: Fields) -> bool:
    """Chips after BM1684X pack shift and zero point into one word and their tables without gaps."""
    return f.has("sym_range")


def _column(word: int, dtype: Precision, packed: bool, only: dict[int, int]) -> Row:
    """Word ``word`` of every channel's row in the table; ``only``: words per row for each sub type that has it.

    Rows of the unpacked form are aligned to the execution units.
    """

    def strides(f: Fields) -> tuple[int, ...] | None:
        return (0, only[f.sub], 0, 1) if packed else None

    return operand(
        "opd1",
        (1, "res0_c", 1, 1),
        Layout.STRIDE if packed else Layout.ALIGN_EU,
        dtype=dtype,
        constant=False,
        first=4 * word,
        strides=strides,
        when=lambda f: not f.opd1_const and is_packed(f) == packed and f.sub in only,
        vendor=_column_as_listed(word) if packed else None,
    )


_LISTED = {RQ0: (F32, F32), RQ1: (SI32, SI32, SI32), DQ0: (SI16, F32), DQ1: (SI32, SI8, SI8)}
"""Formats of the words of a packed table in the vendor's listing: those of the older chip, each its own tensor."""


def _column_as_listed(word: int) -> VendorView:
    """The vendor's listing shows every word as a compact tensor; the last row of ours stands for the rest of them."""

    def listed(f: Fields, view: Operand) -> tuple[Operand, ...]:
        if not isinstance(view, View):
            return (view,)
        formats = _LISTED[f.sub]
        count = len(formats) - word if word else 1
        first = view.address - 4 * word
        return tuple(_compact(view, first + 4 * (word + i), formats[word + i]) for i in range(count))

    return listed


def _compact(view: View, address: int, dtype: DType) -> View:
    n, c, h, w = view.shape
    strides = strides_of(view.geometry, Layout.COMPACT, address, (n, c, h, w), dtype)
    return replace(view, address=address, dtype=dtype, layout=Layout.COMPACT, strides=strides)


def _number(
    name: str, shift: int, dtype: Precision, packed: bool, only: tuple[int, ...], vendor: VendorView | None = None
) -> Row:
    """A number in the command: the bits of field ``name`` from ``shift`` on."""
    return operand(
        "opd1",
        (1, "res0_c", 1, 1),
        dtype=dtype,
        constant=True,
        number=lambda f: f.number(name) >> shift,
        when=lambda f: bool(f.opd1_const) and is_packed(f) == packed and f.sub in only,
        vendor=vendor,
    )


def _word_of_input_sign(f: Fields) -> DType:
    return SI32 if f.opd0_sign else UI32


def _half_of_input_sign(f: Fields) -> DType:
    return SI16 if f.opd0_sign else UI16


def _half_of_result_sign(f: Fields) -> DType:
    return SI16 if f.opd2_sign else UI16


def _zero_point_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing takes the zero point from bits 8 to 23 of the second word."""
    return constant(f.opd2_addr >> 8, SI16)


def _whole_word_as_listed(f: Fields, view: Operand) -> Operand:
    return constant(f.opd1_addr, _word_of_input_sign(f))


def _first_as_zero(f: Fields, view: Operand) -> Operand:
    """The vendor's listing keeps the order of the older chip: zero point, then scale."""
    return constant(f.opd1_addr, SI16)


def _second_as_scale(f: Fields, view: Operand) -> Operand:
    return constant(f.opd2_addr, F32)


def result_sign(f: Fields) -> int:
    """Whether integers of the result are signed."""
    return f.opd2_sign if f.has("opd2_sign") else f.res0_sign


_FORMATS: dict[int, tuple[frozenset[int], frozenset[int]]] = {
    RQ0: (frozenset({0, 3, 4}), frozenset({0, 3})),
    RQ1: (frozenset({0, 3, 4}), frozenset({0, 3})),
    RQ2: (frozenset(), frozenset()),
    QT0: (frozenset(), frozenset()),
    DQ0: (frozenset({0, 3, 6}), frozenset({2})),
    DQ1: (frozenset({0, 3, 6}), frozenset({0, 3, 4})),
    DQ2: (frozenset({0, 6}), frozenset({1, 5})),
}
"""Formats of input and result by operation."""
_EVERY = frozenset({0, 1, 2, 3, 4, 5})


def _formats(f: Fields) -> tuple[frozenset[int], frozenset[int]]:
    """Those of input and result; integers are requantised in words of any format, on later chips out of such, too."""
    if f.sub == DQ2:  # of the chips that have it each makes one kind of half
        return _FORMATS[DQ2][0], frozenset({1 if f.conventions.halves_by_sign else 5})
    if f.sub not in (RQ0, RQ1):
        inputs, results = _FORMATS[f.sub]
        has_int4 = f.conventions.has_int4 and (f.sub != DQ0 or f.conventions.scales_int4)
        return inputs if has_int4 else inputs - {INT4}, results
    return (_EVERY if is_packed(f) else _FORMATS[f.sub][0]), _EVERY


def group_size(f: Fields) -> int:
    """Columns of dq2 that share a scale and a zero point."""
    return 32 << f.opd2_n_str


def _has_groups(bound: Bound) -> str:
    f = bound.fields
    if f.sub != DQ2:
        return ""
    if f.res0_w % group_size(f):
        return f"its rows of {f.res0_w} numbers are no groups of {group_size(f)}"
    return "the scales of its groups are a number" if isinstance(bound.operands["group_table"], Constant) else ""


_ROUNDINGS = {RQ0: 5, RQ1: 7, DQ1: 7}
"""Codes of roundings, from 0 on: of floats to integers, and of shifts."""


def _rounds_as_known(bound: Bound) -> str:
    f = bound.fields
    code = f.opd2_n_str >> 3 if f.sub == RQ0 else f.opd2_n_str
    return f"its rounding has the code {code}" if f.sub in _ROUNDINGS and code >= _ROUNDINGS[f.sub] else ""


def _shifts_within_words(bound: Bound) -> str:
    """A shift in the command is by less than the 64 bits of a product."""
    for role, number in bound.operands.items():
        if "shift" in role and isinstance(number, Constant) and abs(number.value) >= 64:
            return f"it shifts by {number.value} bits"
    return ""


@family("quant", registers=("sRQ&sDQ", "RQ&DQ"))
class Quantize:
    """Integers to integers or floats and back, with numbers per channel from a table or from the command.

    rq0: round(input as f32 * scale + offset); rq1: (input * multiplier) shifted + zero point;
    dq0: (input - zero point) as f32 * scale; dq1: (input - zero point) * multiplier, shifted.
    Tables hold one row of words per channel: rq0 scale, offset; rq1 multiplier, shift, zero point; dq0 zero point,
    scale; dq1 zero point, multiplier, shift. Shift is the low byte, zero point the low half of its word. Packed: rq1
    and dq1 multiplier, then one word with the shift in its low byte and the zero point in its high half.

    dq2: (input - zero point) * scale, calculated in the format of the result; a word for each group of columns holds
    the zero point in its low half and the scale in its high half.
    """

    input = operand("opd0", RESULT_SHAPE, constant=False)

    scale_table = _column(0, F32, False, {RQ0: 2})
    offset_table = _column(1, F32, False, {RQ0: 2})
    scale_packed = _column(0, F32, True, {RQ0: 2})
    offset_packed = _column(1, F32, True, {RQ0: 2})
    scale = operand("opd1", RESULT_SHAPE, dtype=F32, when=lambda f: f.opd1_const and f.sub == RQ0)
    offset = operand(
        "opd2", RESULT_SHAPE, dtype=F32, constant="opd1_const", when=lambda f: f.opd1_const and f.sub == RQ0
    )

    multiplier_table = _column(0, SI32, False, {RQ1: 3})
    shift_table = _column(1, SI32, False, {RQ1: 3})
    zero_point_table = _column(2, SI32, False, {RQ1: 3})
    multiplier_packed = _column(0, SI32, True, {RQ1: 2})
    shift_zero_packed = _column(1, SI32, True, {RQ1: 2})
    multiplier = operand("opd1", RESULT_SHAPE, dtype=SI32, when=lambda f: f.opd1_const and f.sub == RQ1)
    shift = _number("opd2_addr", 0, SI8, False, (RQ1,))
    zero_point = _number("opd2_addr", 16, _half_of_result_sign, False, (RQ1,), _zero_point_as_listed)
    shift_of_word = _number("opd2_addr", 0, SI8, True, (RQ1,))
    zero_point_of_word = _number("opd2_addr", 16, SI16, True, (RQ1,), _zero_point_as_listed)

    input_zero_table = _column(0, _word_of_input_sign, False, {DQ0: 2, DQ1: 3})
    input_scale_table = _column(1, F32, False, {DQ0: 2})
    input_multiplier_table = _column(1, SI32, False, {DQ1: 3})
    input_shift_table = _column(2, SI32, False, {DQ1: 3})
    input_zero_packed = _column(0, SI32, True, {DQ0: 2})
    input_scale_packed = _column(1, F32, True, {DQ0: 2})
    input_multiplier_packed = _column(0, SI32, True, {DQ1: 2})
    input_shift_zero_packed = _column(1, SI32, True, {DQ1: 2})
    input_zero = _number("opd1_addr", 0, _half_of_input_sign, False, (DQ0,), _whole_word_as_listed)
    input_scale = _number("opd2_addr", 0, F32, False, (DQ0,))
    input_zero_of_word = _number("opd2_addr", 0, SI16, True, (DQ0,), _first_as_zero)
    input_scale_of_word = _number("opd1_addr", 0, F32, True, (DQ0,), _second_as_scale)
    input_zero_point = _number("opd1_addr", 0, _half_of_input_sign, False, (DQ1,))
    input_shift = _number("opd1_addr", 16, SI16, False, (DQ1,))
    input_multiplier = _number("opd2_addr", 0, SI32, False, (DQ1,))
    input_multiplier_of_word = _number("opd1_addr", 0, SI32, True, (DQ1,))
    input_shift_of_word = _number("opd2_addr", 0, SI8, True, (DQ1,))
    input_zero_point_of_word = _number("opd2_addr", 16, SI16, True, (DQ1,))

    group_table = operand(
        "opd1",
        lambda f: (f.res0_n, f.res0_c, f.res0_h, -(-f.res0_w // group_size(f))),
        Layout.COMPACT,
        dtype=UI32,
        when=lambda f: f.sub == DQ2,
    )

    result = result_(sign=result_sign)
    rules = (
        among("opd0_prec", lambda f: _formats(f)[0], "input"),
        among("res0_prec", lambda f: _formats(f)[1], "result"),
        _shifts_within_words,
        _rounds_as_known,
        _has_groups,
    )

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {"group_size": group_size(f)} if f.sub == DQ2 else {"round_mode": f.opd2_n_str}
