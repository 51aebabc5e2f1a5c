"""Convolution of CV18xx."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.cv18xx.elements import finishing
from tdb_dap.targets.families.cv18xx.legality import CONVOLUTIONS
from tdb_dap.targets.families.cv18xx.rows import (
    adds_partial,
    constant_dtype,
    high_plane,
    in_lane_of_result,
    own_shape,
    partial_plane,
    tensor,
    writes_partial,
)
from tdb_dap.targets.families.cv18xx.windows import bias_half, channel_steps, window_attributes

_RESULT = own_shape("res0")


def _weight_strides(f: Fields) -> tuple[int, ...]:
    """Unit, output channel, kernel row and kernel column, in elements: the input channels are innermost."""
    row = f.opd1_w * f.opd0_c
    return f.opd1_h * row, f.opd1_h * row, row, f.opd0_c


def _ends(f: Fields) -> bool:
    return not writes_partial(f)


@family("cvi.conv", registers=("cvi_conv",))
class Convolution:
    """Two-dimensional convolution.

    result[n, oc, y, x] = bias[oc] + sum over ky, kx, ic of
        input[n, ic, y*sy + ky*dy - top, x*sx + kx*dx - left] * weight[oc, ic, ky, kx]

    Sums of 32 bits may go on from one command to the next.
    """

    input = tensor("opd0", own_shape("opd0"), constant=False)
    input_high = high_plane("opd0", own_shape("opd0"))
    weight = operand(
        "opd1",
        ("res0_c", "opd0_c", "opd1_h", "opd1_w"),
        Layout.CHANNEL_UNITS,
        dtype=lambda f: constant_dtype(f, "opd1"),
        parts=in_lane_of_result("opd1"),
        strides=_weight_strides,
        width="opd0_c",
        local_only=True,
    )
    bias = bias_half(0)
    bias_low = bias_half(1)
    requantisation = channel_steps()
    rules = CONVOLUTIONS
    sum_0 = partial_plane(_RESULT, 0, False, operand, adds_partial)
    sum_1 = partial_plane(_RESULT, 1, False, operand, adds_partial)
    sum_2 = partial_plane(_RESULT, 2, False, operand, adds_partial)
    sum_3 = partial_plane(_RESULT, 3, False, operand, adds_partial)
    sum_upper = partial_plane(_RESULT, 0, True, operand, adds_partial)
    sum_lower = partial_plane(_RESULT, 1, True, operand, adds_partial)
    result = tensor("res0", _RESULT, result_, when=_ends)
    result_high = high_plane("res0", _RESULT, result_, when=_ends)
    result_0 = partial_plane(_RESULT, 0, False, result_, writes_partial)
    result_1 = partial_plane(_RESULT, 1, False, result_, writes_partial)
    result_2 = partial_plane(_RESULT, 2, False, result_, writes_partial)
    result_3 = partial_plane(_RESULT, 3, False, result_, writes_partial)
    result_upper = partial_plane(_RESULT, 0, True, result_, writes_partial)
    result_lower = partial_plane(_RESULT, 1, True, result_, writes_partial)

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {**window_attributes(f), **finishing(f), "partial_sums": f.ps32_md}
