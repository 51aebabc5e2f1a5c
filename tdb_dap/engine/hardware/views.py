"""Operands and results of a command: tensors somewhere in the chip's memory, or constants in the command.

Logical index to byte address, for every layout. In local memory channel ``c`` of a tensor that starts at lane ``N0``
lives in lane ``(N0 + c) mod lanes``, and ``(N0 + c) div lanes`` counts rows of ``strides[1]`` elements. Every view is
cut into *segments* of constant byte strides; memory is then read and written as strided arrays, without a loop over
elements.

Packed layouts (XN) hold x = 4 / itemsize batches in one word of 4 bytes: batch n is element n mod x of word n div x,
words are laid out as 32-bit elements are in the plain layout of that name.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from functools import cached_property
from itertools import groupby
from typing import TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import F32, UI8, DType
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.runs import merged
from tdb_dap.engine.hardware.strides import align, contiguous, in_words
from tdb_dap.errors import BadAccess

T = TypeVar("T")


class Layout(Enum):
    """Layout: mapping of logical indices to addresses; the formulas are in ``segments``."""

    ALIGN_EU = "alignEU"
    COMPACT = "compact"
    STRIDE = "stride"
    PER_CHANNEL = "offset"
    ALIGN_LINE = "alignLine"
    SHARED_ROWS = "T4"
    LANE_ROWS = "T5"
    ALIGN_IC = "alignIC"
    MATRIX = "matrix"
    MATRIX2 = "matrix2"
    DMA_STRIDE = "DMAstride"
    DMA_MATRIX = "DMAmatrix"
    DMA_LINEAR = "DMAlinear"
    DMA_4BANK = "DMA4Bank"
    CONTIGUOUS = "continuous"
    ALIGN_XN = "alignEU_XN"
    COMPACT_XN = "compact_XN"
    STRIDE_XN = "stride_XN"
    CONTIGUOUS_XN = "continuous_XN"
    CHANNEL_UNITS = "channelUnits"
    STREAM = "stream"

    __hash__ = object.__hash__  # as for Space


PACKED = (Layout.ALIGN_XN, Layout.COMPACT_XN, Layout.STRIDE_XN, Layout.CONTIGUOUS_XN)
"""Layouts that keep 4 / itemsize batches side by side in one word of 4 bytes."""


_WITHOUT_STRIDES = (Layout.ALIGN_IC, Layout.MATRIX, Layout.MATRIX2)


class Segment(Struct, frozen=True, dict=True):
    """Part of a view: ``array[index]`` reshaped to ``shape`` is at ``offset`` with byte ``strides``.

    ``lane_axis``: the axis that steps from lane to lane, if one does; ranges are reported per lane.
    """

    index: tuple[slice, ...]
    shape: tuple[int, ...]
    offset: int
    strides: tuple[int, ...]
    lane_axis: int | None = None

    @cached_property
    def length(self) -> int:
        """Bytes from the start of the first element to the start of the last; -1 if there is no element."""
        if 0 in self.shape:
            return -1
        return sum((extent - 1) * stride for extent, stride in zip(self.shape, self.strides, strict=True))

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


class View(Struct, frozen=True, eq=False, dict=True):
    """A tensor in memory."""

    space: Space
    address: int
    """Byte offset in ``space`` of core ``core`` (local memory: lane * lane bytes + byte in the lane)."""
    shape: tuple[int, ...]
    """Logical shape."""
    dtype: DType
    layout: Layout
    strides: tuple[int, ...] | None
    """Elements per step of the four physical axes (n, c, h, w); in local memory the channel axis runs over lanes first
    and ``strides[1]`` is the step after the last lane. None where the layout has its own formula. Packed layouts:
    ``strides[0]`` is the step from word to word of batches.
    """
    geometry: Geometry
    width: int = 0
    """Columns per lane of the matrix layouts, input channels per unit of weights stored in units."""
    lane_mask: int | None = None
    """Lanes that take part, bit by bit; None means all."""
    core: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    def __repr__(self) -> str:
        return f"View({self.name}, core={self.core}: {self.memref}, {self.layout})"

    @property
    def _identity(self) -> tuple[object, ...]:
        """All but the geometry: two openings of one model have equal views."""
        place = self.space, self.address, self.core, self.lane_mask
        return *place, self.shape, self.dtype, self.layout, self.strides, self.width

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor without gaps."""
        return -(-self.size * self.dtype.itemsize // self.dtype.per_byte)

    @property
    def name(self) -> str:
        return self.geometry.name(self.space, self.address)

    @property
    def memref(self) -> str:
        """MLIR type text: ``memref<1x16x1x1xf32, strides: [16, 1, 1, 1]>``."""
        return memref_text(self.shape, self.dtype, None if self.layout in _WITHOUT_STRIDES else self.strides)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        """The view cut into pieces of constant byte strides; those of 4-bit numbers count nibbles."""
        shared, shift = template(self if self.dtype.per_byte == 1 else as_bytes(self))
        if not shift:
            return shared.segments
        return tuple([replace(part, offset=part.offset + shift) for part in shared.segments])

    def byte_ranges(self) -> list[tuple[int, int]]:
        """Half-open byte ranges in the space that enclose every element; a range may hold gaps.

        Local memory: one range per lane that takes part.
        """
        ranges: list[tuple[int, int]] = []
        for segment in self.segments:
            ranges.extend(segment.ranges(self.dtype.itemsize))
        share = self.dtype.per_byte
        if share > 1:
            ranges = [(start // share, -(-stop // share)) for start, stop in ranges]
        return [(start, stop) for start, stop in merged(np.array(ranges, np.int64).reshape(-1, 2)).tolist()]


class Constant(Struct, frozen=True):
    """A number in the command itself."""

    bits: int
    """The stored word."""
    value: int | float
    """What it stands for."""
    dtype: DType

    @property
    def name(self) -> str:
        return f"C{self.value}"

    @property
    def memref(self) -> str:
        return self.dtype.name


Operand = View | Constant


def memref_text(shape: tuple[int, ...], dtype: DType, strides: tuple[int, ...] | None) -> str:
    dims = "x".join(map(str, shape))
    if strides is None or not any(strides):
        return f"memref<{dims}x{dtype}>"
    return f"memref<{dims}x{dtype}, strides: [{', '.join(map(str, strides))}]>"


def strides_of(
    geometry: Geometry, layout: Layout, address: int, shape: tuple[int, int, int, int], dtype: DType
) -> tuple[int, int, int, int]:
    """Element strides (n, c, h, w) of a canonical layout in local memory.

    alignEU: c = h*w rounded up to the execution units; compact: c = h*w; alignLine: each row rounded up; per
    channel: (0, 1, 0, 0); shared rows (T4): the same data for every channel of a lane; packed: those of 32-bit words.
    """
    if layout in (Layout.ALIGN_XN, Layout.COMPACT_XN):
        plain = Layout.ALIGN_EU if layout is Layout.ALIGN_XN else Layout.COMPACT
        n, c, h, w = in_words(strides_of(geometry, plain, address, shape, F32), dtype)
        return n, c, h, w
    _, channels, height, width = shape
    units = geometry.eu_bytes * dtype.per_byte // dtype.itemsize
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


class Template(Struct, frozen=True, dict=True):
    """Properties that views share which differ in their address only."""

    segments: tuple[Segment, ...]
    start: int
    """First byte of all segments; 0 where there is none."""
    stop: int
    """Byte after the last one."""
    size: int
    """Bytes of all elements, each counted as often as it is read."""
    covered: int
    """At most as many different bytes."""
    single: Segment | None
    """The only segment, if it has the shape of the view."""

    def once(self, what: str, look: Callable[[], T]) -> T:
        """Another such property, by ``look``, which is called once."""
        known: dict[str, T] = self.__dict__
        if what not in known:
            known[what] = look()
        return known[what]


MOST_BYTES = (1 << 63) - 1
"""Of an array in NumPy, which counts extents of zero as one, and the largest offset."""


def _template(view: View) -> Template:
    if not view.size and math.prod(max(1, extent) for extent in view.shape) * view.dtype.itemsize > MOST_BYTES:
        raise BadAccess(f"%{view.name}: an empty tensor of the impossible shape {list(view.shape)}")
    parts, itemsize = segments(view), view.dtype.itemsize
    slices = [part for part in parts if part.length >= 0]
    start = min((part.offset for part in slices), default=0)
    stop = max((part.offset + part.length + itemsize for part in slices), default=0)
    covered = min(sum(part.length + itemsize for part in parts), stop - start)
    single = parts[0] if len(parts) == 1 and slices and parts[0].shape == view.shape else None
    return Template(parts, start, stop, view.size * itemsize, covered, single)


class _Templates(dict[tuple[object, ...], Template]):
    """Those that were worked out; all are forgotten when their segments are too many."""

    segments = 0

    def keep(self, key: tuple[object, ...], known: Template) -> None:
        if self.segments > _MOST_SEGMENTS:
            self.clear()
            self.segments = 0
        self[key] = known
        self.segments += 1 + len(known.segments)


_templates = _Templates()
_MOST_SEGMENTS = 1 << 17
"""Of all templates: damaged models have tensors of thousands of segments each."""


def template(view: View) -> tuple[Template, int]:
    """The segments of ``view``, all to be moved by a number of bytes.

    Many views of a program differ only in their address: what they share is worked out once.
    """
    lane, shift = divmod(view.address, view.geometry.lane_bytes) if view.space is Space.LOCAL else (-1, view.address)
    key = (
        view.geometry,
        lane,
        view.shape,
        view.strides,
        view.layout,
        view.dtype.name,
        view.width,
        view.lane_mask,
    )
    known = _templates.get(key)
    if known is None:
        known = _template(replace(view, address=view.address - shift))
        _templates.keep(key, known)
    return known, shift


def segments(view: View) -> tuple[Segment, ...]:
    """Cut ``view`` into segments; a segment never straddles the step from the last lane to the first."""
    if view.layout in PACKED:
        return tuple(_packed(view))
    if view.layout in (Layout.ALIGN_IC, Layout.CHANNEL_UNITS):
        return tuple(_weights(view))
    if view.layout in (Layout.MATRIX, Layout.DMA_MATRIX):
        return tuple(_matrix(view))
    if view.layout is Layout.MATRIX2:
        rows, columns = view.shape
        strides = strides_of(view.geometry, Layout.ALIGN_EU, view.address, (1, rows, 1, columns), view.dtype)
        return tuple(
            Segment((part.index[1], part.index[3]), *_squeeze(part))
            for part in _four_axes(view, (1, rows, 1, columns), strides)
        )
    if view.layout is Layout.DMA_4BANK:
        return tuple(_in_each_bank(view))
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


def _in_each_bank(view: View) -> list[Segment]:
    """The same tensor four times, a bank apart: written to all of them; of what is read the last one counts."""
    once = segments(replace(view, layout=Layout.STRIDE))
    steps = range(0, 4 * view.geometry.bank_bytes, view.geometry.bank_bytes)
    return [replace(part, offset=part.offset + step) for step in steps for part in once]


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
    if channels > 1 << 22:  # commands count them in 16 bits
        raise BadAccess(f"%{view.name}: {channels:,} channels are more than any local memory holds")
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


def _packed(view: View) -> list[Segment]:
    """Words of x batches; of the last word only the batches that exist."""
    itemsize = view.dtype.itemsize
    x = 4 // itemsize
    count, *inner = view.shape
    full, rest = divmod(count, x)
    words = replace(view, layout=Layout.STRIDE, shape=(full + (1 if rest else 0), *inner))
    parts: list[Segment] = []
    for part in segments(words):
        step, *steps = part.strides
        index, lane = part.index[1:], part.lane_axis
        if full:
            shape = (full, x, *part.shape[1:])
            lanes = None if lane is None else lane + 1
            parts.append(Segment((slice(0, full * x), *index), shape, part.offset, (step, itemsize, *steps), lanes))
        if rest:
            shape, offset = (rest, *part.shape[1:]), part.offset + full * step
            parts.append(Segment((slice(full * x, count), *index), shape, offset, (itemsize, *steps), lane))
    return parts


def _matrix(view: View) -> list[Segment]:
    """Matrix of rows x columns, ``width`` columns per lane: element (r, c) is in lane c div width."""
    rows, columns = view.shape
    width = view.width
    if width == 0:
        raise BadAccess("a matrix of 0 columns per lane has no place in memory")
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


def _weights(view: View) -> list[Segment]:
    """Convolution weights (oc, ic, h, w) in units of k input channels; output channels run over lanes.

    byte = start + (ic div k) * unit + y * row + x * tap + itemsize * (ic mod k). alignIC: k is what the cube takes at
    once, tap = k elements, row and unit follow without gaps; channel units: k and the strides are given.
    """
    oc, ic, h, w = view.shape
    itemsize, k = view.dtype.itemsize, view.width
    strides = view.strides
    if strides is None:
        k = view.geometry.cube(itemsize)
        strides = (k * h * w, align(ic, k) * h * w, w * k, k)
    unit, row, tap = (strides[axis] * itemsize for axis in (0, 2, 3))
    full, rest = divmod(ic, k)
    parts: list[Segment] = []
    for part in _four_axes(view, (1, oc, 1, 1), strides):
        channels, count, lane = part.index[1], part.shape[1], part.strides[1]
        rows, columns = slice(0, h), slice(0, w)
        if full:
            index, steps = (channels, slice(0, full * k), rows, columns), (lane, unit, itemsize, row, tap)
            parts.append(Segment(index, (count, full, k, h, w), part.offset, steps, 0))
        if rest:
            index, offset = (channels, slice(full * k, ic), rows, columns), part.offset + full * unit
            parts.append(Segment(index, (count, rest, h, w), offset, (lane, itemsize, row, tap), 0))
    return parts


def doubled(geometry: Geometry) -> Geometry:
    """The geometry in nibbles."""
    return replace(
        geometry,
        lane_bytes=2 * geometry.lane_bytes,
        bank_bytes=2 * geometry.bank_bytes,
        eu_bytes=2 * geometry.eu_bytes,
        cube_channels=2 * geometry.cube_channels,
    )


def as_bytes(view: View) -> View:
    """The view in a memory in which every nibble has its own byte."""
    return replace(view, dtype=UI8, address=2 * view.address, geometry=doubled(view.geometry))
