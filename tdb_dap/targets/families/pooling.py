"""Pooling and depthwise convolution, over fixed windows or boxes of a table."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import F32, SI16, SI32, UI8, UI16, UI32, DType
from tdb_dap.engine.hardware.views import Layout, Operand, View
from tdb_dap.targets.declaration.family import Bound, constant, family, operand, result_
from tdb_dap.targets.declaration.fields import FLOAT8, Fields
from tdb_dap.targets.families.convolution import (
    as_listed,
    fused_attributes,
    is_float,
    requantisation_table,
    scale_table,
    scales_8_bits,
    signed,
    window_attributes,
    window_fits,
)
from tdb_dap.targets.families.formats import among, named, same, sums, takes_f16

DEPTHWISE, AVERAGE, DEPTHWISE_RELU, MINIMUM, MAXIMUM = 0, 1, 2, 3, 4
BOX_DEPTHWISE, BOX_AVERAGE, BOX_MAXIMUM = 5, 6, 7
_WITH_KERNEL = (DEPTHWISE, AVERAGE, DEPTHWISE_RELU, BOX_DEPTHWISE, BOX_AVERAGE)
_WITH_BIAS = (DEPTHWISE, DEPTHWISE_RELU)


def right_shift(f: Fields) -> int:
    """Bits by which a depthwise sum of integers is shifted: of all four bytes the emulator looks at the second."""
    return f.res1_addr >> 8 & 0xFF


def signed_byte(value: int) -> int:
    """The low byte of ``value`` as a signed number."""
    return ((value & 0xFF) ^ 0x80) - 0x80


_NO_INDEX = 0xFFFFFFFF
"""In the place of the address for the tap's index: it is not stored."""


def _stores_index(f: Fields) -> bool:
    return f.is_fused and f.sub in (MINIMUM, MAXIMUM) and f.opd2_addr != _NO_INDEX


def _index_dtype(f: Fields) -> DType:
    """Positions have 16 bits, or the width of a format where the chip reads it."""
    itemsize = f.tiu_dtype(f.opd2_prec, 0).itemsize if f.conventions.sized_index else 2
    return {1: UI8, 2: UI16, 4: UI32}[itemsize]


def _sign(f: Fields) -> int:
    if f.is_fused:
        return f.res0_sign
    if f.sub in (DEPTHWISE, DEPTHWISE_RELU):
        return f.opd0_sign or f.opd1_sign or f.opd2_sign
    return f.opd0_sign


def _bias_dtype(f: Fields) -> DType:
    """Type of the bias; of 8-bit floats that of a result of 16 bits which is not scaled."""
    if f.opd0_prec == FLOAT8:
        return f.tiu_dtype(f.res0_prec, 1) if f.res0_prec in (1, 5) and not f.number("rq") else F32
    if is_float(f):
        return f.tiu_dtype(f.opd2_prec if f.opd2_prec in (1, 2, 5) else f.opd0_prec, f.opd0_sign)
    return SI32


