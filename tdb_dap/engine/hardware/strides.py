"""Steps from element to element, and what is rounded up to units."""

from __future__ import annotations

from itertools import accumulate
from math import prod
from operator import mul

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


def is_same_order(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    """Whether arrays of two shapes list the same elements in the same order: axes of one are merged in the other.

    Axes of extent 1 do not count: ``(1, 28, 28, 1)`` and ``(28, 28)``, ``(1, 18, 8, 8)`` and ``(18, 64)``; not
    ``(3, 32, 32)`` and ``(32, 32, 3)``, which are two layouts of as many numbers.
    """
    steps = [{step for step in accumulate(reversed(shape), mul) if step > 1} for shape in (one, other)]
    return prod(one) == prod(other) and (steps[0] <= steps[1] or steps[1] <= steps[0])


def transposed_from(shape: tuple[int, ...], wanted: tuple[int, ...]) -> tuple[int, ...] | None:
    """Order of the axes of ``shape`` in which they are those of ``wanted``; None if there is none, or none is needed.

    Axes of extent 1 do not count, and are moved as little as they can.
    """
    extents = [extent for extent in wanted if extent > 1]
    left = [axis for axis, extent in enumerate(shape) if extent > 1]
    if sorted(shape[axis] for axis in left) != sorted(extents) or is_same_order(shape, wanted):
        return None
    order: list[int] = []
    for extent in extents:
        axis = next(axis for axis in left if shape[axis] == extent)
        left.remove(axis)
        order.append(axis)
    if len(shape) != len(wanted):
        return (*(axis for axis, extent in enumerate(shape) if extent <= 1), *order)
    ones = iter([axis for axis, extent in enumerate(shape) if extent <= 1])
    moved = iter(order)
    return tuple(next(moved) if extent > 1 else next(ones) for extent in wanted)
