"""The two 8-bit floats: e5m2 (the upper byte of an f16) and e4m3 (no infinity; one NaN per sign)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray


class Float8(Struct, frozen=True, dict=True):
    """A format of one sign bit, ``exponent`` and ``mantissa`` bits, with subnormals.

    ``has_infinity``: all exponent bits set stand for infinity and NaNs, as in IEEE 754; else only all bits set for NaN.
    """

    exponent: int
    mantissa: int
    has_infinity: bool

    @cached_property
    def numbers(self) -> NDArray[np.float32]:
        """Value of each of the 256 words."""
        words = np.arange(256)
        exponent, mantissa = words >> self.mantissa & ((1 << self.exponent) - 1), words & ((1 << self.mantissa) - 1)
        bias = (1 << (self.exponent - 1)) - 1
        leading = (exponent > 0).astype(np.int64) << self.mantissa
        numbers = np.ldexp((leading | mantissa).astype(np.float64), np.maximum(exponent, 1) - bias - self.mantissa)
        if self.has_infinity:
            top = exponent == (1 << self.exponent) - 1
            numbers[top] = np.where(mantissa[top] == 0, np.inf, np.nan)
        else:
            numbers[words & 0x7F == 0x7F] = np.nan
        return np.where(words >> 7 == 1, -numbers, numbers).astype(np.float32)

    @property
    def largest(self) -> float:
        """The largest finite number."""
        return float(self.numbers[np.isfinite(self.numbers)].max())

    def decode(self, words: NDArray[Any]) -> NDArray[np.float32]:
        """float32 numbers that the words stand for."""
        return self.numbers[words]

    def encode(self, numbers: NDArray[np.float32]) -> NDArray[np.uint8]:
        """The nearest words, ties to the even one; beyond the largest number infinity where there is one, else NaN."""
        positive = self.numbers[:128].astype(np.float64)
        count = int(np.isfinite(positive).sum())
        finite = positive[:count]
        magnitude = np.abs(numbers).astype(np.float64)
        # Halfway to the number that would follow the largest counts as that number's half.
        ends = np.append(finite, 2 * finite[-1] - finite[-2])
        halves = (ends[:-1] + ends[1:]) / 2
        words = np.searchsorted(halves, magnitude, "left")
        tie = (words < count) & (magnitude == halves[np.minimum(words, count - 1)]) & (words & 1 == 1)
        words = words + tie
        # The word after the largest number is infinity, or the only NaN.
        words = np.where(np.isnan(numbers), 0x7F, np.minimum(words, count))
        return (words | np.signbit(numbers).astype(np.int64) << 7).astype(np.uint8)


FLOAT8 = {"f8e5m2": Float8(5, 2, has_infinity=True), "f8e4m3": Float8(4, 3, has_infinity=False)}
