"""Whether the elements of one tensor have bytes of their own, from its layout alone."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, pairwise

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
    return _most_in_lanes(_within_lanes(parts, view), parts, view)


def _most_in_lanes(spans: Sequence[tuple[int, int]], parts: Sequence[Segment], view: View) -> int:
    stays = all(stop <= view.geometry.lane_bytes for _, stop in spans)
    is_forwards = min([min(strides) for strides in {part.strides for part in parts} if strides], default=0) >= 0
    return max([stop for _, stop in spans], default=0) if stays and is_forwards else 0


def has_apart(view: View) -> bool:
    """Whether no byte belongs to two elements."""
    parts = parts_of(view)
    for strides, shape in {(part.strides, part.shape) for part in parts}:
        reached = view.dtype.itemsize
        for stride, extent in sorted(zip(strides, shape, strict=True)):
            if extent > 1 and stride < reached:
                return False
            reached += (extent - 1) * stride
    if len(parts) < 2:
        return True
    spans = _within_lanes(parts, view)
    if view.space is not Space.LOCAL or not _most_in_lanes(spans, parts, view):
        return False
    if all(before[1] <= after[0] for before, after in pairwise(spans)):  # one after the other, as most are
        return True
    if _are_all_apart(parts, view):
        return True
    # Batches of a piece may be between those of another one: each is looked at by itself.
    if sum(part.shape[0] for part in parts) > _MANY_PARTS:
        return False
    return _are_all_apart([batch for part in parts for batch in _batches(part)], view)


def _within_lanes(parts: Sequence[Segment], view: View) -> list[tuple[int, int]]:
    """The first byte and the one after the last of each piece in its lanes."""
    lane_bytes = view.geometry.lane_bytes
    lengths: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
    spans: list[tuple[int, int]] = []
    for part in parts:
        key = part.shape, part.strides
        if key not in lengths:
            lengths[key] = view.dtype.itemsize + sum(
                [(extent - 1) * stride for extent, stride in zip(*key, strict=True) if stride % lane_bytes]
            )
        start = part.offset % lane_bytes
        spans.append((start, start + lengths[key]))
    return spans


def _lanes_of(part: Segment, lane_bytes: int) -> tuple[int, int]:
    """The first lane and the one after the last of a piece."""
    steps = zip(part.shape, part.strides, strict=True)
    last = sum((extent - 1) * stride for extent, stride in steps if not stride % lane_bytes)
    first = part.offset // lane_bytes
    return first, first + last // lane_bytes + 1


def _are_all_apart(parts: Sequence[Segment], view: View) -> bool:
    """Whether each piece has bytes of a lane, or lanes, of its own."""
    lanes = [_lanes_of(part, view.geometry.lane_bytes) for part in parts]
    spans = [(*bytes_, *own) for bytes_, own in zip(_within_lanes(parts, view), lanes, strict=True)]
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