def _bias_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing types a constant bias as the input where requantisation is fused."""
    if not f.is_fused:
        return view
    if isinstance(view, View) and f.opd0_prec == FLOAT8:
        return replace(view, dtype=f.tiu_dtype(FLOAT8, f.opd2_sign))
    if isinstance(view, View):
        return view if is_float(f) else replace(view, dtype=f.tiu_dtype(4, f.opd2_sign))
    return constant(view.bits, f.tiu_dtype(f.opd0_prec, f.opd2_sign))


def _window_fits(bound: Bound) -> str:
    """Boxes of a table have no fixed windows."""
    return window_fits(bound) if bound.fields.sub < BOX_DEPTHWISE else ""


def _has_one_sign(bound: Bound) -> str:
    """A maximum or minimum is one of the numbers, floats included."""
    f = bound.fields
    if f.sub not in (MINIMUM, MAXIMUM, BOX_MAXIMUM) or not f.is_fused or f.opd0_sign == f.res0_sign:
        return ""
    return "it mixes signed with unsigned numbers"


def _bias_is_wide(bound: Bound) -> str:
    """A bias of integers in memory has 32 bits, and a field that says so; compilers leave it 0 in the short form."""
    f, bias = bound.fields, bound.operands.get("bias")
    if not isinstance(bias, View) or is_float(f) or not f.is_fused:
        return ""
    if not f.has("opd2_prec"):
        return "" if f.rq else "its bias is a tensor, and its sums are not requantised"
    is_short = f.has("cmd_short") and bool(f.cmd_short)
    return "" if f.opd2_prec == 4 or (is_short and f.rq) else f"its bias cannot be {named(f.opd2_prec)}"


_DEPTHWISE = (DEPTHWISE, DEPTHWISE_RELU, BOX_DEPTHWISE)


def _keeps_halves(bound: Bound) -> str:
    """Depthwise sums of 16-bit floats have their format; so have averages where the sign tells formats."""
    f = bound.fields
    if f.sub in _DEPTHWISE and f.opd0_prec == 2 and not f.conventions.computes_f16:
        return f"it takes no {named(2)}"
    is_kept = f.sub in _DEPTHWISE or (f.sub in (AVERAGE, BOX_AVERAGE) and f.conventions.halves_by_sign)
    is_other = is_kept and f.opd0_prec in (1, 5) and f.res0_prec != f.opd0_prec
    return f"it mixes {named(f.opd0_prec)} with {named(f.res0_prec)}" if is_other else ""


def _averages_by_a_constant(bound: Bound) -> str:
    f = bound.fields
    if f.sub not in (AVERAGE, BOX_AVERAGE) or not isinstance(bound.operands.get("kernel"), View):
        return ""
    return "the weight of its average is a tensor"


def _shifts_within_words(bound: Bound) -> str:
    """A depthwise sum of integers is shifted by less than the bits that it has, and so is an average to the left."""
    f = bound.fields
    if f.is_fused or is_float(f):
        return ""
    shift = right_shift(f) if f.sub in _DEPTHWISE else 0
    left = -signed(f.opd2_addr, 32) if f.sub in (AVERAGE, BOX_AVERAGE) else 0
    return f"it shifts by {max(shift, left)} bits" if max(shift, left) > 31 else ""


@family("pord", registers=("sPorD", "PorD"))
class Pooling:
    """Window functions per channel.

    depthwise: result = bias + sum over taps of input * kernel; average: the same with one constant weight;
    maximum, minimum: over the taps; index: position of the tap, row by row. Box forms take the window's corner per
    result column from a table (x, y, ...).
    """

    input = operand("opd0", ("res0_n", "res0_c", "opd0_h", "opd0_w"), constant=False)
    kernel = operand(
        "opd1",
        (1, "res0_c", "opd1_h", "opd1_w"),
        Layout.COMPACT,
        dtype="opd0_prec",
        sign=lambda f: f.opd1_sign and (f.sub != AVERAGE or f.is_fused),
        when=lambda f: f.sub in _WITH_KERNEL,
        vendor=lambda f, view: None if f.sub in (AVERAGE, BOX_AVERAGE) and not f.is_fused else view,
    )
    bias = operand(
        "opd2",
        (1, "res0_c", 1, 1),
        Layout.COMPACT,
        dtype=_bias_dtype,
        when=lambda f: f.sub in _WITH_BIAS,
        vendor=_bias_as_listed,
    )
    pad_value = operand(
        "opd3", (1, "res0_c", 1, 2), Layout.COMPACT, dtype="opd0_prec", sign="opd0_sign", when=lambda f: f.sub < 5
    )
    boxes = operand("opd3", (1, "res0_w", 1, 4), Layout.COMPACT, dtype=SI16, constant=False, when=lambda f: f.sub >= 5)
    requantisation = requantisation_table("res0_c")
    scale = scale_table("res0_c")
    result = result_(sign=_sign)
    index = result_("opd2", dtype=_index_dtype, when=_stores_index)
    rules = (
        same("opd0_prec", "res0_prec", sub=(MINIMUM, MAXIMUM, BOX_MAXIMUM)),
        among("opd0_prec", {0, 1, 2, 5, 7}, "image"),
        among("res0_prec", sums, "result"),
        takes_f16,
        _keeps_halves,
        _window_fits,
        scales_8_bits,
        _has_one_sign,
        _bias_is_wide,
        _averages_by_a_constant,
        _shifts_within_words,
    )

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {**window_attributes(f, vendor=False), **_after_the_sum(f)}

    @staticmethod
    def vendor_attributes(f: Fields) -> dict[str, Any]:
        attributes = {**window_attributes(f, vendor=True), "round_mode": f.opd2_n_str, "shift": 0}
        if not f.is_fused:
            return {**attributes, "shift": signed_byte(f.res1_addr)}
        if f.rq and f.opd5_const:
            numbers = as_listed(f, fused_attributes(f, zero=None))
            attributes |= {name: numbers[name] for name in ("shift", "multiplier", "yzp")}
        return attributes


def _after_the_sum(f: Fields) -> dict[str, Any]:
    if f.is_fused:
        return fused_attributes(f, zero=None)
    return {"round_mode": f.opd2_n_str, "shift": right_shift(f)}
