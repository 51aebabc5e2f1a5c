"""f16 on chips that take its subnormals for zeros where they calculate."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import F16, Array, DType

_SMALLEST_NORMAL = np.float32(2.0**-14)


class _Flushed(DType, frozen=True):
    """f16 as a format to calculate in; it is stored as any f16."""


FLUSHED_F16 = _Flushed("f16", 2, "f")


def flushed(dtype: DType) -> DType:
    """The format in which a chip without subnormals of f16 calculates with numbers of ``dtype``."""
    return FLUSHED_F16 if dtype is F16 else dtype


def without_subnormals(numbers: Array, dtype: DType) -> Array:
    """float32 ``numbers`` that stand for some of ``dtype``: subnormals are zeros if it is ``FLUSHED_F16``."""
    if dtype is not FLUSHED_F16:
        return numbers
    return np.where(np.abs(numbers) < _SMALLEST_NORMAL, np.copysign(np.float32(0), numbers), numbers)


def calculated(numbers: Array, dtype: DType) -> Array:
    """Stored words of what a calculation gives, rounded to ``dtype``; see ``without_subnormals``."""
    words = dtype.encode(numbers)
    if dtype is not FLUSHED_F16:
        return words
    return np.where(words & np.uint16(0x7C00), words, words & np.uint16(0x8000)).astype(np.uint16)
