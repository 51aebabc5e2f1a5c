"""Steps from element to element, and what is rounded up to units."""

from __future__ import annotations

from tdb_dap.engine.hardware.dtypes import DType


def align(value: int, unit: int) -> int:
    """``value`` rounded up to a multiple of ``unit``."""
    return -(-value // unit) * unit


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major element strides."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def in_words(strides: tuple[int, ...], dtype: DType) -> tuple[int, ...]:
    """Strides in words of 4 bytes as strides in elements."""
    return tuple(stride * (4 // dtype.itemsize) for stride in strides)
