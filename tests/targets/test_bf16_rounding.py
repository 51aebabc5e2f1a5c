"""Rounding of float32 to bf16 by additions to its words, checked against the rounding of the exact number."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32
from tdb_dap.targets.arithmetic.float32 import flush
from tdb_dap.targets.arithmetic.rounding import convert, round_to_float
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_AWAY, HALF_EVEN, HALF_UP, TOWARD_ZERO, UP
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
