"""Convolution."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import F32, SI16, SI32, DType
from tdb_dap.engine.hardware.views import Layout, Operand, View
from tdb_dap.targets.declaration.family import (
    RESULT_SHAPE,
    AttributeValue,
    Bound,
    Dim,
    Row,
    attributes_by_name,
    constant,
    family,
    flag,
    operand,
    result_,
)
from tdb_dap.targets.declaration.fields import FLOAT8, Fields
from tdb_dap.targets.declaration.rows import Condition
from tdb_dap.targets.families.formats import (
    adds_to_wide_sums,
    among,
    named,
    of_one_format,
    of_one_half,
    sums,
    takes_f16,
)

_FLOAT32 = 2
"""Its code."""

WINDOW: dict[str, AttributeValue] = {
    "kernel": ("opd1_h", "opd1_w"),
    "stride": ("res_op_y_str", "res_op_x_str"),
    "in_zero": ("opd0_y_ins0", "opd0_x_ins0"),
    "ke_zero": ("opd1_y_ins0", "opd1_x_ins0"),
    "kernel_rotate": flag("kernel_rotate"),
    "pad_mode": "pad_mode",
    "pad": ("opd0_up_pad", "opd0_dn_pad", "opd0_lf_pad", "opd0_rt_pad"),
}
"""Attributes of everything that slides a window; ``in_zero`` and ``ke_zero``: zeros inserted between elements."""


def signed(value: int, bits: int) -> int:
    """The low ``bits`` of ``value`` in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def is_float(f: Fields) -> bool:
    return f.tiu_dtype(f.opd0_prec, 0).is_float


def _bias_dtype(f: Fields) -> DType:
    """Float bias; 8-bit data: a 32-bit bias where requantisation is fused, else the kernel zero point.

    That of an image in float32 is float32, whatever its field says.
    """
    if is_float(f):
        is_half = f.has("opd2_prec") and f.opd2_prec in (1, 5) and f.opd0_prec != _FLOAT32
        return f.tiu_dtype(f.opd2_prec, f.opd2_sign) if is_half else F32
    return SI32 if f.is_fused else f.tiu_dtype(0, f.opd2_sign)


def _bias_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing types a float bias as an integer, and gives the kernel zero point the input's channels."""
    if f.is_fused:
        dtype = f.tiu_dtype(4, f.opd2_sign)
        return replace(view, dtype=dtype) if isinstance(view, View) else constant(view.bits, dtype)
    if is_float(f) or not isinstance(view, View):
        return view
    return replace(view, shape=(1, f.opd0_c, 1, 1))


# Configuration registers of the fused requantisation.
ZERO_REGISTER, TABLE_REGISTER, SHIFT_REGISTER, OUTPUT_ZERO_REGISTER = 5, 6, 32, 33


def requantises_from_table(f: Fields) -> bool:
    return bool(f.is_fused and f.rq and not f.opd5_const)


def requantisation_table(channels: Dim, unless: Condition = lambda f: False) -> Row:
    """Per channel the multiplier, and a word with the shift in its low byte and the zero point in its high half."""
    return operand(
        "res0",
        (1, channels, 1, 2),
        Layout.COMPACT,
        dtype=SI32,
        constant=False,
        register=TABLE_REGISTER,
        local_only=True,
        when=lambda f: requantises_from_table(f) and not is_float(f) and not unless(f),
    )


def scale_table(channels: int | str) -> Row:
    """Per channel the scale of a sum of 8-bit floats."""
    return operand(
        "res0",
        (1, channels, 1, 1),
        Layout.COMPACT,
        dtype=F32,
        constant=False,
        register=TABLE_REGISTER,
        local_only=True,
        when=lambda f: requantises_from_table(f) and is_float(f),
        vendor=lambda f, view: _as_two_words(view),
    )


def _as_two_words(view: Operand) -> Operand:
    """The vendor's listing shows a table of scales as one of multipliers and shifts."""
    if not isinstance(view, View):
        return view
    return replace(view, shape=(*view.shape[:3], 2), dtype=SI32, strides=(2, 2, 2, 1))


def zero_point_table(channels: Dim) -> Row:
    """Kernel zero points per channel, 16 bits."""
    return operand(
        "res0",
        (1, channels, 1, 1),
        Layout.COMPACT,
        dtype=SI16,
        constant=False,
        register=ZERO_REGISTER,
        local_only=True,
        when=lambda f: f.conventions.convolution_zero and f.is_fused and not is_float(f) and not f.opd4_const,
    )


