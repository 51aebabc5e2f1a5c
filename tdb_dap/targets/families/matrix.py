"""Matrix multiplication."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import F32, SI8, SI16, SI32, DType
from tdb_dap.engine.hardware.views import Layout, Operand, View, strides_of
from tdb_dap.targets.declaration.family import Bound, constant, family, flag, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.convolution import (
    OUTPUT_ZERO_REGISTER,
    SHIFT_REGISTER,
    TABLE_REGISTER,
    ZERO_REGISTER,
    as_listed,
    bias_is_float,
    fused_attributes,
    is_float,
    requantisation_table,
    requantises_from_table,
    scales_8_bits,
    signed,
)
from tdb_dap.targets.families.formats import WORDS, adds_to_wide_sums, among, of_one_format, of_one_half, sums

NN, NT, TT = 4, 5, 6


def left_rows(f: Fields) -> int:
    return f.opd0_n


def left_columns(f: Fields) -> int:
    """The last lane of the left matrix holds opd1_w columns instead of opd0_w."""
    return f.opd0_w * (f.opd0_c - 1) + f.opd1_w


def columns(f: Fields) -> int:
    return f.res0_c * f.res0_w


def inner(f: Fields) -> int:
    return left_rows(f) if f.left_tran else left_columns(f)


def rows(f: Fields) -> int:
    return left_columns(f) if f.left_tran else left_rows(f)


def _third_dtype(f: Fields) -> DType:
    if is_float(f):
        return F32
    if f.is_fused:
        return SI32
    return SI16 if f.sub in (2, 3) else SI8


def _has_third(f: Fields) -> bool:
    return f.is_fused or is_float(f) or f.sub in (2, 3) or f.res0_prec == 4


def _result_sign(f: Fields) -> int:
    return f.res0_sign if f.is_fused else 1


def _narrows_what_it_requantises(bound: Bound) -> str:
    """Sums of integers are requantised to 8 or 16 bits."""
    f = bound.fields
    return "it requantises to 32 bits" if f.is_fused and f.rq and f.res0_prec == 4 else ""


@family("mm", registers=("sMM", "MM"))
class MatrixMultiply:
    """result = left x right (+ bias row) (+ old); ``l_trans`` swaps rows and columns of the left operand.

    Matrices are cut into blocks of columns, one lane each. With 8-bit data the third operand is not used by the
    plain form.
    """

    left = operand(
        "opd0", lambda f: (left_rows(f), left_columns(f)), Layout.MATRIX, width="opd0_w", constant="opd0_const"
    )
    right = operand(
        "opd1",
        lambda f: (inner(f), columns(f)),
        Layout.MATRIX,
        dtype="opd0_prec",
        sign="opd1_sign",
        width="res0_w",
        constant=False,
    )
    bias = operand(
        "opd2", lambda f: (1, columns(f)), Layout.MATRIX, dtype=_third_dtype, width="res0_w", when=_has_third
    )
    old = operand(
        "res0",
        lambda f: (rows(f), columns(f)),
        Layout.MATRIX,
        width="res0_w",
        sign=1,
        constant=False,
        hidden=True,
        when=flag("res_add"),
    )
    result = result_("res0", lambda f: (rows(f), columns(f)), Layout.MATRIX, width="res0_w", sign=_result_sign)
    rules = (
        among("opd0_prec", {0, 2}, "left matrix"),
        among("res0_prec", lambda f: {2} if f.opd0_prec == 2 else WORDS, "result"),
        adds_to_wide_sums,
        _narrows_what_it_requantises,
    )

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        attributes: dict[str, Any] = {"l_trans": bool(f.left_tran), "res_add": bool(f.res_add)}
        if f.is_fused:
            return {**attributes, **_mm_numbers(f)}
        if f.sub in (2, 3):
            attributes["shift"] = f.opd3_addr
        return attributes

    @staticmethod
    def vendor_attributes(f: Fields) -> dict[str, Any]:
        return as_listed(f, MatrixMultiply.attributes(f))


def _mm_numbers(f: Fields) -> dict[str, Any]:
    """This form has no table: its numbers are always in the configuration registers."""
    attributes = fused_attributes(f, zero=None)
    attributes["multiplier"] = signed(f.register(TABLE_REGISTER), 32)
    attributes["shift"] = signed(f.register(SHIFT_REGISTER), 8)
    attributes["yzp"] = signed(f.register(OUTPUT_ZERO_REGISTER), 16)
    return attributes


def left_shape(f: Fields) -> tuple[int, int]:
    """Rows and columns of the left operand as it is stored."""
    if f.sub == TT:
        return f.opd1_w, f.res0_w
    return f.res0_c, f.opd1_c if f.sub == NN else f.opd1_w


def right_shape(f: Fields) -> tuple[int, int]:
    """Rows and columns of the right operand as it is stored."""
    return (f.res0_c if f.sub == TT else f.opd1_c), f.opd1_w


def _left_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing takes the product of the tt form for the plain one, not its transpose."""
    return replace(view, shape=(f.opd1_w, f.res0_c)) if f.sub == TT and isinstance(view, View) else view


def _zero_shape(f: Fields) -> tuple[int, int, int, int]:
    return (1, f.res0_c, 1, 1) if f.sub == TT else (1, f.geometry.lanes, 1, f.res0_w)


def _bias_dtype(f: Fields) -> DType:
    if not is_float(f):
        return SI32
    return f.tiu_dtype(f.opd2_prec, f.opd2_sign) if f.has("opd2_prec") and f.opd2_prec in (1, 5) else F32


