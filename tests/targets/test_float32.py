"""Flush-to-zero arithmetic against exact rational arithmetic, in a process whose floating-point mode is the default."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32
from tdb_dap.targets.arithmetic import dot, float32
from tdb_dap.targets.arithmetic.dot import group_sum, interleaved_pairs

# Random words, with many near the edge of the normal range.
WORDS = st.one_of(
    st.integers(0, 0xFFFFFFFF),
    st.builds(lambda sign, word: sign << 31 | word, st.integers(0, 1), st.integers(0, 0x02000000)),
)
SMALLEST = Fraction(2) ** -126


def number(word: int) -> np.ndarray:
    return np.array([word], np.uint32).view(np.float32)


def flushed(value: np.float32) -> Fraction:
    return Fraction(0) if abs(Fraction(float(value))) < SMALLEST else Fraction(float(value))


def rounded_unbounded(value: Fraction) -> Fraction:
    """Half to even on 24 bits, whatever the exponent."""
    if value == 0:
        return value
    exponent = math.floor(math.log2(abs(value)))
    while abs(value) >= Fraction(2) ** (exponent + 1):
        exponent += 1
    while abs(value) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** (exponent - 23)
    return Fraction(round(value / unit)) * unit


@settings(max_examples=600, deadline=None)
@given(WORDS, WORDS, st.sampled_from(["add", "subtract", "multiply"]))
def test_arithmetic_flushes_after_rounding(a: int, b: int, name: str) -> None:
    left, right = float32.flush(number(a)), float32.flush(number(b))
    if not (np.isfinite(left).all() and np.isfinite(right).all()):
        return
    x, y = flushed(left[0]), flushed(right[0])
    exact = {"add": x + y, "subtract": x - y, "multiply": x * y}[name]
    with np.errstate(all="ignore"):
        result = getattr(float32, name)(left, right)[0]
    if np.isinf(result):
        assert abs(exact) >= Fraction(2) ** 127
        return
    rounded = rounded_unbounded(exact)
    expected = Fraction(0) if abs(rounded) < SMALLEST else rounded
    assert Fraction(float(result)) == expected


def test_the_largest_product_below_the_normal_range_is_zero(sums: str) -> None:
    just_below_one = np.array([0x3F7FFFFF], np.uint32).view(np.float32)
    smallest = np.array([2.0**-126], np.float32)
    assert float32.multiply(just_below_one, smallest)[0] == 0
    assert float32.multiply(np.array([1.0], np.float32), smallest)[0] == smallest[0]


def test_flushing_keeps_the_sign_and_f16_keeps_its_subnormals(sums: str) -> None:
    tiny = np.array([1e-40, -1e-40], np.float32)
    assert np.signbit(float32.flush(tiny)).tolist() == [False, True]
    assert (float32.flush(tiny) == 0).all()
    half = np.array([2.0**-24], np.float32)
    assert float32.operand(half, F16)[0] == half[0]


def test_bf16_products_round_before_they_are_judged_tiny(sums: str) -> None:
    """From (1 - 2^-9) * 2^-126 on a product is 2^-126, below that zero."""
    a = np.array([1 - 2.0**-8], np.float32)
    smallest = np.array([2.0**-126], np.float32)
    assert float32.product_in(a, smallest, BF16)[0] == 0
    b = np.array([2.0**-63 * (1 + 2.0**-7)], np.float32)
    c = np.array([2.0**-64 * (2 - 2.0**-6)], np.float32)
    exact = float(b[0]) * float(c[0])
    expected = 2.0**-126 if exact >= (1 - 2.0**-9) * 2.0**-126 else 0.0
    assert float32.product_in(b, c, BF16)[0] == expected


@pytest.mark.parametrize("scale", [1.0, 1e-25])
def test_the_fast_and_the_careful_sum_agree(scale: float) -> None:
    """The shortcut for data that cannot become subnormal gives the same bits as flushing each step."""
    random = np.random.default_rng(7)
    a = (random.standard_normal((5, 9)) * scale).astype(np.float32)
    b = random.standard_normal((9, 6)).astype(np.float32)
    start = np.zeros((5, 1), np.float32)
    assert float32.stays_normal((a, b), (start,)) == (scale == 1.0 or scale > 1e-30)

    def pairs() -> list[tuple[np.ndarray, np.ndarray]]:
        return [(a[:, k][:, None], b[k][None]) for k in range(9)]

    fast = interleaved_pairs(start, None, pairs, (5, 6), True)
    careful = interleaved_pairs(start, None, pairs, (5, 6), False)
    np.testing.assert_array_equal(fast.view(np.uint32), careful.view(np.uint32))


def test_a_group_is_summed_exactly_before_it_is_rounded() -> None:
    """1 + 2^-12 * 2^-12 loses nothing to the order of additions; what is below 2^(e-24) is cut off."""
    left = np.array([[1.0], [2.0**-12], [2.0**-13]], np.float32)
    right = np.array([[1.0], [2.0**-12], [2.0**-13]], np.float32)
    assert group_sum(left, right)[0, 0] == np.float32(1.0)
    left[1] = right[1] = 2.0**-11
    assert group_sum(left, right)[0, 0] == np.float32(1.0 + 2.0**-22)


@pytest.mark.parametrize("b", [0.3, 7.0, 1e20])
def test_division_is_newtons_and_not_exact(b: float) -> None:
    one, divisor = np.array([1.0], np.float32), np.array([b], np.float32)
    quotient = float32.divide(one, divisor, 4, F32)[0]
    assert abs(float(quotient) * b - 1) < 1e-6


def test_nans_come_out_the_same_on_every_machine(sums: str) -> None:
    """The first operand's NaN made quiet, else the second's, else the one of an invalid operation."""
    words = np.array([0x7F800001, 0xFFC12345, 0x7F800000, 0x3F800000], np.uint32).view(np.float32)
    first, second = words[:, None], words[None]
    with np.errstate(all="ignore"):
        product = float32.multiply(first, second).view(np.uint32)
        difference = float32.subtract(first, second).view(np.uint32)
    assert product[0, 1] == 0x7FC00001
    assert product[3, 1] == 0xFFC12345
    assert difference[2, 2] == 0xFFC00000


@pytest.mark.parametrize("scale", [1.0, 2.0**-60, 2.0**60])
def test_the_narrow_and_the_wide_group_sum_agree(scale: float) -> None:
    """Products that float32 holds are summed in it: the same bits as in float64."""
    random = np.random.default_rng(11)
    left = random.standard_normal((32, 5)).astype(np.float16).astype(np.float32)
    right = (random.standard_normal((32, 7)).astype(np.float16) * np.float32(scale)).astype(np.float32)
    left[3] = right[:, 2] = 0
    narrow = dot._narrow_sum(left[:, :, None], right[:, None, :])
    wide = dot._wide_sum(left.astype(np.float64)[:, :, None], right.astype(np.float64)[:, None, :])
    np.testing.assert_array_equal(narrow.view(np.uint32), wide.view(np.uint32))
    np.testing.assert_array_equal(group_sum(left, right).view(np.uint32), wide.view(np.uint32))
