"""Sums that several commands form one after another. Source: the vendor's simulators."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tests.targets.commands import chip_named, computed


@pytest.mark.parametrize("chip", ["BM1684X", "BM1688", "BM1690", "SG2380"])
def test_what_a_sum_goes_on_from_is_float32_although_its_result_is_not(chip: str) -> None:
    """64 channels at once, or 32 of them into float32 and the others on top of it, give the same words of 16 bits."""
    random = np.random.default_rng(3)
    image = random.standard_normal((1, 64, 4, 4)).astype(np.float16)
    weight = random.standard_normal((8, 64, 3, 3)).astype(np.float16)
    bias = random.standard_normal((1, 8, 1, 1)).astype(np.float32)
    sizes = {"res0_n": 1, "res0_c": 8, "res0_h": 2, "res0_w": 2, "opd0_h": 4, "opd0_w": 4, "opd1_h": 3, "opd1_w": 3}
    places = {"opd0_addr": 0x4000, "opd1_addr": 0x8000, "opd2_addr": 0xC000, "res0_addr": 0}
    halves = {"opd0_prec": 1, "opd1_prec": 1, "opd2_prec": 2, "opd3_const": 1, "res_op_x_str": 1, "res_op_y_str": 1}
    fields = {**sizes, **places, **halves}

    def convolved(part: slice, **more: int) -> Array:
        given: dict[str, Array] = {"input": image[:, part], "weight": weight[:, part], "bias": bias, "old": before}
        return computed(chip_named(chip), "conv.normal", given, **fields, opd0_c=image[:, part].shape[1], **more)

    before = np.zeros((1, 8, 2, 2), np.float32)
    whole = convolved(slice(0, 64), res0_prec=1)
    before = convolved(slice(0, 32), res0_prec=2)
    bias = np.zeros_like(bias)
    np.testing.assert_array_equal(convolved(slice(32, 64), res0_prec=1, res_add=1), whole)


@pytest.mark.parametrize("chip", ["BM1684X", "BM1688", "BM1690"])
def test_a_matrix_product_goes_on_from_float32_as_well(chip: str) -> None:
    one = np.ones((1, 1), np.float16)
    given: dict[str, Array] = {"left": one, "right": one, "bias": np.zeros(1), "old": np.array([2049], np.float32)}
    halves = {"opd0_prec": 1, "opd1_prec": 1, "opd2_prec": 2, "opd2_const": 1, "res0_prec": 1, "res_add": 1}
    places = {"opd0_addr": 0x4000, "opd1_addr": 0x8000, "opd2_addr": 0, "res0_addr": 0}
    sizes = {"res0_c": 1, "res0_w": 1, "opd1_c": 1, "opd1_w": 1}
    assert computed(chip_named(chip), "mm2.nn", given, **halves, **places, **sizes).tolist() == [2050]


def test_a_product_of_bytes_goes_on_from_16_bits_that_were_shifted_on_bm1684() -> None:
    """As of 1,280 channels in MobileNetV2: the first part is kept with 3 bits less, the second makes bytes of all."""
    given: dict[str, Array] = {
        "left": np.array([[3, 5]]),
        "right": np.array([[7], [-20]]),
        "bias": np.array([[100]]),
        "old": np.array([[300]]),
    }
    fields = {"opd1_sign": 1, "opd2_sign": 1, "opd2_prec": 3, "tsk_opd_num": 3, "res_add": 1, "res_add_sign": 1}
    shifts = {"right_shift": 5, "left_shift": 3, "shift_typ": 1}
    sizes = {"res0_n": 1, "res0_c": 1, "res0_w": 1, "opd0_n": 1, "opd0_c": 1, "opd0_w": 2, "opd1_w": 2}
    start = 0x8000000
    places = {"opd0_addr": start + 128, "opd1_addr": start + 256, "opd2_addr": start + 512, "res0_addr": start}
    found = computed(chip_named("BM1684"), "mm.mul", given, **fields, **shifts, **sizes, **places)
    assert found.tolist() == [((3 * 7 - 5 * 20 + 100 + (300 << 3)) + 16) >> 5]
