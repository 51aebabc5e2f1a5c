"""Words chosen by a comparison, and numbers without fractions or signs: the kernel gives what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI8, SI16, SI32, UI8, UI16, UI32, Array, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import elements
from tdb_dap.targets.arithmetic.rounding import convert
from tdb_dap.targets.arithmetic.stored import Stored, Value
from tdb_dap.targets.kernel.constants import Condition
from tdb_dap.targets.semantics.arithmetic import conditions
from tests.loops import each

pytestmark = pytest.mark.skipif(not kernel.is_active(), reason="compares the C kernel with NumPy")

FLOATS = {F32: (0, 1 << 31, 1, 0x00800000, 0x3F800000, 0xBF800000, 0x7F800000, 0xFF800000, 0x7FC00001, 0xFFFFFFFF)}
HALVES = (0, 0x8000, 1, 0x8001, 0x0400, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7C01, 0xFFFF, 0x7F80, 0xFF80, 0x7F81, 0x0080)


def numbers(dtype: DType, count: int, seed: int) -> Array:
    """Words that are equal now and then, with all special ones among them."""
    random = np.random.default_rng(seed)
    special = FLOATS.get(dtype, HALVES if dtype.is_float else (0, 1, (1 << dtype.bits) - 1, 1 << (dtype.bits - 1)))
    drawn = random.integers(0, 1 << dtype.bits, count, np.uint64).astype(dtype.bits_dtype)
    chosen = np.array(special, dtype.bits_dtype)[random.integers(0, len(special), count)]
    return np.where(random.integers(0, 2, count) == 1, drawn, chosen)


@each("width", kernel.widths())
@each("dtype", [F32, F16, BF16, SI8, UI8, SI16, UI16, SI32, UI32])
@each("words", [np.uint8, np.uint16, np.uint32])
def test_words_are_chosen_as_numpy_chooses_them(width: int, dtype: DType, words: type) -> None:
    count = 1300
    a, b = numbers(dtype, count, 0), numbers(dtype, count, 1)
    yes, no = (np.random.default_rng(seed).integers(0, np.iinfo(words).max, count, words) for seed in (2, 3))
    word = {1: UI8, 2: UI16, 4: UI32}[words().itemsize]
    best = kernel.widths()[-1]
    kernel.choose_width(width)
    try:
        for kind, expected in zip(Condition, conditions(Value(a, dtype), Value(b, dtype)), strict=True):
            left, right = Stored(a, dtype), Stored(b, dtype)
            found = elements.selected(kind, left, right, Stored(yes, word), Stored(no, word))
            assert found is not None
            np.testing.assert_array_equal(found, np.where(expected, yes, no))
            one = elements.selected(kind, left, Stored(b[:1], dtype), Stored(yes[:1], word), Stored(no, word))
            assert one is not None
            held = conditions(Value(a, dtype), Value(b[:1], dtype))[kind]
            np.testing.assert_array_equal(one, np.where(held, yes[:1], no))
    finally:
        kernel.choose_width(best)


@each("dtype", [F16, BF16])
@each("mode", range(6))
def test_every_half_is_rounded_to_a_whole_number_as_numpy_does(dtype: DType, mode: int) -> None:
    every = np.arange(1 << 16, dtype=np.uint16)
    found = elements.converted(Stored(every, dtype), dtype, mode)
    assert found is not None
    with kernel.switched(False), np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, convert(every, dtype, dtype, mode))


@each("mode", range(6))
def test_float32_is_rounded_to_a_whole_number_as_numpy_does(mode: int) -> None:
    edges = np.arange(0, 1 << 32, 997).astype(np.uint32)
    near = (np.float32(0.5) + np.arange(-50, 50, dtype=np.float32)).view(np.uint32)
    words = np.concatenate([edges, *[near + np.uint32(step) for step in (0, 1, 0xFFFFFFFF)]])
    found = elements.converted(Stored(words, F32), F32, mode)
    assert found is not None
    with kernel.switched(False), np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, convert(words, F32, F32, mode))


def test_magnitudes_keep_everything_but_the_sign() -> None:
    words = np.concatenate([np.arange(0, 1 << 32, 99991), np.arange(1 << 16)]).astype(np.uint32)
    sizes = words & np.uint32(0x7FFFFFFF)
    np.testing.assert_array_equal(elements.magnitudes(Stored(words, F32), False), sizes)
    flushed = np.where(sizes < 0x00800000, np.uint32(0), sizes)
    np.testing.assert_array_equal(elements.magnitudes(Stored(words, F32), True), flushed)
    halves = np.arange(1 << 16).astype(np.uint16)
    np.testing.assert_array_equal(elements.magnitudes(Stored(halves, F16), False), halves & np.uint16(0x7FFF))


@each("source", [SI8, UI8])
@each("target", [F32, F16, BF16])
@each("mode", range(6))
def test_bytes_become_the_floats_that_numpy_makes(source: DType, target: DType, mode: int) -> None:
    every = np.arange(1 << 8, dtype=np.uint8)
    found = elements.converted(Stored(every, source), target, mode)
    assert found is not None
    with kernel.switched(False):
        np.testing.assert_array_equal(found, convert(every, source, target, mode))
