"""Groups of 16-bit floats whose largest product's exponent comes from logarithms of the factors."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import dot
from tdb_dap.targets.arithmetic.products import of_matrices

pytestmark = pytest.mark.skipif(not kernel.is_built, reason="compares the kernel with NumPy")

GROUP = 32


def bf16(numbers: Array) -> Array:
    return (numbers.astype(np.float32).view(np.uint32) & np.uint32(0xFFFF0000)).view(np.float32)


def assert_equal_bits(left: Array, right: Array, size: int = GROUP) -> None:
    totals = np.zeros((left.shape[0], right.shape[1]), np.float32)
    products = of_matrices(left, right)
    with kernel.switched(False), np.errstate(invalid="ignore"):
        expected = dot.grouped(totals, products, size)
    with kernel.switched(True):
        actual = dot.grouped(totals, products, size)
    np.testing.assert_array_equal(actual.view(np.uint32), expected.view(np.uint32))


def with_small_ones(random: np.random.Generator, shape: tuple[int, int], exponents: int) -> Array:
    """Numbers of which some lose bits when they are truncated to the unit of the largest."""
    return bf16(random.standard_normal(shape) * 2.0 ** random.integers(-exponents, 1, shape))


@pytest.mark.parametrize("bits", [7, 10], ids=["bf16", "f16"])
def test_every_pair_of_mantissas_next_to_a_power_of_two(bits: int) -> None:
    """The largest product of a group decides: its exponent must be right on both sides of each power of two."""
    random = np.random.default_rng(1)
    mantissas = 1 + np.arange(1 << bits) / (1 << bits)
    chosen = mantissas[:: max(1, (1 << bits) // 256)]
    left, right = with_small_ones(random, (chosen.size, GROUP), 12), with_small_ones(random, (GROUP, chosen.size), 12)
    left, right = np.clip(left, -0.5, 0.5), np.clip(right, -0.5, 0.5)
    left[:, 5] = 2 * chosen
    opposite = np.minimum(np.round(2 / chosen * (1 << bits)) / (1 << bits), mantissas[-1])
    right[5] = np.maximum(opposite, 1) * 2
    assert_equal_bits(left.astype(np.float32), right.astype(np.float32))
    right[5] = np.maximum(opposite - 2.0**-bits, 1) * 2
    assert_equal_bits(left.astype(np.float32), right.astype(np.float32))


@pytest.mark.parametrize("exponents", [2, 20, 60, 120])
def test_exponents_beyond_those_that_16_bits_hold(exponents: int) -> None:
    random = np.random.default_rng(exponents)
    left, right = (with_small_ones(random, shape, exponents) for shape in ((40, 96), (96, 40)))
    assert_equal_bits(left, right)
    assert_equal_bits(left * np.float32(2.0**40), right * np.float32(2.0**40))


def test_zeros_infinities_and_a_last_group_of_an_odd_number() -> None:
    random = np.random.default_rng(2)
    left, right = with_small_ones(random, (33, 75), 10), with_small_ones(random, (75, 41), 10)
    left[3] = right[:, 7] = left[:, 32:64] = 0
    assert_equal_bits(left, right)
    left[8, 9], right[11, 20] = np.inf, np.nan
    assert_equal_bits(left, right)


def test_numbers_with_more_bits_and_groups_of_odd_sizes() -> None:
    random = np.random.default_rng(3)
    left, right = (random.standard_normal(shape).astype(np.float32) for shape in ((48, 96), (96, 48)))
    with kernel.switched(True):
        one = dot.grouped(np.zeros((48, 48), np.float32), of_matrices(left, right), GROUP)
        rows = [dot.grouped(np.zeros((1, 48), np.float32), of_matrices(row[None], right), GROUP) for row in left]
    np.testing.assert_array_equal(one.view(np.uint32), np.concatenate(rows).view(np.uint32))
    assert_equal_bits(bf16(left), bf16(right), 31)
