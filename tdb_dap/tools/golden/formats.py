"""Types of tensors in the compiler's text: shape, number format, scale and zero point."""

from __future__ import annotations

import math
import re

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.element_types import element_type
from tdb_dap.engine.source.mlir_attributes import closing, split_top

_SHAPED = re.compile(r"(?:tensor|memref)<((?:[\d?*]+x)*)(.*)>$", re.DOTALL)
_INTEGER = re.compile(r"(u|)[si]*(\d+)$")
_FRACTIONS = {"f16": (10, -14), "bf16": (7, -126), "f32": (23, -126)}
"""Float format -> (bits of the fraction, least exponent of a normal number)."""

_FRACTION64, _EXPONENT64, _BIAS64 = 52, 0x7FF, 1023
"""Bits of the fraction of float64, mask of its exponent, and what its exponents are counted from."""

_LARGEST = {
    "f16": 65504.0,
    "bf16": (2 - 2.0**-7) * 2.0**127,
    "f32": (2 - 2.0**-23) * 2.0**127,
}
"""Float format -> its largest finite number."""


class TensorType(Struct, frozen=True):
    """A tensor's type. Stored number = number / ``scale`` + ``zero_point``.

    ``shape``: None where it is not known yet; ``storage``: ``f32``, ``i8``, ``u8``, ...; ``is_quantised``: whether the
    type itself has a scale; ``expressed``: the format of the numbers that stored ones stand for, empty if not known.
    """

    shape: tuple[int, ...] | None
    storage: str
    scale: float = 1.0
    zero_point: int = 0
    is_quantised: bool = False
    expressed: str = ""

    @property
    def is_scaled_float(self) -> bool:
        """Whether it is a float of 8 bits: stored numbers stand for others by a scale that is elsewhere."""
        return self.storage.lower().startswith("f8")

    @property
    def limits(self) -> tuple[float, float] | None:
        """Least and greatest stored number of an integer format; None for floats."""
        match = _INTEGER.match(self.storage)
        if match is None:
            return None
        bits = int(match[2])
        if match[1]:
            return 0.0, 2.0**bits - 1
        return -(2.0 ** (bits - 1)), 2.0 ** (bits - 1) - 1

    @property
    def bounds(self) -> tuple[float, float] | None:
        """Least and greatest number of a quantised format; None for others."""
        if not self.is_quantised or self.limits is None:
            return None
        low, high = self.limits
        return (low - self.zero_point) * self.scale, (high - self.zero_point) * self.scale

    @property
    def range(self) -> float:
        """Largest finite number of a float format; infinite for others, which saturate."""
        return math.inf if self.is_quantised else _LARGEST.get(self.storage, math.inf)

    def step(self, numbers: Array) -> Array:
        """Distance of neighbouring numbers of the format at each of ``numbers``, float64."""
        numbers = np.asarray(numbers, np.float64)
        if self.is_quantised:
            return np.full(numbers.shape, self.scale)
        if self.storage not in _FRACTIONS:
            return np.full(numbers.shape, 1.0 if self.limits is not None else 0.0)
        fraction, least = _FRACTIONS[self.storage]
        exponents = np.ascontiguousarray(numbers).view(np.int64) >> _FRACTION64
        exponents &= _EXPONENT64
        exponents[exponents == _EXPONENT64] = 0  # infinite, or no number
        np.maximum(exponents, least + _BIAS64, out=exponents)
        exponents -= fraction
        exponents <<= _FRACTION64
        return exponents.view(np.float64).reshape(numbers.shape)

    def clipped(self, numbers: Array) -> Array:
        """``numbers`` within what the format can hold, not rounded; floats as they are."""
        bounds = self.bounds
        return numbers if bounds is None else np.clip(numbers, *bounds)

    def stored(self, numbers: Array, mode: str = "HalfAwayFromZero", steps: Array | None = None) -> Array:
        """``numbers`` as the format holds them, float64: rounded (by ``mode`` if quantised) and clipped.

        ``steps``: their ``step``, where it is known already.
        """
        if self.is_quantised:
            limits = self.limits or (-np.inf, np.inf)
            words = rounded(numbers / self.scale + self.zero_point, mode)
            return (np.clip(words, *limits) - self.zero_point) * self.scale
        if self.storage in _FRACTIONS:
            with np.errstate(all="ignore"):
                if self.storage == "f32":
                    return np.asarray(np.asarray(numbers).astype(np.float32), np.float64)
                step = self.step(numbers) if steps is None else steps
                words = np.where(np.isfinite(numbers), np.rint(numbers / step) * step, numbers)
                if self.storage == "f16":
                    words[np.abs(words) > self.range] *= np.inf
                return words
        return numbers


def rounded(numbers: Array, mode: str) -> Array:
    """Whole numbers by one of the compiler's rounding modes; any other name stands for half away from zero."""
    if mode in ("HalfUp", "HalfDown"):
        return np.floor(numbers + 0.5) if mode == "HalfUp" else np.ceil(numbers - 0.5)
    if mode == "HalfToEven":
        return np.rint(numbers)
    plain = {"TowardsZero": np.trunc, "Down": np.floor, "Up": np.ceil}.get(mode)
    if plain is not None:
        return np.asarray(plain(numbers))
    return np.sign(numbers) * np.floor(np.abs(numbers) + 0.5)


def tensor_type(text: str) -> TensorType | None:
    """The type that a text such as ``tensor<1x3xf32>`` names; None for ``none`` and what is no tensor."""
    match = _SHAPED.match(text.strip())
    if match is None:
        return None
    extents, element = match[1], match[2]
    parts = [part for part in extents.split("x") if part]
    shape = tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else None
    kind = element_type(element)
    return TensorType(shape, kind.storage, kind.scale, kind.zero_point, kind.is_quantised, kind.expressed)


def signature(types: str) -> tuple[tuple[TensorType | None, ...], tuple[TensorType | None, ...]]:
    """Types of operands and results of ``(tensor<...>, none) -> tensor<...>``."""
    end = closing(types, 0)
    results = types[end + 1 :].partition("->")[2].strip()
    if results.startswith("("):
        results = results[1 : closing(results, 0)]
    operands = split_top(types[1:end])
    return tuple(map(tensor_type, operands)), tuple(map(tensor_type, split_top(results)))
