"""Numbers of four bits: two in a byte, the one with the lower index in the low half.

A memory of nibbles is laid out as a memory of bytes twice as large, so that every layout formula serves both; segments
of such a view count nibbles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import Segment, View

Find = Callable[[int, int], NDArray[np.uint8]]
"""The bytes [start, stop) of a view's memory, live."""

_AT_ONCE = 1 << 20
"""Nibbles whose places are worked out at once."""


def positions(segment: Segment) -> NDArray[np.int64]:
    """Nibble offsets of the elements, in the shape of the segment."""
    offsets = np.full((1,) * len(segment.shape), segment.offset, np.int64)
    for axis, (extent, stride) in enumerate(zip(segment.shape, segment.strides, strict=True)):
        steps = np.arange(extent, dtype=np.int64) * stride
        offsets = offsets + steps.reshape([-1 if a == axis else 1 for a in range(len(segment.shape))])
    return offsets


def _parts(segment: Segment) -> Iterator[tuple[tuple[slice, ...], Segment]]:
    """A segment in the order of its elements, few of them at a time: a place of eight bytes is made for each nibble."""
    if math.prod(segment.shape) <= _AT_ONCE:
        yield (), segment
        return
    axis = next(axis for axis, extent in enumerate(segment.shape) if extent > 1)
    rest = math.prod(segment.shape[axis + 1 :])
    step = max(1, _AT_ONCE // rest)
    before = (slice(None),) * axis
    for start in range(0, segment.shape[axis], step):
        extent = min(step, segment.shape[axis] - start)
        shape = (*segment.shape[:axis], extent, *segment.shape[axis + 1 :])
        part = replace(segment, shape=shape, offset=segment.offset + start * segment.strides[axis])
        for inner, smaller in _parts(part):
            index = (*before, slice(start, start + extent))
            yield (*index, *inner[len(index) :]), smaller


def read(view: View, find: Find) -> Array:
    """The numbers 0..15 of a view as uint8 in its logical shape."""
    segments = [segment for segment in view.segments if 0 not in segment.shape]
    around = [_around(segment, find) for segment in segments]
    result: Array = np.zeros(view.shape, np.uint8)
    for segment, (data, first) in zip(segments, around, strict=True):
        numbers = np.empty(segment.shape, np.uint8)
        for index, few in _parts(segment):
            at = positions(few)
            numbers[index] = data[(at >> 1) - first] >> ((at & 1) * 4).astype(np.uint8) & 15
        part = result[segment.index]
        part[...] = numbers.reshape(part.shape)
    return result


def write(view: View, bits: Array, find: Find) -> None:
    """Store the low halves of ``bits``; the other half of a byte keeps what it holds."""
    for segment in view.segments:
        if 0 in segment.shape:
            continue
        data, first = _around(segment, find)
        numbers: Array = np.ascontiguousarray(bits[segment.index]).reshape(segment.shape) & 15
        for index, few in _parts(segment):
            at, some = positions(few), numbers[index]
            for half in (0, 1):
                chosen = (at & 1) == half
                places: NDArray[Any] = (at[chosen] >> 1) - first
                kept = data[places] & np.uint8(0xF0 if half == 0 else 0x0F)
                data[places] = kept | (some[chosen] << np.uint8(4 * half)).astype(np.uint8)


def _around(segment: Segment, find: Find) -> tuple[NDArray[np.uint8], int]:
    """The bytes around the nibbles of a segment, and the offset of the first of them.

    To be found before anything of the size of the segment is made: there may be no such memory.
    """
    ends = [(extent - 1) * stride for extent, stride in zip(segment.shape, segment.strides, strict=True)]
    first = segment.offset + sum(end for end in ends if end < 0) >> 1
    last = segment.offset + sum(end for end in ends if end > 0) >> 1
    return find(first, last + 1), first
