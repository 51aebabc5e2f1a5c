"""Rules of CV18xx that no compiled model depends on; all numbers are the emulator's."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tests.targets.commands import chip_named, command, computed, empty

ONE = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "opd0_n": 1, "opd0_c": 1, "opd0_h": 1, "opd0_w": 1}
KERNEL = {"opd1_n": 1, "opd1_c": 1, "opd1_h": 1, "opd1_w": 1, "res_op_x_str": 1, "res_op_y_str": 1}
OWN_STEPS = {"res0_str": 3, "opd0_str": 3, "opd1_str": 3, "rshift_typ": 1, "shift_typ": 1}
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
        "opd1_str": 1,
        "opd2_str": 2,
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


@pytest.mark.parametrize(
    ("old", "shift", "expected"), [(2, 31, 35), (1, 31, -128), (1, 30, 127), (1, 3, 35), (16, 3, 36)]
)
def test_what_a_product_is_added_to_wraps_around_in_32_bits(old: int, shift: int, expected: int) -> None:
    """(51 * 88 + (old << shift)) >> 7, half up and limited to a byte."""
    bytes_ = {
        "opd0_seg": 1,
        "opd1_seg": 1,
        "opd0_sign": 1,
        "opd1_sign": 1,
        "opd2_sign": 1,
        "res0_sign": 1,
        "res0_seg": 1,
    }
    shifts = {"res0_b_str": 64, "left_shift": shift, "res_shift": 7}
    numbers = {"left": 51, "right": 88, "old": old, "old_high": 0}
    words = {role: np.array([number]) for role, number in numbers.items()}
    fields = {**ONE, **KERNEL, **ADDRESSES, **bytes_, **shifts, **OWN_STEPS, "tsk_opd_num": 2, "res_add": 1}
    assert computed(chip_named("CV180X"), "arith.mac", words, **fields).tolist() == [expected]


def test_a_depthwise_convolution_with_results_of_16_bits_is_refused() -> None:
    chip = chip_named("CV181X")
    bytes_ = {"opd0_seg": 1, "opd1_seg": 1, "opd0_sign": 1, "opd1_sign": 1, "opd2_sign": 1, "res0_sign": 1}
    bytes_ |= {"rshift_typ": 1, "shift_typ": 1, "res0_b_str": 64}
    described = command(chip, "conv.dw", tsk_opd_num=2, **ONE, **KERNEL, **ADDRESSES, **bytes_)
    with pytest.raises(NotSimulated, match="depthwise convolution with results of 16 bits"):
        chip.execute(described, empty(chip))


def test_the_index_of_an_infinity_is_that_of_one() -> None:
    """Zero has index 0, all others the exponent from 63 on; 128 more if negative. NaN is refused."""
    chip, words = chip_named("CV181X"), [0x7F80, 0xFF80, 0x3F80, 0xBF80, 0x7F7F, 0x0080, 0x0001, 0x8000]
    shape = {"src_n": 1, "src_c": 1, "src_h": 1, "src_w": 8, "dst_c": 1, "dst_h": 1, "dst_w": 8, "mv_lut_idx": 1}
    formats = {"src_fmt": 2, "dst_fmt": 2, "trans_dir": 3, "vld": 1, "dst_base_addr_low": 4096}
    described = command(chip, "dma.l2l", **shape, **formats)
    memory = empty(chip)
    source, (result,) = described.binding.operands["source"], described.results
    assert isinstance(source, View)
    assert isinstance(result, View)
    memory.write(source, np.array(words, np.uint16).reshape(source.shape))
    chip.execute(described, memory)
    found = [f"{word:04x}" for word in memory.read(result).reshape(-1).tolist()]
    assert found == ["3f3f", "bfbf", "3f3f", "bfbf", "bebe", "c1c1", "baba", "0000"]
    memory.write(source, np.full(source.shape, 0x7FC0, np.uint16))
    with pytest.raises(NotSimulated, match="an index of NaN"):
        chip.execute(described, memory)


def test_a_step_along_an_extent_of_one_may_be_odd() -> None:
    """The compiler moves one number into each lane with steps of one byte along the batches and rows."""
    chip = chip_named("CV183X")
    one = {"src_n": 1, "src_c": 32, "src_h": 1, "src_w": 1, "dst_c": 32, "dst_h": 1, "dst_w": 1}
    steps = {"src_n_stride": 1, "src_h_stride": 1, "dst_n_stride": 16, "dst_c_stride_low": 16, "dst_h_stride": 2}
    formats = {"src_fmt": 2, "dst_fmt": 2, "trans_dir": 3, "vld": 1, "dst_base_addr_low": 4096}
    described = command(chip, "dma.l2l", **one, **steps, **formats)
    source, (result,) = described.binding.operands["source"], described.results
    assert isinstance(source, View)
    assert isinstance(result, View)
    memory = empty(chip)
    memory.write(source, np.full(source.shape, 0x3F80, np.uint16))
    chip.execute(described, memory)
    assert set(memory.read(result).reshape(-1).tolist()) == {0x3F80}
    with pytest.raises(NotSimulated, match="a step of an odd number of bytes"):
        command(chip, "dma.l2l", **{**one, "src_h": 2, "dst_h": 2}, **steps, **formats)


MATRICES = {
    "opd0_n": 2,
    "opd0_c": 3,
    "opd0_h": 1,
    "opd0_w": 16,
    "opd1_n": 36,
    "opd1_c": 2,
    "opd1_h": 1,
    "opd1_w": 4,
    "res0_n": 2,
    "res0_c": 2,
    "res0_h": 1,
    "res0_w": 16,
    "res0_seg": 1,
    "opd0_seg": 1,
    "opd1_seg": 1,
    "opd2_n": 1,
    "tsk_opd_num": 2,
}
"""A left matrix of 36 columns, 16 in a lane and 4 in the last one, and a right one of 32 columns."""


@pytest.mark.parametrize(
    ("breaks", "text"),
    [
        ({}, ""),
        ({"opd0_w": 12, "opd1_w": 12}, ""),
        ({"opd1_n": 48}, "its left matrix has 36 columns and its right one 48 rows"),
        ({"opd1_w": 16}, "its left matrix has 48 columns and its right one 36 rows"),
        ({"opd1_c": 3}, "its right matrix has 3 lanes and its result 2"),
        ({"res0_n": 1}, "its left matrix has 2 rows and its result 1"),
    ],
)
def test_matrices_that_fill_their_last_lane_in_part_are_legal(breaks: dict[str, int], text: str) -> None:
    chip = chip_named("CV181X")
    assert chip.illegal(command(chip, "matrix", **{**MATRICES, **ADDRESSES, **breaks})) == text


@pytest.mark.parametrize("is_float", [0, 1])
@pytest.mark.parametrize("name", ["arith.max", "arith.add", "conv.dw"])
def test_signs_say_nothing_of_floats(name: str, is_float: int) -> None:
    """Compilers set that of the second operand alone, and the emulator computes it."""
    chip = chip_named("CV181X")
    steps = (
        {"res0_str": 3, "opd0_str": 3, "opd1_str": 3}
        if name.startswith("arith.")
        else {"opd1_str": 0, "opd2_sign": 1, "rshift_typ": 1, "shift_typ": 1}
    )
    fields = {**ONE, **KERNEL, **ADDRESSES, **steps, "res0_seg": 1, "opd0_seg": 1, "opd1_seg": 1, "opd1_sign": 1}
    text = chip.illegal(command(chip, name, tsk_opd_num=2, opd_typ=is_float, **fields))
    assert bool(text) == (not is_float)
    assert not text or "its result is unsigned" in text


@pytest.mark.parametrize("is_float", [0, 1])
def test_partial_sums_of_a_matrix_are_rows_behind_rows(is_float: int) -> None:
    """The planes follow each other; the field for their distance, which convolutions have, counts for nothing."""
    chip, memory, random = chip_named("CV181X"), empty(chip_named("CV181X")), np.random.default_rng(3)
    fields = {
        **MATRICES,
        **ADDRESSES,
        "opd_typ": is_float,
        "opd0_sign": 1,
        "opd1_sign": 1,
        "res0_sign": 1,
        "opd2_sign": 1,
    }
    fields |= {"rshift_typ": 1, "res0_b_str": 3}
    first, last, whole = (
        command(chip, "matrix", **fields, ps32_md=mode, res_shift=shift)
        for mode, shift in ((2, 0), (1, 1 - is_float), (0, 0))
    )
    for view in whole.binding.operands.values():
        assert isinstance(view, View)
        words = random.integers(0x3F80, 0x4000, view.shape) if is_float else random.integers(-2, 3, view.shape)
        memory.write(view, words.astype(view.dtype.bits_dtype))
    for described in (first, last):
        chip.execute(described, memory)
    (result,) = whole.results
    assert isinstance(result, View)
    twice = result.dtype.decode(memory.read(result))
    chip.execute(whole, memory)
    once = result.dtype.decode(memory.read(result))
    assert once.any()
    assert (twice == (2 * once if is_float else once)).all()
    planes = [view.address for view in first.results if isinstance(view, View)]
    assert set(np.diff(planes)) == {2 * 16 * (1 + is_float)}


@pytest.mark.parametrize(
    ("name", "field"), [("arith.ge", "res0_seg"), ("arith.sub", "opd0_seg"), ("arith.add", "opd0_seg")]
)
def test_integers_of_operations_have_one_width_each(name: str, field: str) -> None:
    chip = chip_named("CV181X")
    wanted = int(field == "res0_seg")
    given = {"res0_str": 3, "opd0_str": 3, "opd1_str": 3, "res0_seg": 1, "opd0_seg": 0, "opd1_seg": 1}
    given |= {"opd0_b_str": 16, "res0_b_str": 16, **ADDRESSES, **ONE, "tsk_opd_num": 2}
    given |= {f"opd1_{axis}": 1 for axis in "nchw"}
    assert f"its field {field} is" not in chip.illegal(command(chip, name, **{**given, field: wanted}))
    text = chip.illegal(command(chip, name, **{**given, field: 1 - wanted}))
    assert text == f"its field {field} is {1 - wanted}, and not {wanted}"


@pytest.mark.parametrize(("name", "expected"), [("conv", 0x3F800000), ("matrix", 0x3F7FFFFF)])
def test_a_subnormal_sum_that_goes_on_is_zero_in_a_convolution(name: str, expected: int) -> None:
    """1 plus a tiny negative number is below 1, rounded toward zero; a sum that is infinite goes on as the largest."""
    chip, memory = chip_named("CV181X"), empty(chip_named("CV181X"))
    formats = {
        "res0_seg": 1,
        "opd0_seg": 1,
        "opd1_seg": 1,
        "opd_typ": 1,
        "opd1_str": int(name == "conv"),
        "res0_b_str": 64,
        "opd2_n": 1,
    }
    described = command(chip, name, tsk_opd_num=2, ps32_md=3, **{**ONE, **KERNEL, **ADDRESSES}, **formats)
    for (tiny, factor), stored in {(0x80000001, 0x3F80): expected, (0x7F7F0000, 0x7F7F): 0x7F7FFFFF}.items():
        words = {"input": factor, "left": factor, "weight": 0x3F80, "right": 0x3F80}
        words |= {"sum_upper": tiny >> 16, "sum_lower": tiny & 0xFFFF}
        for role, view in described.binding.operands.items():
            assert isinstance(view, View)
            memory.write(view, np.full(view.shape, words[role], np.uint16))
        chip.execute(described, memory)
        upper, lower = (int(memory.read(view).item()) for view in described.results if isinstance(view, View))
        assert upper << 16 | lower == stored
