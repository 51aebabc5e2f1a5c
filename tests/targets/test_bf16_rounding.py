"""Rounding of float32 to bf16 by additions to its words, checked against the rounding of the exact number."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, DType
from tdb_dap.targets.arithmetic.float32 import flush
from tdb_dap.targets.arithmetic.rounding import convert, converted_at_once, round_to_float
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_AWAY, HALF_EVEN, HALF_UP, TOWARD_ZERO, UP
from tdb_dap.targets.arithmetic.stored import Stored
from tdb_dap.targets.kernel.constants import Limit
from tdb_dap.targets.semantics.finish import finite_half
from tests.loops import each

LOWER = (0, 1, 0x4000, 0x7FFF, 0x8000, 0x8001, 0xFFFF)
"""Lower halves about the borders of every mode."""


@each("mode", [HALF_EVEN, HALF_AWAY, TOWARD_ZERO, DOWN, UP, HALF_UP])
@each("lower", LOWER)
def test_every_upper_half(lower: int, mode: int) -> None:
    words = (np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)) | np.uint32(lower)
    numbers = words.view(np.float32)
    with np.errstate(invalid="ignore"):
        wanted = round_to_float(flush(numbers).astype(np.float64), BF16, mode)
    assert np.array_equal(convert(words, F32, BF16, mode), wanted)


@each("lower", LOWER)
def test_half_to_even_of_16_bits(lower: int) -> None:
    words = (np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)) | np.uint32(lower)
    numbers = words.view(np.float32)
    small = np.abs(numbers) < 65536
    wanted = round_to_float(numbers[small].astype(np.float64), F16, HALF_EVEN)
    assert np.array_equal(convert(words[small], F32, F16, HALF_EVEN), wanted)


@each("mode", [HALF_EVEN, HALF_AWAY, TOWARD_ZERO, DOWN, UP, HALF_UP])
@each("dtype", [F16, BF16])
def test_limits_are_those_of_the_rounded_words(dtype: DType, mode: int) -> None:
    for lower in LOWER:
        words = (np.arange(1 << 16, dtype=np.uint32) << np.uint32(16)) | np.uint32(lower)
        rounded = convert(words, F32, dtype, mode)
        for limit in (Limit.KEEPS_NAN, Limit.KEEPS_NONE):
            at_once = converted_at_once(Stored(words, F32), dtype, mode, limit)
            if at_once is not None:
                assert np.array_equal(at_once, finite_half(rounded, dtype, keeps_nan=limit == Limit.KEEPS_NAN))


@each("mode", [HALF_EVEN, HALF_AWAY, DOWN])
def test_bf16_is_the_upper_half_of_float32(mode: int) -> None:
    words = np.arange(1 << 16, dtype=np.uint16)
    assert np.array_equal(convert(words, BF16, F32, mode).view(np.uint32), words.astype(np.uint32) << np.uint32(16))
