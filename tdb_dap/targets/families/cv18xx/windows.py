"""Windows of CV18xx, their padding and per-channel steps; pooling and depthwise convolution."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.hardware.dtypes import UI8, UI16, DType
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import Row, attributes_by_name, family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.cv18xx.elements import finishing
from tdb_dap.targets.families.cv18xx.legality import POOLS, WINDOWS_APART
from tdb_dap.targets.families.cv18xx.rows import (
    GIVEN,
    Shape4,
    byte_dtype,
    constant_dtype,
    high_plane,
    in_lane_of_result,
    is_float,
    own_shape,
    steps,
    tensor,
)

MAXIMUM, AVERAGE, DEPTHWISE, MINIMUM = range(4)
BIAS_BYTES, STEP_BYTES = 4, 5
"""Bytes of a channel's bias, and of its multiplier and shift."""


def fill_bits(f: Fields) -> int:
    """The stored word around the image and between its elements."""
    if is_float(f):
        return f.opd0_ins_fp if f.has("opd0_ins_fp") else f.opd0_ins_val
    return f.opd0_ins_val & 0xFF


def is_inserted(f: Fields) -> bool:
    """Whether anything is inserted between or behind the elements of the image."""
    return bool(f.opd0_y_ins0 or f.opd0_x_ins0 or f.opd0_y_ins0_last or f.opd0_x_ins0_last)


def is_filled(f: Fields) -> bool:
    """Whether anything is inserted or around the image."""
    return is_inserted(f) or bool(f.opd0_up_pad or f.opd0_dn_pad or f.opd0_lf_pad or f.opd0_rt_pad)


def has_bias(f: Fields) -> bool:
    return f.tsk_opd_num == 3


def window_attributes(f: Fields) -> dict[str, Any]:
    """Kernel, steps, what is inserted and around."""
    attributes = attributes_by_name(
        f,
        {
            "kernel": ("opd1_h", "opd1_w"),
            "stride": ("res_op_y_str", "res_op_x_str"),
            "in_zero": ("opd0_y_ins0", "opd0_x_ins0"),
            "in_zero_last": ("opd0_y_ins0_last", "opd0_x_ins0_last"),
            "ke_zero": ("opd1_y_ins0", "opd1_x_ins0"),
            "pad": ("opd0_up_pad", "opd0_dn_pad", "opd0_lf_pad", "opd0_rt_pad"),
        },
    )
    return {**attributes, "pad_value": fill_bits(f)}


def channel_steps() -> Row:
    """Per channel the bias if there is one, multiplier and shift: bytes one behind the other, in the channel's lane."""

    def size(f: Fields) -> int:
        return (BIAS_BYTES if has_bias(f) else 0) + STEP_BYTES

    return operand(
        "opd2",
        lambda f: (1, f.res0_c, 1, size(f)),
        Layout.STRIDE,
        dtype=UI8,
        constant=False,
        parts=in_lane_of_result("opd2"),
        strides=lambda f: (0, size(f), size(f), 1),
        local_only=True,
        when=lambda f: f.chl_quan and not is_float(f),
    )


def bias_half(number: int) -> Row:
    """The upper (0) or lower (1) halves of float32 biases."""

    def shape(f: Fields) -> Shape4:
        return 1, f.res0_c, 1, 1

    def behind(f: Fields) -> int:
        if not number:
            return 0
        return f.opd2_b_str if f.number("opd2_str") == GIVEN else steps(f, "opd2", shape(f), 2)[0] * 2

    return operand(
        "opd2",
        shape,
        Layout.STRIDE,
        dtype=UI16,
        constant=False,
        parts=in_lane_of_result("opd2"),
        first=behind,
        strides=lambda f: steps(f, "opd2", shape(f), 2),
        local_only=True,
        when=lambda f: is_float(f) and has_bias(f),
    )


def _kernel_shape(f: Fields) -> Shape4:
    return 1, f.res0_c, f.opd1_h, f.opd1_w


def _kernel_dtype(f: Fields) -> DType:
    return constant_dtype(f, "opd1")


def _pool_attributes(f: Fields) -> dict[str, Any]:
    return {**window_attributes(f), **(finishing(f) if f.sub == AVERAGE else {})}


@family("cvi.pool", registers=("cvi_pool",))
class Pooling:
    """The largest or smallest number of each window, starting at the padding's value; or the sum times one number."""

    input = tensor("opd0", own_shape("opd0"), constant=False)
    input_high = high_plane("opd0", own_shape("opd0"))
    weight = operand(
        "opd1",
        (1, 1, 1, 1),
        dtype=lambda f: byte_dtype(f, "opd1"),
        constant=lambda f: True,
        when=lambda f: f.sub == AVERAGE,
    )
    result = tensor("res0", own_shape("res0"), result_)
    result_high = high_plane("res0", own_shape("res0"), result_)
    attributes = staticmethod(_pool_attributes)
    rules = POOLS


@family("cvi.depthwise", registers=("cvi_depthwise",))
class Depthwise:
    """Each channel of the image by its own kernel, in the channel's lane, or by one number."""

    input = tensor("opd0", own_shape("opd0"), constant=False)
    input_high = high_plane("opd0", own_shape("opd0"))
    weight = operand(
        "opd1",
        _kernel_shape,
        Layout.STRIDE,
        dtype=_kernel_dtype,
        parts=in_lane_of_result("opd1"),
        strides=lambda f: steps(f, "opd1", _kernel_shape(f), _kernel_dtype(f).itemsize),
        local_only=True,
    )
    bias = bias_half(0)
    bias_low = bias_half(1)
    requantisation = channel_steps()
    rules = WINDOWS_APART
    result = tensor("res0", own_shape("res0"), result_)
    result_high = high_plane("res0", own_shape("res0"), result_)

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {**window_attributes(f), **finishing(f)}