def _bias_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing takes every bias for 32-bit numbers."""
    dtype = F32 if is_float(f) else f.tiu_dtype(4, f.opd2_sign)
    if not isinstance(view, View):
        return constant(view.bits, dtype)
    n, c, h, w = view.shape
    strides = strides_of(f.geometry, view.layout, view.address, (n, c, h, w), dtype)
    return replace(view, dtype=dtype, strides=strides)


def _column_scale_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing shows scales of 8-bit floats as multipliers and shifts of the rows."""
    if not is_float(f) or not isinstance(view, View):
        return view
    return replace(view, shape=(1, f.res0_c, 1, 2), dtype=SI32, layout=Layout.COMPACT, strides=(2, 2, 2, 1))


def _old_dtype(f: Fields) -> DType:
    """As of a convolution: what a sum goes on from is a sum, whatever the result is rounded to."""
    return F32 if is_float(f) else f.tiu_dtype(f.res0_prec, 1)


def _formats_of_result(f: Fields) -> frozenset[int]:
    """Sums of integers stay 32 bits wide where the command does not requantise them."""
    if f.opd0_prec == 6:
        return frozenset({0, 3, 4, 6})
    return sums(f) if f.is_fused or is_float(f) else frozenset({4})


def _fit_together(bound: Bound) -> str:
    """The right matrix has the columns of the result: as such, or as rows where it is transposed."""
    f = bound.fields
    if f.sub == TT or (given := f.opd1_w if f.sub == NN else f.opd1_c) == f.res0_w:
        return ""
    return f"its right matrix gives {given} columns, and its result has {f.res0_w}"


def _scales_alone(bound: Bound) -> str:
    """Shift and zero point are zero if a float is the scale of a sum."""
    f = bound.fields
    is_scaled = f.conventions.matrix_scale and f.is_fused and f.rq and f.opd5_const and not is_float(f)
    rest = f.register(SHIFT_REGISTER) & 0xFF or f.register(OUTPUT_ZERO_REGISTER) & 0xFFFF
    return "it has a scale, and a shift or a zero point" if is_scaled and rest else ""


@family("mm2", registers=("sMM2", "MM2"))
class MatrixMultiply2:
    """Matrices with rows on lanes: nn: left x right; nt: left x right^T; tt: right x left, the transposed product.

    8-bit data: the zero point is subtracted from the right operand, a constant or one number per result column
    (tt: row). The row of zero points is the same on all lanes.
    """

    left = operand("opd0", left_shape, Layout.MATRIX2, vendor=_left_as_listed)
    right = operand("opd1", right_shape, Layout.MATRIX2, dtype="opd0_prec", sign="opd1_sign")
    zero_point = operand(
        "opd2",
        _zero_shape,
        lambda f: Layout.COMPACT if f.sub == TT else Layout.ALIGN_EU,
        dtype=lambda f: f.tiu_dtype(0, f.opd1_sign),
        when=lambda f: not is_float(f) and not f.is_fused,
    )
    bias = operand(
        "opd2",
        _zero_shape,
        lambda f: Layout.COMPACT if f.sub == TT else Layout.ALIGN_EU,
        dtype=_bias_dtype,
        when=lambda f: f.is_fused,
        vendor=_bias_as_listed,
    )
    zero_points = operand(
        "res0",
        _zero_shape,
        lambda f: Layout.COMPACT if f.sub == TT else Layout.ALIGN_EU,
        dtype=SI16,
        constant=False,
        register=ZERO_REGISTER,
        local_only=True,
        when=lambda f: f.conventions.matrix_zero and f.is_fused and not is_float(f) and not f.opd4_const,
    )
    requantisation = requantisation_table("res0_c", unless=lambda f: f.conventions.matrix_scale)
    column_scale = operand(
        "res0",
        _zero_shape,
        lambda f: Layout.COMPACT if f.sub == TT else Layout.ALIGN_EU,
        dtype=F32,
        constant=False,
        register=TABLE_REGISTER,
        local_only=True,
        when=lambda f: requantises_from_table(f) and (is_float(f) or f.conventions.matrix_scale),
        vendor=_column_scale_as_listed,
    )
    old = operand(
        "res0",
        ("res0_c", "res0_w"),
        Layout.MATRIX2,
        dtype=_old_dtype,
        constant=False,
        hidden=True,
        when=flag("res_add"),
    )
    result = result_("res0", ("res0_c", "res0_w"), Layout.MATRIX2, sign=_result_sign)
    rules = (
        among("opd0_prec", lambda f: {0, 1, 5, 6, 7} if f.conventions.has_int4 else {0, 1, 5}, "left matrix"),
        of_one_format,
        among("res0_prec", _formats_of_result, "result"),
        scales_8_bits,
        _fit_together,
        adds_to_wide_sums,
        bias_is_float,
        of_one_half,
        _narrows_what_it_requantises,
        _scales_alone,
    )

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        attributes: dict[str, Any] = {
            "l_trans": f.sub == TT,
            "r_trans": f.sub in (NT, TT),
            "res_add": bool(f.res_add),
        }
        zero = "zp" if f.conventions.matrix_zero else None
        return {**attributes, **fused_attributes(f, zero, f.conventions.matrix_scale)} if f.is_fused else attributes

    @staticmethod
    def vendor_attributes(f: Fields) -> dict[str, Any]:
        attributes = MatrixMultiply2.attributes(f)
        attributes.pop("scale", None)
        return as_listed(f, attributes)
