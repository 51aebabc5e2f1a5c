"""Plans and micro-kernels of CV18xx: the same bits as NumPy, on the numbers that are the first to differ."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import BF16, SI8, SI32, UI8, Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import elements, truncating
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_AWAY, HALF_UP, requantised
from tdb_dap.targets.arithmetic.stored import Stored
from tdb_dap.targets.kernel.constants import Operator
from tdb_dap.targets.semantics.cv18xx.unpacking import unpacked
from tests.targets.test_plans import walk

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason="they are in the C kernel")

WORDS = np.array([0, 1, -1, 2, 1 << 30, -(1 << 30), (1 << 31) - 1, -(1 << 31), (1 << 31) - 128], np.int64)
MULTIPLIERS = np.array([0, 1, -1, 1 << 30, (1 << 31) - 1, -(1 << 31), 0x40000001, -0x55555555], np.int64)
SPECIAL = np.array(
    [
        *(0, 0x8000, 1, 0x8001, 0x7F, 0x80, 0x8080, 0x3F80, 0xBF80, 0x4EFF, 0x7F7F, 0xFF7F, 0x7F80, 0xFF80, 0x7F81),
        *(0xFFC0, 0x4700, 0x42FE, 0x42FF, 0xC300, 0xC301, 0x3F00, 0x3FC0, 0x4020, 0x5F80, 0xDF80, 0x5F7F),
    ],
    np.uint16,
)


@pytest.mark.parametrize("name", ["CV180X", "CV181X", "CV183X"])
def test_windows_by_their_plans(name: str) -> None:
    seen = walk(name, 120, seed=3, only={"conv", "conv.dw", "pool.avg", "pool.max"})
    assert seen["done"] > 50, seen


@pytest.mark.parametrize("amount", [0, 1, 7, 31])
@pytest.mark.parametrize("limits", [(-128, 127), (0, 255), (-(1 << 31), (1 << 31) - 1)])
def test_the_high_half_of_a_product_is_rounded_and_then_shifted(amount: int, limits: tuple[int, int]) -> None:
    for multiplier in MULTIPLIERS.tolist():
        steps = Steps(HALF_AWAY, multiplier=multiplier, amount=-amount, held=True, limits=limits, is_high=True)
        expected = []
        for word in WORDS.tolist():
            sign = -1 if word * multiplier < 0 else 1
            high = (abs(word * multiplier) + (1 << 30)) >> 31
            shifted = sign * ((high + (1 << amount >> 1)) >> amount)
            expected.append(min(max(shifted, limits[0]), limits[1]))
        found = requantised(WORDS, steps, SI32).view(np.int32)
        assert found.tolist() == expected, multiplier
        words = Stored(WORDS.astype(np.int32).reshape(1, 1, 1, -1).view(np.uint32), SI32)
        at_once = elements.integers(Operator.FIRST, words, words, steps, 4)
        assert at_once is not None
        assert at_once.view(np.int32).reshape(-1).tolist() == expected, multiplier
        with kernel.switched(False):
            assert requantised(WORDS, steps, SI32).view(np.int32).tolist() == expected


def test_a_product_is_added_to_a_number_of_two_bytes() -> None:
    random = np.random.default_rng(0)
    a, b, low, high = (random.integers(0, 256, (1, 3, 1, 700)).astype(np.uint8) for _ in range(4))
    left, right, first, second = Stored(a, SI8), Stored(b, UI8), Stored(low, UI8), Stored(high, SI8)
    total = a.view(np.int8).astype(int) * b + ((low + (high.view(np.int8).astype(int) << 8)) << 3)
    for plane, limits in ((0, (-128, 127)), (1, (-32768, 32767))):
        expected = np.clip((total + 8) >> 4, *limits) >> 8 * plane & 0xFF
        found = elements.integers_added(left, right, first, second, 3, Steps(HALF_UP, amount=-4, limits=limits), plane)
        np.testing.assert_array_equal(found, expected.astype(np.uint8))


def bf16(words: Array) -> Stored:
    return Stored(words, BF16)


@pytest.mark.parametrize("operator", [Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY, Operator.LARGER])
def test_bfloat16_of_every_kind(operator: Operator) -> None:
    random, pairs = np.random.default_rng(1), np.meshgrid(SPECIAL, SPECIAL)
    both = [np.append(each, random.integers(0, 1 << 16, 4000).astype(np.uint16)) for each in pairs]
    a, b = (each.reshape(1, 1, 1, -1) for each in both)
    x, y = truncating.operand(a), truncating.operand(b)
    with np.errstate(all="ignore"):
        numbers = {
            Operator.ADD: x + y,
            Operator.SUBTRACT: x - y,
            Operator.MULTIPLY: x * y,
            Operator.LARGER: np.maximum(x, y),
        }[operator]
        expected = truncating.encode(numbers)
    np.testing.assert_array_equal(elements.truncating(operator, bf16(a), bf16(b)), expected)
    rectified = elements.truncating(operator, bf16(a), bf16(b), rectifies=True)
    np.testing.assert_array_equal(rectified, truncating.rectified(expected))


def test_a_product_is_added_toward_zero() -> None:
    random = np.random.default_rng(2)
    words = [np.append(np.roll(np.tile(SPECIAL, 30), shift), random.integers(0, 1 << 16, 9000)) for shift in (0, 5, 11)]
    a, b, old = (each.astype(np.uint16).reshape(1, 1, 1, -1) for each in words)
    with np.errstate(all="ignore"):
        product = truncating.multiply(truncating.operand(a), truncating.operand(b))
        total = truncating.add(product, (old.astype(np.uint32) << np.uint32(16)).view(np.float32))
        expected = truncating.encode(total)
        to_nearest = truncating.encode(product + (old.astype(np.uint32) << np.uint32(16)).view(np.float32))
    found = elements.truncating(Operator.MULTIPLY_ADD, bf16(a), bf16(b), bf16(old))
    np.testing.assert_array_equal(found, expected)
    assert np.any(to_nearest != expected), "rounding toward zero shows"


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize("is_cut", [False, True])
def test_every_bfloat16_as_a_byte(is_cut: bool, drops: bool) -> None:
    words = np.arange(1 << 16, dtype=np.uint16).reshape(1, 1, 256, 256)
    numbers = (words.astype(np.uint32) << np.uint32(16)).view(np.float32)
    for low, high in ((-128, 127), (0, 255)):
        size, is_negative = words & 0x7FFF, words >> 15
        finite = np.where(size >= 0x7F80, np.where(is_negative, -1e9, 1e9), numbers)
        finite = np.where(drops & (size >= 0x5F80) & (size <= 0x7F80), 0, finite)
        whole = np.trunc(finite) if is_cut else np.rint(finite)
        expected = (np.clip(whole, low, high).astype(np.int64) & 0xFF).astype(np.uint8)
        np.testing.assert_array_equal(elements.truncating_bytes(bf16(words), is_cut, drops, (low, high)), expected)


def compressed(random: np.random.Generator, blocks: int, flags: int) -> Array:
    """A heading, codes of blocks and a stream of random bits."""
    codes = random.integers(0, 7, blocks) << 5 | random.integers(8, 32, blocks)
    codes[random.random(blocks) < 0.1] = 0xE0
    codes = np.append(codes, np.zeros(-blocks % 16, np.int64))
    size = 36 * blocks
    heading = size | flags | int(random.integers(0, 256)) << 32 | int(random.integers(0, 128)) << 40
    stream = random.integers(0, 256, size) | random.integers(0, 256, size)
    data = np.append(np.frombuffer(heading.to_bytes(16, "little"), np.uint8), codes)
    return np.append(data, stream).astype(np.uint8)


def result(data: Array, count: int, is_float: bool) -> list[int] | str:
    try:
        return unpacked(data, count, is_float).tolist()
    except (NotSimulated, ValueError) as error:
        return type(error).__name__


@pytest.mark.parametrize("flags", [0, 1 << 28, 1 << 29, 1 << 29 | 1 << 47])
def test_weights_are_unpacked_as_in_numpy(flags: int) -> None:
    random, seen = np.random.default_rng(flags % 97), 0
    is_float = bool(flags >> 29 & 1)
    for blocks in range(1, 60):
        data, count = compressed(random, min(blocks, 12), flags), 16 * min(blocks, 12) - int(random.integers(0, 16))
        found = result(data, count, is_float)
        with kernel.switched(False):
            assert found == result(data, count, is_float)
        seen += isinstance(found, list)
    assert seen > 5, "streams that end are no proof"


def test_a_stream_that_ends_is_refused() -> None:
    data = compressed(np.random.default_rng(5), 4, 0)
    data[:3] = 2, 0, 0
    assert result(data, 64, is_float=False) == "NotSimulated"
    with kernel.switched(False):
        assert result(data, 64, is_float=False) == "NotSimulated"


def test_no_bit_is_cut_off_where_nothing_is_shifted() -> None:
    found = requantised(WORDS, Steps(DOWN), SI32).view(np.int32)
    assert found.tolist() == WORDS.tolist()
