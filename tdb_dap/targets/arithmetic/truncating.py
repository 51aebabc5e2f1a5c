"""bfloat16 as CV18xx computes it: sums in float32 rounded toward zero, without subnormals, -0 and infinities.

Operands: subnormals and -0 count as 0, infinities as NaN. Results: rounded to bfloat16 half to even; NaN and what would
be infinite become the largest number but for its last bit, 0x7f7f, of either sign. Source: every rule was compared with
the vendor's simulator on random memories.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import Array

Float32 = NDArray[np.float32]

NOT_A_NUMBER = 0x7F7F
"""The word of every result that is not a finite number."""

_SMALLEST_NORMAL = np.float32(2.0**-126)
_LARGEST = np.float32(3.4028234663852886e38)
_EXPONENT = np.uint32(0x7F80)
_NAN = np.uint32(0x7FC00000)


def operand(bits: Array) -> Float32:
    """Stored bfloat16 as float32."""
    words = bits.astype(np.uint32)
    exponent = words & _EXPONENT
    widened = np.where(exponent == 0, np.uint32(0), np.where(exponent == _EXPONENT, _NAN, words << np.uint32(16)))
    return widened.astype(np.uint32).view(np.float32)


def flush(numbers: Array) -> Float32:
    """Subnormals and -0 as 0."""
    return np.where(np.abs(numbers) < _SMALLEST_NORMAL, np.float32(0), numbers).astype(np.float32)


def multiply(a: Array, b: Array) -> Float32:
    """a * b; of two bfloat16 it is exact but for its range."""
    return flush(a * b)


def add(a: Array, b: Array) -> Float32:
    """a + b in float32, rounded toward zero; sums from 2^128 on are infinite."""
    total = np.asarray(a + b, np.float32)
    # The error of a sum of two floats is a float (Knuth's two-sum); its sign tells a sum that is beyond the exact one.
    second = total - a
    error = (a - (total - second)) + (b - second)
    is_beyond = ((total > 0) & (error < 0)) | ((total < 0) & (error > 0))
    total = (total.view(np.uint32) - is_beyond).astype(np.uint32).view(np.float32)
    if np.isinf(total).any():
        exact = np.asarray(a, np.float64) + np.asarray(b, np.float64)
        total = np.where(np.isinf(total) & (np.abs(exact) < 2.0**128), np.copysign(_LARGEST, total), total)
    return flush(total)


def encode(numbers: Array) -> Array:
    """float32 as stored bfloat16."""
    words = np.ascontiguousarray(flush(numbers)).view(np.uint32).astype(np.uint64)
    rounded = ((words + np.uint64(0x7FFF) + (words >> np.uint64(16) & np.uint64(1))) >> np.uint64(16)).astype(np.uint16)
    sizes = rounded & np.uint16(0x7FFF)
    is_special = (sizes >= np.uint16(0x7F80)) | ((words & np.uint64(0x7FFFFFFF)) > np.uint64(0x7F800000))
    return np.where(is_special, np.uint16(NOT_A_NUMBER), np.where(sizes < 0x80, np.uint16(0), rounded))


def rectified(bits: Array) -> Array:
    """Stored results with the negative ones as 0."""
    return np.where(bits & np.uint16(0x8000), np.uint16(0), bits)
