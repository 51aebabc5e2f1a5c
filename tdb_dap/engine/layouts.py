"""Logical index to byte address, for every layout.

In local memory channel ``c`` of a tensor that starts at lane ``N0`` lives in lane ``(N0 + c) mod lanes``, and
``(N0 + c) div lanes`` counts rows of ``strides[1]`` elements. Every view is cut into *segments* of constant byte
strides; memory is then read and written as strided arrays, without a loop over elements.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from tdb_dap.engine.dtypes import DType
from tdb_dap.engine.geometry import Geometry, Space
from tdb_dap.engine.views import Layout, View


@dataclass(frozen=True)
class Segment:
    """Part of a view: ``array[index]`` reshaped to ``shape`` lies at ``offset`` with byte ``strides``.

    ``lane_axis``: the axis that steps from lane to lane, if one does; ranges are reported per lane.
    """

    index: tuple[slice, ...]
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    lane_axis: int | None = None

    def ranges(self, itemsize: int) -> list[tuple[int, int]]:
        """Byte ranges that enclose the elements, one per lane where the segment runs over lanes."""
        if 0 in self.shape:
            return []
        length = itemsize
        for axis, (extent, stride) in enumerate(zip(self.shape, self.strides, strict=True)):
            if axis != self.lane_axis:
                length += (extent - 1) * stride
        if self.lane_axis is None:
            return [(self.offset, self.offset + length)]
        step, count = self.strides[self.lane_axis], self.shape[self.lane_axis]
        return [(self.offset + i * step, self.offset + i * step + length) for i in range(count)]


def align(value: int, unit: int) -> int:
    """``value`` rounded up to a multiple of ``unit``."""
    return -(-value // unit) * unit


def strides_of(
    geometry: Geometry, layout: Layout, address: int, shape: tuple[int, int, int, int], dtype: DType
) -> tuple[int, int, int, int]:
    """Element strides (n, c, h, w) of a canonical layout in local memory.

    alignEU: c = h*w rounded up to the execution units; compact: c = h*w; alignLine: each row rounded up; per
    channel: (0, 1, 0, 0); shared rows (T4): the same data for every channel of a lane.
    """
    _, channels, height, width = shape
    units = geometry.eu_bytes // dtype.itemsize
    if layout is Layout.PER_CHANNEL:
        return (0, 1, 0, 0)
    if layout is Layout.SHARED_ROWS:
        return (0, 0, align(width, units), 1)
    if layout is Layout.LANE_ROWS:
        return (geometry.lane_bytes // 8 // dtype.itemsize, align(width, units), width, 1)
    row = align(width, units) if layout is Layout.ALIGN_LINE else width
    step = height * row
    if layout is Layout.ALIGN_EU:
        step = align(step, units)
    first_lane = address // geometry.lane_bytes % geometry.lanes
    return (-(-(channels + first_lane) // geometry.lanes) * step, step, row, 1)


def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Row-major element strides."""
    strides: list[int] = []
    step = 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def segments(view: View) -> tuple[Segment, ...]:
    """Cut ``view`` into segments; a segment never straddles the step from the last lane to the first."""
    if view.layout is Layout.ALIGN_IC:
        return tuple(_align_ic(view))
    if view.layout in (Layout.MATRIX, Layout.DMA_MATRIX):
        return tuple(_matrix(view))
    if view.layout is Layout.MATRIX2:
        rows, columns = view.shape
        strides = strides_of(view.geometry, Layout.ALIGN_EU, view.address, (1, rows, 1, columns), view.dtype)
        return tuple(
            Segment((part.index[1], part.index[3]), *_squeeze(part))
            for part in _four_axes(view, (1, rows, 1, columns), strides)
        )
    given = view.strides or contiguous(view.shape)
    if view.space is not Space.LOCAL:
        itemsize = view.dtype.itemsize
        everything = tuple(slice(0, extent) for extent in view.shape)
        return (Segment(everything, view.shape, view.address, tuple(s * itemsize for s in given)),)
    if len(view.shape) == 1:
        itemsize = view.dtype.itemsize
        return (Segment((slice(0, view.shape[0]),), view.shape, view.address, (itemsize * given[0],)),)
    n, c, h, w = view.shape
    return tuple(_four_axes(view, (n, c, h, w), given))


def _squeeze(part: Segment) -> tuple[tuple[int, int], int, tuple[int, int], int]:
    """(1, c, 1, w) segment as (c, w)."""
    return (part.shape[1], part.shape[3]), part.offset, (part.strides[1], part.strides[3]), 0


