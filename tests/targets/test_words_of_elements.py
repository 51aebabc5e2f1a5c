"""Element-wise commands on the words of numbers, and which NaN a sum keeps. Source: the vendor's simulators."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tests.targets.commands import chip_named, computed
from tests.targets.test_beyond_models import FLOATS, PLACES, f32, row, words

AMOUNTS = np.array([1, -7, 9, 17, 32, 33, -33, 65])
WORD = 0xCA7EBABE
BY_THE_WIDTH = {
    0: [0x7D, 0x7D, 0x7D, 0x7D, 0xBE, 0x7D, 0x5F, 0x7D],
    3: [0x757D, 0x7D75, 0x7D75, 0x757D, 0xBABE, 0x757D, 0x5D5F, 0x757D],
    4: [0x94FD757D, 0x7D94FD75, 0xFD757D94, 0x757D94FD, WORD, 0x94FD757D, 0x653F5D5F, 0x94FD757D],
}
BY_32 = {
    0: [0x7D, 0x7D, 0, 0, 0xBE, 0x7D, 0x5F, 0x7D],
    3: [0x757D, 0x7D75, 0x7D75, 0, 0xBABE, 0x757D, 0x5D5F, 0x757D],
    4: BY_THE_WIDTH[4],
}
BY_64 = {
    0: [0x7D, 0x7D, 0, 0, 0, 0, 0, 0x7D],
    3: [0x757D, 0x7D75, 0x7D75, 0, 0, 0, 0, 0x757D],
    4: [0x94FD757D, 0x7D94FD75, 0xFD757D94, 0x757D94FD, WORD, 0, 0, 0x94FD757D],
}


@pytest.mark.parametrize("code", [0, 3, 4])
@pytest.mark.parametrize(
    ("chip", "name", "expected"),
    [
        ("BM1684X", "arith.cshift", BY_32),
        ("BM1688", "arith.rotate_shift", BY_64),
        ("BM1690", "arith.rotate_shift", BY_64),
        ("SG2380", "arith.rotate_shift", BY_THE_WIDTH),
        ("BM1684X2", "arith.rotate_shift", BY_THE_WIDTH),
    ],
)
def test_a_rotation_by_more_than_the_width_leaves_what_the_host_of_the_chip_leaves(
    chip: str, name: str, expected: dict[int, list[int]], code: int
) -> None:
    given = {"left": np.full(AMOUNTS.size, WORD), "right": AMOUNTS}
    formats = {"opd0_prec": code, "opd1_prec": 0, "res0_prec": code, "opd1_sign": 1}
    assert row(chip, name, given, tsk_opd_num=2, **formats) == expected[code]


LEFT = np.array([0xDEADBEEF, 0x80000000, 0x12345678, 0xA5])
RIGHT = np.array([0xFFFFFFFF, 0x80000000, 0x12345678, 0x55])


@pytest.mark.parametrize(
    ("codes", "signs", "mode", "expected"),
    [
        ((4, 4, 4), (0, 0), 0, [0xFFFFFFFF, 0x80000000, 0x0296CDB8, 0]),
        ((4, 4, 4), (1, 0), 0, [0xBD5B7DDE, 0x80000000, 0x0296CDB8, 0]),
        ((3, 3, 0), (0, 1), 0, [0x80, 0, 0x7F, 0x6E]),
        ((0, 0, 3), (0, 0), 3, [1, 0, 0, 0]),
        ((3, 4, 4), (1, 1), 3, [0, 0, 0x0C4C, 0]),
    ],
)
def test_the_width_of_the_result_says_what_the_upper_half_of_a_product_is(
    codes: tuple[int, int, int], signs: tuple[int, int], mode: int, expected: list[int]
) -> None:
    formats = dict(zip(("opd0_prec", "opd1_prec", "res0_prec"), codes, strict=True))
    values = {**formats, "opd0_sign": signs[0], "opd1_sign": signs[1], "opd2_n_str": mode, "tsk_opd_num": 2}
    assert row("BM1684X", "arith.mulDHR", {"left": LEFT, "right": RIGHT}, **values) == expected


def test_the_upper_half_of_a_product_with_a_number_has_no_further_shift() -> None:
    values = {"tsk_opd_num": 3, "opd1_const": 1, "opd1_addr": 0x55, "opd2_const": 1, "opd2_addr": 3}
    assert row("BM1684X", "arith.mulDHR", {"left": LEFT}, **values) == [0x9F, 0, 0x50, 0x6E]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("arith.cshift", [0xF56DF77E, 4, 0x91A2B3C0, 0x528]),
        ("arith.adds", [0xDEADBEF2, 0x80000003, 0x1234567B, 0xA8]),
    ],
)
def test_a_number_counts_though_it_is_not_announced(name: str, expected: list[int]) -> None:
    values = {"tsk_opd_num": 1, "opd0_prec": 4, "res0_prec": 4, "opd1_const": 1, "opd1_addr": 3}
    assert row("BM1684X", name, {"left": LEFT}, **values) == expected


@pytest.mark.parametrize("code", [1, 5])
def test_a_root_of_16_bits_is_the_low_half_of_that_of_the_word(code: int) -> None:
    given = {"input": np.array([0, 0x3C00, 0x4400, 0x8000, 0x7C00, 0x7E00])}
    expected = [0x451A, 0x235A, 0x1EDA, 0xFD1A, 0xFF5A, 0xFE3A]
    assert row("BM1684X", "sfu.rsqrt", given, opd0_prec=code, res0_prec=code, opd2_n_str=1) == expected


def test_the_depthwise_form_that_rectifies_does_not_with_floats() -> None:
    window = {"opd0_h": 1, "opd0_w": 3, "opd1_h": 1, "opd1_w": 1, "res_op_x_str": 1, "res_op_y_str": 1}
    given = {"input": f32(1, -2, 3), "kernel": f32(-2), "bias": f32(0.5)}
    found = row("BM1684X", "pord.depthwiserelu", given, **window, **FLOATS, res0_w=3, opd3_const=1)
    assert found == f32(-1.5, 4.5, -5.5).tolist()


@pytest.mark.parametrize(("signed", "expected"), [(0, [0xFF9D, 0xFF1C]), (1, [0xFF9D, 0x001C])])
@pytest.mark.parametrize("chip", ["BM1690", "BM1684X2"])
def test_a_number_is_inverted_in_the_width_of_the_result(chip: str, signed: int, expected: list[int]) -> None:
    values = {"opd0_prec": 0, "res0_prec": 3, "opd0_sign": signed, "tsk_opd_num": 1}
    assert row(chip, "arith.not", {"left": np.array([0x62, 0xE3])}, **values) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [(0x8065, 0x0065, [0, 0, 0, 0, 0]), (0xBF80, 0x8001, [0x8000, 0x8000, 0x8000, 0xBF80, 0xBF80])],
)
def test_limits_that_are_subnormal_are_zeros(low: int, high: int, expected: list[int]) -> None:
    numbers = np.array([0, 0x8000, 0x3F80, 0xBF80, 0x7FC0])
    halves = {"opd0_prec": 1, "opd1_prec": 1, "opd2_prec": 1, "res0_prec": 1, "tsk_opd_num": 3}
    halves |= {"opd0_sign": 1, "opd1_sign": 1, "opd2_sign": 1, "res0_sign": 1}
    assert row("BM1684X2", "arith.clamp", {"left": numbers}, **halves, opd1_addr=low, opd2_addr=high) == expected


INDEX = np.array([0, 2, 4, 5, 200])
ROW = np.array([0x41, 0x42, 0x43, 0x44, 0x45])


@pytest.mark.parametrize("announced", [0, 1])
@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("sg.pl_gather_d1coor", {"res0_h": 1, "res0_w": 5, "opd0_h": 1, "opd0_w": 5, "opd1_c": 5, "opd1_w": 1}),
        ("sg.pe_s_gather_d1coor", {"res0_h": 1, "res0_w": 5, "opd0_h": 1, "opd0_w": 5, "opd1_c": 1, "opd1_w": 5}),
    ],
)
def test_an_index_out_of_range_chooses_the_constant_though_it_is_not_announced(
    name: str, sizes: dict[str, int], announced: int
) -> None:
    given = {"data": ROW, "index": INDEX}
    values = {**PLACES, "res0_n": 1, "res0_c": 1, **sizes, "opd1_prec": 3, "opd2_const": announced, "opd2_addr": 0x11}
    assert words(chip_named("BM1684X2"), name, given, **values)[0].tolist() == [0x41, 0x43, 0x45, 0x11, 0x11]


LANE = 0x8000000
OF_WORDS = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "tsk_lane_num": (1 << 64) - 1, "tsk_opd_num": 2}
OF_WORDS |= {"opd0_addr": LANE, "opd1_addr": LANE + 4096, "res0_addr": LANE + 12288}


def of_bm1684(name: str, left: Array, right: Array, code: int, **values: int) -> list[int]:
    formats = {f"{operand}_prec": code for operand in ("opd0", "opd1", "opd2", "res0")}
    strides = {"opd1_n_str": 32, "opd1_c_str": 32, "opd1_h_str": left.size, "opd1_w_str": 1}
    fields = {**OF_WORDS, **formats, **strides, "res0_w": left.size, **values}
    found: list[int] = words(chip_named("BM1684"), name, {"left": left, "right": right}, **fields)[0].tolist()
    return found


@pytest.mark.parametrize("code", [2, 4])
def test_bm1684_selects_a_number_by_words_whatever_their_format_is(code: int) -> None:
    """1, a subnormal, 0, NaN, -infinity, 2; subnormals are not greater than zero, and NaNs equal themselves."""
    left = np.array([0x3F800000, 1, 0, 0x7FC00000, 0xFF800000, 0x40000000])
    right = np.array([0, 0, 0x80000000, 0x7FC00000, 0xFF800000, 0x3F800000])
    assert of_bm1684("arith.select_gt", left, right, code, opd2_addr=77) == [77, 0, 0, 0, 0, 77]
    assert of_bm1684("arith.select_eq", left, right, code, opd2_addr=77) == [0, 0, 0, 77, 77, 0]


@pytest.mark.parametrize(
    ("strides", "expected"),
    [
        ({}, [11, 22, 33, 44]),
        ({"opd1_w_str": 0}, [11, 12, 23, 24]),
        ({"opd1_h_str": 0}, [11, 22, 13, 24]),
        ({"opd1_h_str": 0, "opd1_w_str": 0}, [11, 12, 13, 14]),
    ],
)
def test_an_axis_without_stride_has_one_element_though_there_are_no_gaps(
    strides: dict[str, int], expected: list[int]
) -> None:
    sizes = {"res0_h": 2, "res0_w": 2, "opd1_h_str": 2, **strides}
    right = f32(10, 20, 30, 40)[: 4 // 2 ** len(strides)]
    assert of_bm1684("arith.add", f32(1, 2, 3, 4), right, 2, **sizes) == f32(*expected).tolist()


NAN, MINUS_NAN = 0x7FC00000, 0xFFC00000


def rectified(chip: str, bias: int, image: list[int], weight: list[int]) -> int:
    """A convolution of pixels of one place, rectified."""
    sizes = {f"{tensor}_{axis}": 1 for tensor in ("opd0", "opd1", "res0") for axis in "nchw"}
    sizes |= {"opd0_c": len(image), "res_op_x_str": 1, "res_op_y_str": 1, "opd3_const": 1, "relu": 1}
    places = {"opd0_addr": 0, "opd1_addr": 16384, "opd2_addr": 32768, "res0_addr": 49152}
    given = {"input": np.array(image), "weight": np.array(weight), "bias": np.array([bias])}
    return int(words(chip_named(chip), "conv.normal", given, **{**FLOATS, **PLACES, **sizes, **places})[0][0])


ONE = 0x3F800000


@pytest.mark.parametrize("chip", ["BM1688", "SG2380"])
def test_of_two_nans_the_sign_of_that_in_the_second_accumulator_decides(chip: str) -> None:
    """The bias and every second product stand in the first one, and of one accumulator the first NaN counts."""
    assert rectified(chip, NAN, [MINUS_NAN, ONE], [ONE, ONE]) == 0
    assert rectified(chip, MINUS_NAN, [NAN, ONE], [ONE, ONE]) == NAN
    assert rectified(chip, NAN, [ONE, MINUS_NAN], [ONE, ONE]) == NAN
    assert rectified(chip, 0, [NAN, MINUS_NAN], [ONE, ONE]) == NAN
    assert rectified(chip, 0, [ONE, MINUS_NAN, NAN], [ONE] * 3) == NAN
    assert rectified(chip, 0, [NAN, ONE, MINUS_NAN], [ONE] * 3) == NAN


def test_of_two_nans_that_are_multiplied_that_of_the_weight_or_of_the_image_counts() -> None:
    assert rectified("BM1688", 0, [NAN], [MINUS_NAN]) == 0
    assert rectified("SG2380", 0, [NAN], [MINUS_NAN]) == NAN


@pytest.mark.parametrize(("code", "expected"), [(1, [0x3C00, 0x4200]), (5, [0x3C00, 0x4200]), (2, [0x42003C00, 0x0])])
def test_the_bias_of_8_bit_floats_is_f16_where_an_unscaled_result_has_16_bits(code: int, expected: list[int]) -> None:
    """Of zeros: two numbers of 16 bits side by side in a lane, or one of 32."""
    lanes = chip_named("BM1690").geometry.lanes
    channels = {1: lanes + 1, 5: lanes + 1, 2: 1}[code]
    sizes = {"res0_n": 1, "res0_c": channels, "res0_h": 1, "res0_w": 1, "opd0_h": 1, "opd0_w": 1, "opd1_h": 1}
    window = {"opd1_w": 1, "res_op_x_str": 1, "res_op_y_str": 1, "opd1_const": 1, "opd3_const": 1, "opd5_const": 1}
    bias = np.array([0x3C00] * lanes + [0x4200]) if channels > 1 else np.array([0x42003C00])
    formats = {"opd0_prec": 7, "opd2_prec": 2, "res0_prec": code, "opd0_sign": 1, "opd1_sign": 1}
    fields = {**sizes, **window, **PLACES, **formats, "opd1_addr": 0x38}
    found = words(chip_named("BM1690"), "pord.depthwise", {"bias": bias}, **fields)[0]
    assert [int(found[0]), int(found[-1]) if channels > 1 else 0] == expected


@pytest.mark.parametrize(
    ("coefficients", "expected"),
    [
        ([0x8001, 0, 0], [0, 0, 0, 0, 0]),
        ([0x03FF, 0x3C00, 0], [0, 0x298A, 0x2CCD, 0x1DA6, 0x3810]),
        ([0x8000, 0x8001, 0], [0, 0, 0, 0, 0]),
    ],
)
def test_coefficients_of_an_exponential_that_are_subnormal_are_zero(
    coefficients: list[int], expected: list[int]
) -> None:
    chip = chip_named("BM1684X2")
    numbers = np.array([0, 0.03, 0.3, -1.2, 2.5], np.float16).view(np.uint16)
    powers = np.array([2 ** (i / 16) for i in range(16)], np.float16).view(np.uint16)
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": numbers.size, "opd1_n": 35}
    places = {"res0_addr": 180224, "opd0_addr": 0, "res1_addr": 49408, "opd2_addr": 98304, "opd3_addr": 53824}
    given = {"input": numbers, "series": np.tile(coefficients, chip.geometry.lanes), "table": powers}
    found = words(chip, "sfu.exp", given, **sizes, **places, res0_prec=1, opd0_prec=1, opd1_const=1)
    assert found[0].tolist() == expected


@pytest.mark.parametrize(
    ("chip_name", "names"),
    [("BM1684X", ("arith.ashift", "arith.logicShift")), ("BM1688", ("arith.arith_shift", "arith.logic_shift"))],
)
def test_a_shift_by_a_number_is_one_by_equal_numbers(chip_name: str, names: tuple[str, str]) -> None:
    """The amount in the command, which the kernel shifts by, and the same amount for each element."""
    chip, random = chip_named(chip_name), np.random.default_rng(5)
    for name in names:
        for precision, sign, mode in ((0, 0, 2), (0, 1, 0), (3, 1, 1), (4, 0, 4), (4, 1, 5), (0, 0, 3)):
            left = random.integers(0, 1 << 32, 24, np.uint32).astype(np.int64)
            for amount in (-33, -31, -9, -4, -1, 0, 3, 8, 31, 32, 40):
                shape = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 24, "tsk_opd_num": 2, "opd2_n_str": mode}
                shape |= {"res0_prec": precision, "opd0_prec": precision, "opd0_sign": sign, "opd1_sign": 1}
                shape |= {"opd0_addr": 4096, "res0_addr": 8192}
                numbers = {"left": left, "right": np.full(24, amount)}
                one = computed(chip, name, numbers, **shape, opd1_const=1, opd1_addr=amount & 0xFF)
                each = computed(chip, name, numbers, **shape, opd1_addr=12288)
                assert (one == each).all(), (name, precision, sign, mode, amount)
