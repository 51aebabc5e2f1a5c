"""Numbers of four bits: two in a byte, the one with the lower index in the low half.

A memory of nibbles is laid out as a memory of bytes twice as large, so that every layout formula serves both; segments
of such a view count nibbles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import Segment, View

Find = Callable[[int, int], NDArray[np.uint8]]
"""The bytes [start, stop) of a view's memory, live."""


def positions(segment: Segment) -> NDArray[np.int64]:
    """Nibble offsets of the elements, in the shape of the segment."""
    offsets = np.full((1,) * len(segment.shape), segment.offset, np.int64)
    for axis, (extent, stride) in enumerate(zip(segment.shape, segment.strides, strict=True)):
        steps = np.arange(extent, dtype=np.int64) * stride
        offsets = offsets + steps.reshape([-1 if a == axis else 1 for a in range(len(segment.shape))])
    return offsets


def read(view: View, find: Find) -> Array:
    """The numbers 0..15 of a view as uint8 in its logical shape."""
    result: Array = np.zeros(view.shape, np.uint8)
    for segment in view.segments:
        if 0 in segment.shape:
            continue
        at, data, first = _place(segment, find)
        halves = data[(at >> 1) - first] >> ((at & 1) * 4).astype(np.uint8) & 15
        part = result[segment.index]
        part[...] = halves.reshape(part.shape)
    return result


def write(view: View, bits: Array, find: Find) -> None:
    """Store the low halves of ``bits``; the other half of a byte keeps what it holds."""
    for segment in view.segments:
        if 0 in segment.shape:
            continue
        at, data, first = _place(segment, find)
        numbers: Array = np.ascontiguousarray(bits[segment.index]).reshape(segment.shape) & 15
        for half in (0, 1):
            chosen = (at & 1) == half
            places: NDArray[Any] = (at[chosen] >> 1) - first
            kept = data[places] & np.uint8(0xF0 if half == 0 else 0x0F)
            data[places] = kept | (numbers[chosen] << np.uint8(4 * half)).astype(np.uint8)


def _place(segment: Segment, find: Find) -> tuple[NDArray[np.int64], NDArray[np.uint8], int]:
    """Nibble offsets, the bytes around them, and the offset of the first of these bytes."""
    at = positions(segment)
    first = int(at.min()) >> 1
    return at, find(first, (int(at.max()) >> 1) + 1), first
