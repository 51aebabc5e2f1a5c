"""Rules of CV18xx that no compiled model depends on; all numbers are the emulator's."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tests.targets.commands import chip_named, command, empty

ONE = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_n": 1, "opd0_c": 1, "opd0_h": 1, "opd0_w": 1}
KERNEL = {"opd1_n": 1, "opd1_c": 1, "opd1_h": 1, "opd1_w": 1, "res_op_x_str": 1, "res_op_y_str": 1}
ADDRESSES = {"opd0_addr": 4096, "opd1_addr": 8192, "opd2_addr": 12288, "res0_addr": 16384, "cmd_en": 1}


@pytest.mark.parametrize(
    ("bias", "expected"), [(0, 0x3FC2), (0x80000001, 0x3FC2), (0x807FFFFF, 0x3FC2), (0x80800000, 0x3FC1)]
)
def test_a_subnormal_bias_counts_as_zero(bias: int, expected: int) -> None:
    """1.0078125 * 1.5 is half between two bfloat16; the sum with the least normal number is rounded toward zero."""
    chip = chip_named("CV181X")
    halves = {
        "res0_seg": 1,
        "opd0_seg": 1,
        "opd1_seg": 1,
        "opd_typ": 1,
        "opd2_str": 3,
        "opd2_b_str": 16,
        "opd2_n": 1,
        "opd2_c": 1,
        "opd2_h": 1,
        "opd2_w": 1,
    }
    described = command(chip, "conv", tsk_opd_num=3, **ONE, **KERNEL, **ADDRESSES, **halves)
    memory, words = empty(chip), {"input": 0x3F81, "weight": 0x3FC0, "bias": bias >> 16, "bias_low": bias & 0xFFFF}
    for role, word in words.items():
        view = described.binding.operands[role]
        assert isinstance(view, View)
        memory.write(view, np.full(view.shape, word, np.uint16))
    chip.execute(described, memory)
    (result,) = described.results
    assert isinstance(result, View)
    assert memory.read(result).item() == expected


def test_a_depthwise_convolution_with_results_of_16_bits_is_refused() -> None:
    chip = chip_named("CV181X")
    bytes_ = {"opd0_seg": 1, "opd1_seg": 1, "opd0_sign": 1, "opd1_sign": 1, "res0_sign": 1}
    described = command(chip, "conv.dw", tsk_opd_num=2, **ONE, **KERNEL, **ADDRESSES, **bytes_)
    with pytest.raises(NotSimulated, match="depthwise convolution with results of 16 bits"):
        chip.execute(described, empty(chip))
