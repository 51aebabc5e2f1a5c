"""Requantisation and dequantisation."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.dtypes import F32, SI8, SI16, SI32, UI16, UI32, DType
from tdb_dap.engine.views import Layout, Operand
from tdb_dap.targets.families.declaration import (
    RESULT_SHAPE,
    Precision,
    Row,
    VendorView,
    constant,
    family,
    operand,
    result_,
)
from tdb_dap.targets.families.fields import Fields

RQ0, RQ1, RQ2, DQ0, DQ1, DQ2 = 0, 1, 2, 3, 4, 5


def _has_table(f: Fields) -> bool:
    return not f.opd1_const


def _column(word: int, dtype: Precision, only: tuple[int, ...]) -> Row:
    """Word ``word`` of every channel's row in the table; rows of a lane are aligned to the execution units."""
    return operand(
        "opd1",
        (1, "res0_c", 1, 1),
        Layout.ALIGN_EU,
        dtype=dtype,
        constant=False,
        address=lambda f: f.opd1_addr + 4 * word,
        when=lambda f: _has_table(f) and f.sub in only,
    )


def _number(field: str, shift: int, dtype: Precision, only: tuple[int, ...], vendor: VendorView | None = None) -> Row:
    """A number in the command: the bits of ``field`` from ``shift`` on."""
    return operand(
        "opd1",
        (1, "res0_c", 1, 1),
        dtype=dtype,
        constant=True,
        address=lambda f: getattr(f, field) >> shift,
        when=lambda f: bool(f.opd1_const) and f.sub in only,
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
    """The vendor's listing takes the zero point of dq0 from the first word, wherever the chip has it."""
    if f.geometry.static_by_offset:
        return constant(f.opd1_addr, SI16)
    return constant(f.opd1_addr, _word_of_input_sign(f))


@family("quant", registers=("sRQ&sDQ", "RQ&DQ"))
class Quantize:
    """Integers to integers or floats and back, with numbers per channel from a table or from the command.

    rq0: round(input as f32 * scale + offset); rq1: (input * multiplier) shifted + zero point;
    dq0: (input - zero point) as f32 * scale; dq1: (input - zero point) * multiplier, shifted.
    Tables hold one row of words per channel: rq0 scale, offset; rq1 multiplier, shift, zero point; dq0 zero point,
    scale; dq1 zero point, multiplier, shift. Shift is the low byte, zero point the low half of its word.
    """

    input = operand("opd0", RESULT_SHAPE, constant=False)

    scale_table = _column(0, F32, (RQ0,))
    offset_table = _column(1, F32, (RQ0,))
    scale = _number("opd1_addr", 0, F32, (RQ0,))
    offset = _number("opd2_addr", 0, F32, (RQ0,))

    multiplier_table = _column(0, SI32, (RQ1,))
    shift_table = _column(1, SI32, (RQ1,))
    zero_point_table = _column(2, SI32, (RQ1,))
    multiplier = _number("opd1_addr", 0, SI32, (RQ1,))
    shift = _number("opd2_addr", 0, SI8, (RQ1,))
    zero_point = _number("opd2_addr", 16, _half_of_result_sign, (RQ1,), _zero_point_as_listed)

    input_zero_table = _column(0, _word_of_input_sign, (DQ0, DQ1))
    input_scale_table = _column(1, F32, (DQ0,))
    input_multiplier_table = _column(1, SI32, (DQ1,))
    input_shift_table = _column(2, SI32, (DQ1,))
    input_zero = _number("opd1_addr", 0, _half_of_input_sign, (DQ0,), _whole_word_as_listed)
    input_zero_point = _number("opd1_addr", 0, _half_of_input_sign, (DQ1,))
    input_scale = _number("opd2_addr", 0, F32, (DQ0,))
    input_shift = _number("opd1_addr", 16, SI16, (DQ1,))
    input_multiplier = _number("opd2_addr", 0, SI32, (DQ1,))

    result = result_(sign="opd2_sign")

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {"round_mode": f.opd2_n_str}
