"""Whether the elements of one tensor have bytes of their own, from its layout alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Segment, View

_MANY_PARTS = 64
"""Pieces that are not compared with each other any more."""
_FEW_PARTS = 8
"""Pieces that are compared without an array."""


def parts_of(view: View) -> list[Segment]:
    """The pieces of a tensor that have elements."""
    return [part for part in view.segments if part.length >= 0]


def bytes_in_lanes(view: View) -> int:
    """Bytes that its elements are in from the start of a lane on, in every lane; 0 where that is not known."""
    if view.space is not Space.LOCAL:
        return 0
    parts = parts_of(view)
    if not parts:
        return 0
    within = [_within_lanes(part, view) for part in parts]
    steps = [stride for part in parts for stride in part.strides]
    stays = min(steps, default=0) >= 0 and all(stop <= view.geometry.lane_bytes for _, stop in within)
    return max(stop for _, stop in within) if stays else 0


def has_apart(view: View) -> bool:
    """Whether no byte belongs to two elements."""
    parts = parts_of(view)
    for part in parts:
        reached = view.dtype.itemsize
        for stride, extent in sorted(zip(part.strides, part.shape, strict=True)):
            if extent > 1 and stride < reached:
                return False
            reached += (extent - 1) * stride
    if len(parts) < 2:
        return True
    if not bytes_in_lanes(view):
        return False
    if _are_all_apart(parts, view):
        return True
    # Batches of a piece may be between those of another one: each is looked at by itself.
    if sum(part.shape[0] for part in parts) > _MANY_PARTS:
        return False
    return _are_all_apart([batch for part in parts for batch in _batches(part)], view)


def _within_lanes(part: Segment, view: View) -> tuple[int, int]:
    """The first byte and the one after the last of a piece in its lanes."""
    lane_bytes = view.geometry.lane_bytes
    start, length = part.offset % lane_bytes, view.dtype.itemsize
    for extent, stride in zip(part.shape, part.strides, strict=True):
        length += (extent - 1) * stride if stride % lane_bytes else 0
    return start, start + length


def _lanes_of(part: Segment, lane_bytes: int) -> tuple[int, int]:
    """The first lane and the one after the last of a piece."""
    steps = zip(part.shape, part.strides, strict=True)
    last = sum((extent - 1) * stride for extent, stride in steps if not stride % lane_bytes)
    first = part.offset // lane_bytes
    return first, first + last // lane_bytes + 1


def _are_all_apart(parts: Sequence[Segment], view: View) -> bool:
    """Whether each piece has bytes of a lane, or lanes, of its own."""
    spans = [(*_within_lanes(part, view), *_lanes_of(part, view.geometry.lane_bytes)) for part in parts]
    if len(spans) < _FEW_PARTS:
        return all(a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2] for a, b in combinations(spans, 2))
    start, stop, lane, lane_stop = np.array(spans).T
    for number in range(1, len(spans)):
        separate = (stop[:number] <= start[number]) | (stop[number] <= start[:number])
        separate |= (lane_stop[:number] <= lane[number]) | (lane_stop[number] <= lane[:number])
        if not separate.all():
            return False
    return True


def _batches(part: Segment) -> list[Segment]:
    """A piece cut along its first axis."""
    return [
        replace(part, shape=(1, *part.shape[1:]), offset=part.offset + batch * part.strides[0])
        for batch in range(part.shape[0])
    ]
