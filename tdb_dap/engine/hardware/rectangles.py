"""Bytes times lanes that enclose the pieces of a tensor: enough to tell most places apart, without a list of bytes."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import MOST_BYTES, View, as_bytes, template
from tdb_dap.errors import BadAccess

Rectangle = tuple[int, int, int, int]
"""First byte, the one after the last, first lane, the one after the last."""

_MANY = 64
"""Pairs of rectangles that are not compared one by one any more."""


def rectangles(view: View) -> list[Rectangle]:
    """One for each piece of a view; BadAccess where it has no place in memory.

    In local memory bytes are counted in each of the lanes, elsewhere in the space, with lanes [0, 1).
    """
    share = view.dtype.per_byte
    plain = view if share == 1 else as_bytes(view)
    shared, shift = template(plain)
    lane_bytes, itemsize = plain.geometry.lane_bytes, plain.dtype.itemsize
    if shared.stop + shift > MOST_BYTES:
        raise BadAccess(f"%{view.name}: a tensor of the shape {list(view.shape)} ends beyond any memory")
    result: list[Rectangle] = []
    for segment in shared.segments:
        if segment.length < 0:
            continue
        offset, length, lanes = segment.offset + shift, segment.length, 1
        lane = 0
        if plain.space is Space.LOCAL:
            lane, offset = divmod(offset, lane_bytes)
            if segment.lane_axis is not None:
                lanes = segment.shape[segment.lane_axis]
                length -= (lanes - 1) * segment.strides[segment.lane_axis]
        result.append((offset // share, -(-(offset + length + itemsize) // share), lane, lane + lanes))
    return result


def do_meet(one: View, other: View) -> bool:
    """Whether rectangles of two views in one memory meet; if not, they have no byte in common."""
    ours, theirs = rectangles(one), rectangles(other)
    if len(ours) * len(theirs) > _MANY:
        a, b = np.array(ours).T[:, :, None], np.array(theirs).T[:, None, :]
        return bool(np.any((a[0] < b[1]) & (b[0] < a[1]) & (a[2] < b[3]) & (b[2] < a[3])))
    return any(
        start < other_stop and other_start < stop and lane < other_lane_stop and other_lane < lane_stop
        for start, stop, lane, lane_stop in ours
        for other_start, other_stop, other_lane, other_lane_stop in theirs
    )
