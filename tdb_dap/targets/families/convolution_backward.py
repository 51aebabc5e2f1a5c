"""Gradient of a convolution with respect to its weight. Written from the fields; no compiled model holds it."""

from __future__ import annotations

from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import family, flag, operand, result_
from tdb_dap.targets.families.convolution import WINDOW

NORMAL, TF32 = 1, 4


@family("conv.backward", registers=("CONV_BW", "sCONV_BW", "sCONV_DW"), evidence="fields")
class ConvolutionBackward:
    """Gradient of the weight of a convolution.

    result[ic, oc, ky, kx] = sum over n, y, x of
        input[n, ic, y*sy + ky*dy - top, x*sx + kx*dx - left] * gradient[n, oc, y, x]
    """

    input = operand("opd0", ("opd0_n", "opd0_c", "opd0_h", "opd0_w"), "opd0_str", constant=False)
    gradient = operand("opd1", ("opd0_n", "res0_c", "opd1_h", "opd1_w"), constant=False)
    pad_value = operand("opd3", (1, "opd0_c", 1, 2), Layout.COMPACT, dtype="opd0_prec", sign="opd0_sign")
    result = result_("res0", ("opd0_c", "res0_c", "res0_h", "res0_w"), Layout.COMPACT, sign="res0_sign")
    attributes = {**WINDOW, "kernel": ("res0_h", "res0_w"), "res_add": flag("res_add")}