def _lane_runs(geometry: Geometry, first_lane: int, channels: int, mask: int | None) -> list[tuple[int, int]]:
    """Channel ranges [start, stop) whose lanes are adjacent and enabled by the mask."""
    lanes = geometry.lanes
    runs: list[tuple[int, int]] = []
    start = 0
    while start < channels:
        stop = min(channels, start + lanes - (first_lane + start) % lanes)
        runs.append((start, stop))
        start = stop
    if mask is None or mask & ((1 << lanes) - 1) == (1 << lanes) - 1:
        return runs
    enabled: list[tuple[int, int]] = []
    for start, stop in runs:
        for keep, group in groupby(range(start, stop), key=lambda c: mask >> ((first_lane + c) % lanes) & 1):
            members = list(group)
            if keep:
                enabled.append((members[0], members[-1] + 1))
    return enabled


def _four_axes(view: View, shape: tuple[int, int, int, int], strides: tuple[int, ...]) -> list[Segment]:
    geometry, itemsize = view.geometry, view.dtype.itemsize
    n, channels, h, w = shape
    first_lane, byte = divmod(view.address, geometry.lane_bytes)
    first_lane %= geometry.lanes
    parts: list[Segment] = []
    for start, stop in _lane_runs(geometry, first_lane, channels, view.lane_mask):
        row, lane = divmod(first_lane + start, geometry.lanes)
        parts.append(
            Segment(
                (slice(0, n), slice(start, stop), slice(0, h), slice(0, w)),
                (n, stop - start, h, w),
                lane * geometry.lane_bytes + byte + row * strides[1] * itemsize,
                (strides[0] * itemsize, geometry.lane_bytes, strides[2] * itemsize, strides[3] * itemsize),
                1,
            )
        )
    return parts


def _matrix(view: View) -> list[Segment]:
    """Matrix of rows x columns, ``width`` columns per lane: element (r, c) lies in lane c div width."""
    rows, columns = view.shape
    width = view.width
    full, rest = divmod(columns, width)
    blocks = full + (1 if rest else 0)
    strides = view.strides or strides_of(
        view.geometry, Layout.ALIGN_EU, view.address, (rows, blocks, 1, width), view.dtype
    )
    parts: list[Segment] = []
    for part in _four_axes(view, (rows, blocks, 1, width), strides):
        start, stop = part.index[1].start, part.index[1].stop
        if stop > full:
            stop = full
            tail_row = part.index[1].start
            parts.append(
                Segment(
                    (slice(0, rows), slice(full * width, columns)),
                    (rows, 1, rest),
                    part.offset + (full - tail_row) * part.strides[1],
                    (part.strides[0], part.strides[1], part.strides[3]),
                    1,
                )
            )
        if stop > start:
            parts.append(
                Segment(
                    (slice(0, rows), slice(start * width, stop * width)),
                    (rows, stop - start, width),
                    part.offset,
                    (part.strides[0], part.strides[1], part.strides[3]),
                    1,
                )
            )
    return parts


def _align_ic(view: View) -> list[Segment]:
    """Convolution weights (oc, ic, h, w): ic in groups of k, innermost; output channels run over lanes.

    byte = start + itemsize * ((ic div k) * k*h*w + (y*w + x) * k + ic mod k)
    """
    oc, ic, h, w = view.shape
    itemsize = view.dtype.itemsize
    k = view.geometry.cube(itemsize)
    step = align(ic, k) * h * w
    full, rest = divmod(ic, k)
    parts: list[Segment] = []
    for part in _four_axes(view, (1, oc, 1, step), (0, step, step, 1)):
        channels = part.index[1]
        count = part.shape[1]
        lane = part.strides[1]
        inner = (w * k * itemsize, k * itemsize)
        if full:
            parts.append(
                Segment(
                    (channels, slice(0, full * k), slice(0, h), slice(0, w)),
                    (count, full, k, h, w),
                    part.offset,
                    (lane, k * h * w * itemsize, itemsize, *inner),
                    0,
                )
            )
        if rest:
            parts.append(
                Segment(
                    (channels, slice(full * k, ic), slice(0, h), slice(0, w)),
                    (count, rest, h, w),
                    part.offset + full * k * h * w * itemsize,
                    (lane, itemsize, *inner),
                    0,
                )
            )
    return parts
