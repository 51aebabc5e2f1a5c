"""Number formats of tensors in device memory.

Stored numbers are handled as unsigned words of the same width ("bits"); ``decode`` and ``encode`` translate
between bits and the numbers they stand for. Narrow floats are widened to float32, which holds all of them exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.hardware.float8 import FLOAT8
from tdb_dap.errors import BadExpression

Array = NDArray[Any]

_BITS: dict[int, np.dtype[Any]] = {1: np.dtype(np.uint8), 2: np.dtype(np.uint16), 4: np.dtype(np.uint32)}
_SIGNED: dict[int, np.dtype[Any]] = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32)}


class DType(Struct, frozen=True):
    """One number format.

    ``name`` is the name printed in types (``f32``, ``si8``; untyped DMA integers print as ``i8``); ``itemsize`` is
    in bytes of a number once it is read; ``kind`` is "f" (IEEE and brain floats), "i" (two's complement) or "u"
    (unsigned); ``per_byte``: how many are stored in a byte (2 for 4-bit numbers).
    """

    name: str
    itemsize: int
    kind: str
    per_byte: int = 1

    @property
    def is_float(self) -> bool:
        return self.kind == "f"

    @property
    def bits_dtype(self) -> np.dtype[Any]:
        """NumPy dtype of the stored words."""
        return _BITS[self.itemsize]

    @property
    def numpy(self) -> np.dtype[Any]:
        """NumPy dtype of the decoded numbers."""
        if self.kind == "f":
            return np.dtype(np.float16) if self.name == "f16" else np.dtype(np.float32)
        return (_SIGNED if self.kind == "i" else _BITS)[self.itemsize]

    @property
    def bits(self) -> int:
        """Bits of a stored number."""
        return 8 * self.itemsize // self.per_byte

    @property
    def minimum(self) -> int:
        return -(1 << (self.bits - 1)) if self.kind == "i" else 0

    @property
    def maximum(self) -> int:
        return (1 << (self.bits - (1 if self.kind == "i" else 0))) - 1

    @property
    def largest(self) -> float:
        """The largest finite number of a float format; of an integer its maximum."""
        if not self.is_float:
            return self.maximum
        numbers = self.decode(np.arange(1 << min(self.bits, 16), dtype=np.uint32).astype(_BITS[min(self.itemsize, 2)]))
        return float(np.finfo(np.float32).max) if self.name == "f32" else float(numbers[np.isfinite(numbers)].max())

    def decode(self, bits: Array) -> Array:
        """Numbers that ``bits`` (unsigned words) stand for: bf16 as float32, f16 as float16, integers by their sign."""
        if self.name == "bf16":
            return (bits.astype(np.uint32) << np.uint32(16)).view(np.float32)
        if self.is_float and self.itemsize == 1:
            return FLOAT8[self.name].decode(bits)
        if self.per_byte == 2 and self.kind == "i":
            return (bits << np.uint8(4)).view(np.int8) >> np.int8(4)
        return np.ascontiguousarray(bits).view(self.numpy)

    def bits_of(self, numbers: Array) -> Array:
        """The words that ``decode`` made ``numbers`` of, to the bit, also of NaNs."""
        if self.name == "bf16":
            return (np.ascontiguousarray(numbers, np.float32).view(np.uint32) >> np.uint32(16)).astype(np.uint16)
        if self.name in ("f16", "f32") and numbers.dtype == self.numpy:
            return np.ascontiguousarray(numbers).view(self.bits_dtype)
        return self.encode(numbers)

    def widen(self, bits: Array) -> Array:
        """As ``decode``, with f16 widened to float32 as well: what arithmetic works on."""
        numbers = self.decode(bits)
        return _widened(numbers) if self.name == "f16" else numbers

    def encode(self, numbers: Array) -> Array:
        """Bits of ``numbers``: floats rounded half to even, integers wrapped to the width."""
        if self.name == "f32":
            return np.ascontiguousarray(numbers, np.float32).view(np.uint32)
        if self.name == "bf16":
            return _float32_to_bfloat16(np.ascontiguousarray(numbers, np.float32))
        if self.name == "f16":
            return _float32_to_float16(np.ascontiguousarray(numbers, np.float32))
        if self.is_float:
            return FLOAT8[self.name].encode(np.ascontiguousarray(numbers, np.float32))
        words: Array = np.asarray(numbers).astype(np.int64) & ((1 << self.bits) - 1)
        return words.astype(self.bits_dtype)

    def words_for(self, numbers: Array) -> Array:
        """As ``encode``; BadExpression if some number is too large, or a fraction or NaN where integers are held."""
        numbers = numbers.astype(np.float64) if numbers.dtype.kind == "O" else numbers
        finite = np.isfinite(numbers) if numbers.dtype.kind == "f" else np.ones(numbers.shape, bool)
        if self.is_float:
            with np.errstate(over="ignore"):
                words = self.encode(numbers)
            wrong = finite & ~np.isfinite(self.decode(words)).reshape(numbers.shape)
            holds, more = f"{self.name} reaches as far as {self.largest:.6g}", "; write inf for infinity"
        else:
            with np.errstate(invalid="ignore"):
                wrong = ~finite | (numbers < self.minimum) | (numbers > self.maximum) | (numbers != np.floor(numbers))
            holds, more = f"{self.name} holds whole numbers from {self.minimum:,} to {self.maximum:,}", ""
            words = self.encode(np.where(wrong, 0, numbers))
        if wrong.any():
            raise BadExpression(f"{holds}, not {numbers[wrong].reshape(-1)[0]:g}{more}")
        return words

    def __str__(self) -> str:
        return self.name


def _widened(halves: Array) -> Array:
    """float16 as float32; the bits of a NaN stay as they are, signalling or not."""
    with np.errstate(invalid="ignore"):  # what a signalling NaN is on ARM
        numbers = halves.astype(np.float32)
    if _MAKES_NAN_QUIET:
        words = halves.view(np.uint16).astype(np.uint32)
        nan = (words & np.uint32(0x7FFF)) > np.uint32(0x7C00)
        if nan.any():
            kept = (words & np.uint32(0x8000)) << np.uint32(16) | np.uint32(0x7F800000)
            kept |= (words & np.uint32(0x03FF)) << np.uint32(13)
            numbers = np.where(nan, kept, numbers.view(np.uint32)).astype(np.uint32).view(np.float32)
    return numbers


def _makes_nan_quiet() -> bool:
    signalling = np.array([0x7C01], np.uint16).view(np.float16)
    with np.errstate(invalid="ignore"):
        return int(signalling.astype(np.float32).view(np.uint32)[0]) != 0x7F802000


_MAKES_NAN_QUIET = _makes_nan_quiet()
"""Whether NumPy widens with the processor's own instruction here, as on ARM."""


def _float32_to_bfloat16(numbers: Array) -> Array:
    """Round half to even on the upper 16 bits; NaN becomes its sign with all other bits set."""
    words = numbers.view(np.uint32)
    rounded = ((words + np.uint32(0x7FFF) + ((words >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype(
        np.uint16
    )
    return _mark_nan(rounded, words)


def _float32_to_float16(numbers: Array) -> Array:
    """Round half to even; NaN becomes its sign with all other bits set."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        halves = numbers.astype(np.float16).view(np.uint16)
    return _mark_nan(halves, numbers.view(np.uint32))


def _mark_nan(halves: Array, words: Array) -> Array:
    nan = (words & np.uint32(0x7FFFFFFF)) > np.uint32(0x7F800000)
    if nan.any():
        halves[nan] = ((words[nan] >> np.uint32(16)) | np.uint32(0x7FFF)).astype(np.uint16)
    return halves


F32 = DType("f32", 4, "f")
F16 = DType("f16", 2, "f")
BF16 = DType("bf16", 2, "f")
SI8, UI8, I8 = DType("si8", 1, "i"), DType("ui8", 1, "u"), DType("i8", 1, "u")
SI16, UI16, I16 = DType("si16", 2, "i"), DType("ui16", 2, "u"), DType("i16", 2, "u")
SI32, UI32, I32 = DType("si32", 4, "i"), DType("ui32", 4, "u"), DType("i32", 4, "u")

SI4, UI4, I4 = DType("si4", 1, "i", 2), DType("ui4", 1, "u", 2), DType("i4", 1, "u", 2)
F8E5M2, F8E4M3, F8 = DType("f8e5m2", 1, "f"), DType("f8e4m3", 1, "f"), DType("f8", 1, "u")

BY_NAME = {
    d.name: d
    for d in (F32, F16, BF16, SI8, UI8, I8, SI16, UI16, I16, SI32, UI32, I32, SI4, UI4, I4, F8E5M2, F8E4M3, F8)
}
"""Every dtype by the name it prints as."""