def fused_attributes(f: Fields, zero: str | None = "kzp", by_scale: bool = False) -> dict[str, Any]:
    """Attributes of what follows the sum: rectification, symmetric range, requantisation and its numbers.

    ``zero``: the name of the zero point of the weights, where they may have one; ``by_scale``: integers are requantised
    by a float32 scale as well.
    """
    attributes: dict[str, Any] = {
        "do_relu": bool(f.relu),
        "sym_range": bool(f.sym_range),
        "do_rq": bool(f.rq),
        "round_mode": f.opd2_n_str,
    }
    if zero and not is_float(f) and f.opd4_const:
        attributes[zero] = signed(f.register(ZERO_REGISTER), 16)
    if f.rq and f.opd5_const and (by_scale or is_float(f)):
        attributes["scale"] = F32.decode(np.array([f.register(TABLE_REGISTER)], np.uint32))[0].item()
    elif f.rq and f.opd5_const:
        attributes["multiplier"] = signed(f.register(TABLE_REGISTER), 32)
        attributes["shift"] = signed(f.register(SHIFT_REGISTER), 8)
        attributes["yzp"] = signed(f.register(OUTPUT_ZERO_REGISTER), 16)
    return attributes


def as_listed(f: Fields, attributes: dict[str, Any]) -> dict[str, Any]:
    """The vendor's listing drops the lowest bit of shift and output zero point, and takes a scale for integers."""
    if attributes.pop("scale", None) is not None:
        attributes |= {"multiplier": signed(f.register(TABLE_REGISTER), 32), "shift": 0, "yzp": 0}
    if "yzp" in attributes:
        attributes["shift"] = f.register(SHIFT_REGISTER) >> 1 & 0x7F
        attributes["yzp"] = f.register(OUTPUT_ZERO_REGISTER) >> 1 & 0x7FFF
    return attributes


def window_attributes(f: Fields, vendor: bool) -> dict[str, Any]:
    """The attributes of a sliding window; the vendor renames one where requantisation is fused."""
    attributes = attributes_by_name(f, WINDOW)
    if vendor and f.is_fused:
        return {f"opt_{name}" if name == "kernel_rotate" else name: value for name, value in attributes.items()}
    return attributes


def scales_8_bits(bound: Bound) -> str:
    """Of floats those of 8 bits alone have a scale."""
    f = bound.fields
    is_wide = f.is_fused and f.rq and is_float(f) and f.opd0_prec != FLOAT8
    return "it scales floats that are wider than 8 bits" if is_wide else ""


ZERO_POINTS = {0: (-128, 255), 6: (-8, 15)}
"""Least and greatest zero point of a kernel, by the format of the image."""


def _has_kernel_zero(bound: Bound) -> str:
    """The zero point of a kernel is one of its numbers, with or without a sign."""
    f = bound.fields
    if not (f.is_fused and f.conventions.convolution_zero and f.opd4_const) or f.opd0_prec not in ZERO_POINTS:
        return ""
    zero, (least, most) = signed(f.register(ZERO_REGISTER), 16), ZERO_POINTS[f.opd0_prec]
    return "" if least <= zero <= most else f"the zero point of its kernel is {zero}, beyond {least} to {most}"


def bias_is_float(bound: Bound) -> str:
    """A bias of floats in memory has a field that says which."""
    f, bias = bound.fields, bound.operands.get("bias")
    if not isinstance(bias, View) or not is_float(f) or not f.is_fused or not f.has("opd2_prec"):
        return ""
    return "" if f.opd2_prec in (1, 2, 5) else f"its bias cannot be {named(f.opd2_prec)}"


def _bias_has_a_sign(bound: Bound) -> str:
    """Some chips add signed integers only."""
    f = bound.fields
    is_lacking = f.conventions.signs_bias and not is_float(f) and not f.opd2_sign
    return "its bias has no sign" if is_lacking else ""


def window_fits(bound: Bound) -> str:
    """The rows and columns of the result are those that the windows of the image give."""
    return _windows(bound.fields, all_of_them=True)


def windows_suffice(bound: Bound) -> str:
    """The windows of the image give the rows and columns of the result, or more."""
    return _windows(bound.fields, all_of_them=False)


