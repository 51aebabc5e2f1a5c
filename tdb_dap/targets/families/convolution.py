"""Convolution."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from tdb_dap.engine.dtypes import F32
from tdb_dap.engine.views import Constant, Layout, Operand, View
from tdb_dap.targets.families.declaration import RESULT_SHAPE, family, flag, operand, result_
from tdb_dap.targets.families.fields import Fields

WINDOW = {
    "kernel": ("opd1_h", "opd1_w"),
    "stride": ("res_op_y_str", "res_op_x_str"),
    "in_zero": ("opd0_y_ins0", "opd0_x_ins0"),
    "ke_zero": ("opd1_y_ins0", "opd1_x_ins0"),
    "kernel_rotate": flag("kernel_rotate"),
    "pad_mode": "pad_mode",
    "pad": ("opd0_up_pad", "opd0_dn_pad", "opd0_lf_pad", "opd0_rt_pad"),
}
"""Attributes of everything that slides a window; ``in_zero`` and ``ke_zero``: zeros inserted between elements."""


def is_float(f: Fields) -> bool:
    return f.tiu_dtype(f.opd0_prec, 0).is_float


def _kernel_zero_as_listed(f: Fields, view: Operand) -> Operand:
    """The vendor's listing gives the kernel zero point the input's channels."""
    if isinstance(view, Constant) or is_float(f):
        return view
    shape = (1, f.opd0_c, 1, 1)
    return replace(view, shape=shape) if isinstance(view, View) else view


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
        dtype=lambda f: F32 if is_float(f) else f.tiu_dtype(0, f.opd2_sign),
        vendor=_kernel_zero_as_listed,
    )
    pad_value = operand("opd3", (1, "opd0_c", 1, 2), Layout.COMPACT, dtype="opd0_prec", sign="opd0_sign")
    old = operand(
        "res0",
        RESULT_SHAPE,
        sign=lambda f: f.opd0_sign or f.opd1_sign or f.opd2_sign,
        when=flag("res_add"),
        constant=False,
        hidden=True,
    )
    result = result_(sign=lambda f: f.opd0_sign or f.opd1_sign or f.opd2_sign)
    attributes: ClassVar = {**WINDOW, "res_add": flag("res_add")}
