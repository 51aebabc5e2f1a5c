"""Numbers at the borders of their formats, as the vendor's simulators treat them. Source: fuzzing against these."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets import kernel
from tests.targets.commands import chip_named, computed

INF, NAN = float("inf"), float("nan")
LARGEST_BF16 = 3.3895313892515355e38
HALVES = {"f16": 1, "bf16": 5}
PLACES = {"opd0_addr": 0, "opd1_addr": 4096, "res0_addr": 8192, "opd2_addr": 12288}


def convolved(chip: str, dtype: str, image: list[float], weights: list[float], **values: int) -> float:
    """Sum over channels of image * weight, as float32."""
    channels = len(image)
    code = HALVES[dtype]
    sizes = {f"{tensor}_{axis}": 1 for tensor in ("opd0", "opd1", "res0") for axis in "nchw"}
    # Of floats of 16 bits the sign says on BM1684X2 which they are.
    by_sign = chip == "BM1684X2"
    codes = {"opd0_prec": 1, "opd1_prec": 1} if by_sign else {"opd0_prec": code, "opd1_prec": code}
    signs = {"opd0_sign": int(dtype == "bf16"), "opd1_sign": int(dtype == "bf16")} if by_sign else {}
    steps = {"res_op_x_str": 1, "res_op_y_str": 1, "opd2_const": 1, "res0_prec": 2}
    given = {
        **sizes,
        **codes,
        **signs,
        **steps,
        **PLACES,
        "opd0_c": channels,
        "opd2_addr": 0,
        "opd3_const": 1,
        **values,
    }
    numbers = {"input": np.array(image, np.float32), "weight": np.array(weights, np.float32)}
    (total,) = computed(chip_named(chip), "conv.normal", numbers, **given)
    return float(total)


def pooled(chip: str, mnemonic: str, taps: Array, prec: int = 2, **values: int) -> Array:
    """What a row of taps becomes, for every row. float32 (rows,)."""
    rows, count = taps.shape
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": rows, "res0_w": 1, "opd0_h": rows, "opd0_w": count}
    window = {"opd1_h": 1, "opd1_w": count, "res_op_x_str": 1, "res_op_y_str": 1, "opd3_const": 1}
    given = {**sizes, **window, "opd0_prec": prec, "res0_prec": prec, **PLACES, "opd2_addr": 0xFFFFFFFF, **values}
    return computed(chip_named(chip), mnemonic, {"input": taps}, **given)


def weighted(chip: str, image: list[int], weight: int, prec: int = 0, **values: int) -> int:
    """``pord.depthwise``, or another sum over a window of integers."""
    mnemonic = {0: "pord.depthwise", 1: "pord.avgpooling", 2: "pord.depthwiserelu"}[values.pop("sub", 0)]
    window = {"opd0_h": 1, "opd0_w": len(image), "opd1_h": 1, "opd1_w": len(image), "opd1_const": 1}
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 1, "res_op_x_str": 1, "res_op_y_str": 1}
    given = {
        **sizes,
        **window,
        "opd2_const": 1,
        "opd3_const": 1,
        **PLACES,
        "opd1_addr": weight,
        "opd2_addr": 0,
        **values,
    }
    (total,) = computed(chip_named(chip), mnemonic, {"input": np.array(image)}, **given)
    return int(total)


def calculated(chip: str, mnemonic: str, left: list[float], right: list[float] | None, **values: int) -> Array:
    """An operation of arithmetic, element by element."""
    numbers = {"left": np.array(left)} | ({} if right is None else {"right": np.array(right)})
    sizes = {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": len(left), "tsk_opd_num": len(numbers)}
    return computed(chip_named(chip), mnemonic, numbers, **{**sizes, **PLACES, **values})


def with_and_without_kernel(monkeypatch: pytest.MonkeyPatch, function: partial[float]) -> tuple[float, float]:
    first = function()
    with monkeypatch.context() as patch:
        patch.setattr(kernel, "is_active", lambda: False)
        return first, function()


@pytest.mark.parametrize("chip", ["BM1684X", "BM1690", "CV184X", "SG2380", "BM1684X2"])
def test_a_bf16_factor_below_the_normal_ones_is_zero_in_a_sum_of_products(
    chip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    largest_subnormal = 2.0**-126 - 2.0**-133
    sums = partial(convolved, chip, "bf16", [LARGEST_BF16, 2.0], [largest_subnormal, 3.0])
    assert with_and_without_kernel(monkeypatch, sums) == (6.0, 6.0)
    infinite = partial(convolved, chip, "bf16", [INF, 2.0], [largest_subnormal, 3.0])
    assert np.isnan(with_and_without_kernel(monkeypatch, infinite)).all()


@pytest.mark.parametrize(("product", "kept"), [(127, 127), (128, 0), (129, 65), (191, 127), (192, 64), (1023, 127)])
def test_bm1688_loses_bits_of_tiny_products_of_f16(product: int, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    sums = partial(convolved, "BM1688", "f16", [product * 2.0**-24], [2.0**-24])
    assert with_and_without_kernel(monkeypatch, sums) == (kept * 2.0**-48, kept * 2.0**-48)
    negative = partial(convolved, "BM1688", "f16", [-product * 2.0**-24], [2.0**-24])
    assert with_and_without_kernel(monkeypatch, negative) == (-kept * 2.0**-48, -kept * 2.0**-48)
    assert convolved("SG2380", "f16", [product * 2.0**-24], [2.0**-24]) == product * 2.0**-48


def test_an_old_result_below_the_normal_ones_is_zero_in_a_sum_of_products() -> None:
    chip, sizes = chip_named("SG2380"), {"res0_c": 1, "res0_w": 1, "opd0_w": 1, "opd1_c": 1, "opd1_w": 1, "opd0_c": 1}
    formats = {"opd0_prec": 5, "opd1_prec": 5, "res0_prec": 2, "opd2_prec": 2, "opd2_const": 1, "res_add": 1}
    values = {**sizes, **formats, **PLACES, "opd2_addr": int(np.float32(2.0**-126).view(np.uint32))}
    zeros = {"left": np.zeros(1, np.float32), "right": np.zeros(1, np.float32)}
    (total,) = computed(chip, "mm2.nn", {**zeros, "old": np.array([2.0**-127], np.float32)}, **values)
    assert total == 2.0**-126


def test_a_window_of_bm1684x2_is_chosen_from_in_two_chains() -> None:
    """A NaN is replaced where it is what was kept, and taken where it comes: so the order shows."""
    taps = np.array([[NAN, -1, 1], [1, -1, NAN], [1, NAN, -1], [NAN, 1, NAN]], np.float32)
    np.testing.assert_array_equal(pooled("BM1684X2", "pord.maxpooling", taps), [-1, 1, NAN, 1])
    np.testing.assert_array_equal(pooled("BM1684X2", "pord.minpooling", taps), [-1, NAN, -1, NAN])
    # Of two taps the first is asked whether it is greater; of four the chain of the last one.
    assert pooled("BM1684X2", "pord.maxpooling", np.array([[NAN, 1]], np.float32)) == [1]
    assert np.isnan(pooled("BM1684X2", "pord.maxpooling", np.array([[1, NAN]], np.float32))).all()
    assert pooled("BM1684X2", "pord.maxpooling", np.array([[2, NAN, 2, NAN]], np.float32)) == [2]


@pytest.mark.parametrize(("chip", "prec", "sign"), [("CV184X", 5, 0), ("SG2380", 5, 0), ("BM1684X2", 1, 0)])
def test_sym_range_makes_zero_of_the_nan_of_a_window_and_leaves_infinities(chip: str, prec: int, sign: int) -> None:
    taps = np.array([[NAN, NAN], [INF, INF], [-INF, -INF]], np.float32)
    found = pooled(chip, "pord.maxpooling", taps, prec, opd0_sign=sign, res0_sign=sign, sym_range=1)
    np.testing.assert_array_equal(found, [0, INF, -INF])


@pytest.mark.parametrize(
    ("chip", "number", "kept"),
    [("SG2380", NAN, 0.0), ("SG2380", INF, LARGEST_BF16), ("CV184X", INF, LARGEST_BF16), ("BM1684X2", NAN, 0.0)],
)
def test_sym_range_makes_a_convolution_finite(chip: str, number: float, kept: float) -> None:
    bf16 = {"res0_prec": 1, "res0_sign": 1} if chip == "BM1684X2" else {"res0_prec": 5}
    assert convolved(chip, "bf16", [number], [1.0], sym_range=1, **bf16) == np.float32(kept)


def test_sym_range_leaves_the_nan_of_a_convolution_of_cv184x() -> None:
    assert np.isnan(convolved("CV184X", "bf16", [NAN], [1.0], sym_range=1, res0_prec=5))


def test_cv184x_rotates_no_kernel() -> None:
    taps = {"opd0_w": 2, "opd1_w": 2, "kernel_rotate": 1, "opd0_c": 1}
    assert convolved("CV184X", "bf16", [1.0, 0.0], [3.0, 5.0], **taps) == 3.0
    assert convolved("SG2380", "bf16", [1.0, 0.0], [3.0, 5.0], **taps) == 5.0


def test_the_shift_of_an_average_is_a_whole_word() -> None:
    assert weighted("BM1684X", [200] * 4, 100, sub=1, res0_prec=3, opd2_addr=4) == 5000
    assert weighted("BM1684X", [200] * 4, 100, sub=1, res0_prec=3, opd2_addr=0x10004) == 0
    assert weighted("BM1684X", [200] * 4, 100, sub=1, res0_prec=3, opd2_addr=0xFFFFFFFF) == 65535


def test_a_rectified_depthwise_sum_is_limited_without_a_sign() -> None:
    assert weighted("BM1684X", [100, 100], 1, sub=2, opd0_sign=1, opd1_sign=1) & 0xFF == 200
    assert weighted("BM1684X", [100, 100], 1, opd0_sign=1, opd1_sign=1) == 127


def test_the_sign_of_a_bias_makes_a_depthwise_sum_signed() -> None:
    assert weighted("BM1684X", [200, 200], 1, opd2_sign=1) == 127
    assert weighted("BM1684X", [200, 200], 1) == 255


def test_a_shift_moves_into_a_wider_result() -> None:
    wide = {"opd1_sign": 1, "res0_prec": 3, "opd2_n_str": 4}
    for name in ("arith.ashift", "arith.logicShift"):
        found = calculated("BM1684X", name, [255, 255, 255], [9, -9, -40], **wide)
        np.testing.assert_array_equal(found.astype(np.int64) & 0xFFFF, [0xFE00, 1, 1])


def test_a_product_beyond_64_bits_is_shifted_and_limited() -> None:
    most, whole = 0xFFFFFFFF, {"opd0_prec": 4, "opd1_prec": 4, "res0_prec": 4}
    third = {"opd2_const": 1, "tsk_opd_num": 3}
    for amount, wanted in ((-5, most), (-32, most - 1), (-33, (most - 1) >> 1), (3, most)):
        found = calculated("BM1684X", "arith.muls", [most], [most], **whole, **third, opd2_addr=amount & 0xFF)
        assert int(found[0]) & most == wanted


def test_sym_range_makes_a_quotient_finite() -> None:
    found = calculated("BM1684X2", "arith.div", [60000.0], [0.5], opd0_prec=1, opd1_prec=1, res0_prec=1, sym_range=1)
    assert found[0] == 65504


def test_sym_range_makes_a_cast_finite() -> None:
    cast = {"opd0_prec": 2, "res0_prec": 1, "sym_range": 1}
    found = calculated("SG2380", "arith.cast", [INF, -INF, NAN], None, **cast)
    np.testing.assert_array_equal(found, [65504, -65504, 0])


@pytest.mark.parametrize(
    ("mode", "expected"),
    [(0, 1.0), (1, 1.0078125), (2, 1.0), (3, 1.0), (4, 1.0078125)],
)
def test_a_product_is_cast_by_its_round_mode(mode: int, expected: float) -> None:
    """1 + 2**-8 is in the middle of two numbers of bf16."""
    formats = {"opd0_prec": 2, "opd1_prec": 2, "res0_prec": 1, "res0_sign": 1, "tsk_opd_num": 2, "opd2_n_str": mode}
    found = calculated("BM1684X2", "arith.mul_cast", [2 + 2**-7, -INF], [0.5, 2.0], **formats)
    np.testing.assert_array_equal(found, [expected, -INF])


def test_forms_of_the_product_with_a_cast_that_are_not_known_are_refused() -> None:
    formats = {"opd0_prec": 2, "opd1_prec": 2, "tsk_opd_num": 2}
    for other in ({"res0_prec": 2}, {"res0_prec": 1, "opd2_n_str": 5}, {"res0_prec": 1, "opd0_prec": 1}):
        with pytest.raises(NotSimulated, match="mul_cast"):
            calculated("BM1684X2", "arith.mul_cast", [1.0], [2.0], **{**formats, **other})


def test_what_the_emulator_answers_at_random_is_refused() -> None:
    with pytest.raises(NotSimulated, match="copy_mb"):
        calculated("BM1684X2", "arith.copy_mb", [1.0], None, opd0_prec=2, res0_prec=2)


def test_a_matrix_product_of_8_bit_floats_is_rounded_half_to_even_whatever_the_mode() -> None:
    sizes = {"res0_c": 1, "res0_w": 1, "opd0_w": 1, "opd1_c": 1, "opd1_w": 1, "opd0_c": 1, "opd2_const": 1}
    formats = {"opd0_prec": 7, "opd1_prec": 7, "res0_prec": 7, "opd0_sign": 1, "opd1_sign": 1, "res0_sign": 1}
    numbers = {"left": np.array([1.125], np.float32), "right": np.array([1.125], np.float32)}
    for mode in range(5):
        values = {**sizes, **formats, **PLACES, "opd2_addr": 0, "opd2_prec": 2, "opd2_n_str": mode}
        assert computed(chip_named("BM1690"), "mm2.nn", numbers, **values) == [1.25]


def test_a_cast_to_f16_takes_subnormal_float32_for_zeros_in_every_mode() -> None:
    for mode in range(5):
        cast = {"opd0_prec": 2, "res0_prec": 1, "opd2_n_str": mode}
        np.testing.assert_array_equal(calculated("SG2380", "arith.cast", [1e-40, -1e-40], None, **cast), [0, 0])


def test_a_rectified_nan_of_a_float32_convolution_is_zero_by_its_sign_on_sg2380() -> None:
    formats = {"opd0_prec": 2, "opd1_prec": 2, "relu": 1}
    assert convolved("SG2380", "bf16", [INF, -INF], [1.0, 0.0], **formats) == 0
    assert np.isnan(convolved("BM1690", "bf16", [INF, -INF], [1.0, 0.0], **formats))