def _windows(f: Fields, all_of_them: bool) -> str:
    for axis, letter, before, after in (("h", "y", "up", "dn"), ("w", "x", "lf", "rt")):
        stride = f.number(f"res_op_{letter}_str")
        if not stride:
            return "the step of its windows is 0"
        zeros, gaps = f.number(f"opd0_{letter}_ins0"), f.number(f"opd1_{letter}_ins0")
        image = (f.number(f"opd0_{axis}") - 1) * (zeros + 1) + 1
        image += f.number(f"opd0_{letter}_ins0_last") if f.has(f"opd0_{letter}_ins0_last") else 0
        image += f.number(f"opd0_{before}_pad") + f.number(f"opd0_{after}_pad")
        window = (f.number(f"opd1_{axis}") - 1) * (gaps + 1) + 1
        fitting, given = (image - window) // stride + 1, f.number(f"res0_{axis}")
        if fitting < given or (all_of_them and fitting != given):
            which = "rows" if axis == "h" else "columns"
            return f"its windows give {max(fitting, 0)} {which}, and its result has {given}"
    return ""


def _result_sign(f: Fields) -> int:
    return f.res0_sign if f.is_fused else f.opd0_sign or f.opd1_sign or f.opd2_sign


def _old_dtype(f: Fields) -> DType:
    """Format of the sum that goes on: of floats float32, also where the last command of several rounds it."""
    return F32 if is_float(f) else f.tiu_dtype(f.res0_prec, _result_sign(f))


def _result_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing derives the result's sign from the operands on every chip."""
    dtype = f.tiu_dtype(f.res0_prec, f.opd0_sign or f.opd1_sign or f.opd2_sign)
    return replace(view, dtype=dtype) if isinstance(view, View) else view


@family("conv", registers=("sCONV", "CONV"))
class Convolution:
    """Two-dimensional convolution.

    result[n, oc, y, x] = bias[oc] + old + sum over ic, ky, kx of
        input[n, ic, y*sy + ky*dy - top, x*sx + kx*dx - left] * (weight[oc, ic, ky, kx] - kernel_zero[oc])

    The third operand is the bias for floats and the kernel zero point for 8-bit data.
    """

    input = operand("opd0", ("res0_n", "opd0_c", "opd0_h", "opd0_w"), "opd0_str", constant=False)
    weight = operand(
        "opd1", ("res0_c", "opd0_c", "opd1_h", "opd1_w"), Layout.ALIGN_IC, dtype="opd0_prec", sign="opd1_sign"
    )
    bias = operand(
        "opd2",
        (1, "res0_c", 1, 1),
        Layout.COMPACT,
        dtype=_bias_dtype,
        vendor=_bias_as_listed,
    )
    pad_value = operand("opd3", (1, "opd0_c", 1, 2), Layout.COMPACT, dtype="opd0_prec", sign="opd0_sign")
    kernel_zero = zero_point_table("res0_c")
    requantisation = requantisation_table("res0_c")
    scale = scale_table("res0_c")
    old = operand(
        "res0",
        RESULT_SHAPE,
        dtype=_old_dtype,
        when=flag("res_add"),
        constant=False,
        hidden=True,
    )
    result = result_(sign=_result_sign, vendor=_result_as_listed)
    rules = (
        among("opd0_prec", lambda f: {0, 1, 2, 5, 7} | ({6} if f.conventions.convolves_int4 else set()), "image"),
        takes_f16,
        of_one_format,
        among("res0_prec", sums, "result"),
        _has_kernel_zero,
        window_fits,
        scales_8_bits,
        adds_to_wide_sums,
        bias_is_float,
        _bias_has_a_sign,
        of_one_half,
    )

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        attributes = {**window_attributes(f, vendor=False), "res_add": bool(f.res_add)}
        zero = "kzp" if f.conventions.convolution_zero else None
        return {**attributes, **fused_attributes(f, zero)} if f.is_fused else attributes

    @staticmethod
    def vendor_attributes(f: Fields) -> dict[str, Any]:
        if not f.is_fused:
            return Convolution.attributes(f)
        attributes = {**window_attributes(f, vendor=True), "opt_res_add": bool(f.res_add)}
        # The vendor's listing shows the kernel's zero point only where the result is requantised.
        return {**attributes, **as_listed(f, fused_attributes(f, zero="kzp" if f.rq else None))}
