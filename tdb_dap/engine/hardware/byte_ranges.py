"""Places in memory byte by byte: what a tensor, a slice or an address range covers, and whether two overlap.

The text of a place names its bytes and nothing else, so it means the same in another session:
``R0x4000+64`` is 64 bytes of local memory, ``R0x4000+64*8/0x40000`` eight times 64 bytes, 0x40000 apart, ``@core1``
after it another core than the first; several parts have commas between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from tdb_dap.engine.hardware.addresses import whole_number
from tdb_dap.engine.hardware.apart import has_apart
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.rectangles import do_meet
from tdb_dap.engine.hardware.runs import Runs, merged
from tdb_dap.engine.hardware.views import Layout, Operand, Segment, View, as_bytes, template
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadExpression

_MOST_RUNS = 1 << 18
_MOST_BYTES = 1 << 48
"""Of an address; beyond what any chip has."""
_MOST_ELEMENTS = 1 << 26
"""Of a tensor whose elements are compared with each other; larger ones count as overlapping."""
_MOST_MARKS = 1 << 27
"""Bytes from the first to the last of a tensor up to which each is marked."""

_NUMBER = r"0x[0-9a-fA-F]+|\d+"
_PART = rf"(?:{_NUMBER})\+(?:{_NUMBER})(?:\*(?:{_NUMBER})/(?:{_NUMBER}))?"
RANGES_TEXT = rf"[RGSL]{_PART}(?:,{_PART})*(?:@core\d+)?"
"""Pattern of a place text, without groups."""


class ByteRanges(Struct, frozen=True, eq=False):
    """Bytes of one memory. ``core``: 0 for the memories that all cores share."""

    space: Space
    core: int
    runs: Runs

    @classmethod
    def of(cls, view: View, index: tuple[Any, ...] = ()) -> ByteRanges:
        """The bytes of a view, or of the elements that each ``index`` in turn selects from it."""
        core = 0 if view.space.is_shared else view.core
        if index:
            return cls(view.space, core, _elements(view, index))
        plain = view if view.dtype.per_byte == 1 else as_bytes(view)
        parts = [_runs(segment, plain.dtype.itemsize) for segment in view.segments if 0 not in segment.shape]
        if not parts:
            return cls(view.space, core, np.zeros((0, 2), np.int64))
        runs = merged(np.concatenate(parts))
        share = view.dtype.per_byte
        return cls(view.space, core, runs if share == 1 else merged(_shared_bytes(runs, share)))

    @classmethod
    def in_first_lane(cls, view: View) -> ByteRanges | None:
        """The bytes of a view in the first of its lanes, where each segment begins; None where one is in one lane."""
        if view.dtype.per_byte > 1 or not all(part.lane_axis is not None for part in view.segments):
            return None
        parts = [
            _runs(Segment(part.index, tuple(shape), part.offset, part.strides), view.dtype.itemsize)
            for part in view.segments
            if 0 not in part.shape
            for shape in [[1 if axis == part.lane_axis else extent for axis, extent in enumerate(part.shape)]]
        ]
        return cls(view.space, view.core, merged(np.concatenate(parts))) if parts else None

    @classmethod
    def range(cls, space: Space, core: int, start: int, size: int) -> ByteRanges:
        """``size`` bytes from ``start`` on."""
        core = 0 if space.is_shared else core
        return cls(space, core, np.array([[start, start + size]], np.int64))

    @property
    def size(self) -> int:
        """Bytes."""
        return int((self.runs[:, 1] - self.runs[:, 0]).sum())

    @property
    def start(self) -> int:
        """The first byte."""
        return int(self.runs[0, 0])

    def overlaps(self, other: ByteRanges) -> bool:
        """Whether the two share a byte."""
        if self.space is not other.space or self.core != other.core or not len(self.runs) or not len(other.runs):
            return False
        after = np.searchsorted(other.runs[:, 1], self.runs[:, 0], side="right")
        inside = after < len(other.runs)
        return bool((other.runs[after[inside], 0] < self.runs[inside, 1]).any())

    def intersection(self, other: ByteRanges) -> ByteRanges | None:
        """The bytes that both have; None if there are none."""
        if not self.overlaps(other):
            return None
        # Sorted by start, each run of one meets a stretch of the other's.
        first = np.searchsorted(other.runs[:, 1], self.runs[:, 0], side="right")
        last = np.searchsorted(other.runs[:, 0], self.runs[:, 1], side="left")
        counts = np.maximum(last - first, 0)
        mine = np.repeat(np.arange(len(self.runs)), counts)
        theirs = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
        starts = np.maximum(self.runs[mine, 0], other.runs[theirs, 0])
        stops = np.minimum(self.runs[mine, 1], other.runs[theirs, 1])
        return ByteRanges(self.space, self.core, np.stack([starts, stops], axis=1))

    def without(self, other: ByteRanges) -> ByteRanges | None:
        """The bytes that only this one has; None if there are none."""
        shared = self.intersection(other)
        if shared is None:
            return self
        # Gaps begin where a run begins or a shared stretch ends, and end the other way round.
        starts = np.sort(np.concatenate([self.runs[:, 0], shared.runs[:, 1]]))
        stops = np.sort(np.concatenate([shared.runs[:, 0], self.runs[:, 1]]))
        kept = starts < stops
        return ByteRanges(self.space, self.core, np.stack([starts, stops], axis=1)[kept]) if kept.any() else None

    @property
    def text(self) -> str:
        """Names the bytes; ``parse`` reads it."""
        where = f"@core{self.core}" if self.core else ""
        return self.space.value + ",".join(_part_text(*part) for part in _parts(self.runs)) + where


def share_a_byte(one: Operand, other: Operand) -> bool:
    """Whether two operands are in one memory and have a byte in common."""
    if not isinstance(one, View) or not isinstance(other, View) or one.space is not other.space:
        return False
    return do_meet(one, other) and ByteRanges.of(one).overlaps(ByteRanges.of(other))


def are_overwritten(source: View, destination: View, copies: bool) -> bool:
    """Whether elements that move one after the other are overwritten before their turn.

    Both have as many elements, in the same order. ``copies``: a word that is moved onto itself stays.
    """
    if source.size > _MOST_ELEMENTS:
        return True
    read, written = (element_offsets(view).reshape(-1) for view in (source, destination))
    turns = np.flatnonzero((written != read) | (not copies))
    size = destination.dtype.itemsize
    places, first = np.unique(written[turns][:, None] + np.arange(size), return_index=True)
    first_turns, order = turns[first // size], np.arange(read.size)
    for byte in range(source.dtype.itemsize if turns.size else 0):
        at = np.minimum(np.searchsorted(places, read + byte), places.size - 1)
        if ((places[at] == read + byte) & (first_turns[at] < order)).any():
            return True
    return False


def has_overlaps(view: View) -> bool:
    """Whether two elements of a tensor have a byte in common."""
    return template(view)[0].once("overlaps", lambda: not has_apart(view) and _shares_bytes(view))


def _shares_bytes(view: View) -> bool:
    """The same, by the bytes of each element; of a tensor that is too large for that, true."""
    each = view if view.dtype.per_byte == 1 else as_bytes(view)
    shared, itemsize = template(each)[0], each.dtype.itemsize
    if view.lane_mask is None and shared.size > shared.stop - shared.start:
        return True
    parts = [part for part in shared.segments if part.length >= 0]
    is_plain = view.layout is not Layout.DMA_4BANK and all(min(part.strides, default=0) >= 0 for part in parts)
    if is_plain and shared.stop - shared.start <= _MOST_MARKS:
        marks = np.zeros(shared.stop - shared.start, np.bool_)
        for part in parts:
            for byte in range(itemsize):
                as_strided(marks[part.offset - shared.start + byte :], part.shape, part.strides)[...] = True
        return int(np.count_nonzero(marks)) < itemsize * sum(math.prod(part.shape) for part in parts)
    if view.size > _MOST_ELEMENTS:
        return True
    starts = np.sort(element_offsets(view), axis=None)
    return bool((np.diff(starts[starts >= 0]) < itemsize).any())


def parse(text: str) -> ByteRanges:
    """The place that a text of ``ByteRanges.text`` names; BadExpression if it names none."""
    if re.fullmatch(RANGES_TEXT, text.strip()) is None:
        raise BadExpression(f"{quoted(text)} is not a place; write R0x4000+64 or R0x4000+64*8/0x40000")
    body, _, core = text.strip().partition("@core")
    runs: list[tuple[int, int]] = []
    for part in body[1:].split(","):
        start, size, count, step = (
            whole_number(n) for n in re.findall(_NUMBER, part if "*" in part else part + "*1/0")
        )
        if count > _MOST_RUNS or size <= 0 or start + size + count * step > _MOST_BYTES:
            raise BadExpression(f"{quoted(text)}: {part[:40]} is not a number of bytes that can be watched")
        runs += [(start + i * step, start + i * step + size) for i in range(count)]
    return ByteRanges(Space(body[0]), int(core or 0), merged(np.array(runs, np.int64).reshape(-1, 2)))


def ranges_name(place: ByteRanges, geometry: Geometry) -> str:
    """The place for people: its first address and its bytes."""
    name = geometry.name(place.space, place.start)
    return f"{name}, {place.size:,} byte{'s' if place.size != 1 else ''}"


def _runs(segment: Segment, itemsize: int) -> Runs:
    """The bytes of a segment; where they are in too many pieces, the ranges that enclose them."""
    length = itemsize
    outer: list[tuple[int, int]] = []
    for stride, extent in sorted(zip(segment.strides, segment.shape, strict=True)):
        if extent == 1 or stride == 0:
            continue
        if stride <= length:
            length += (extent - 1) * stride
        else:
            outer.append((stride, extent))
    count = int(np.prod([extent for _, extent in outer], dtype=np.int64))
    if count > _MOST_RUNS:
        return np.array(segment.ranges(itemsize), np.int64)
    starts = np.array([segment.offset], np.int64)
    for stride, extent in reversed(outer):  # mostly ascending, so that they need not be sorted
        starts = (starts[:, None] + np.arange(extent, dtype=np.int64) * stride).reshape(-1)
    return np.stack([starts, starts + length], axis=1)


def element_offsets(view: View) -> NDArray[np.int64]:
    """Offsets at which the elements of a view begin, in its shape; -1 in lanes that are masked out."""
    offsets = np.full(view.shape, -1, np.int64)
    for segment in (view if view.dtype.per_byte == 1 else as_bytes(view)).segments:
        if 0 in segment.shape:
            continue
        at = np.full((1,) * len(segment.shape), segment.offset, np.int64)
        for axis, (extent, stride) in enumerate(zip(segment.shape, segment.strides, strict=True)):
            shape = [-1 if a == axis else 1 for a in range(len(segment.shape))]
            at = at + (np.arange(extent, dtype=np.int64) * stride).reshape(shape)
        part = offsets[segment.index]
        part[...] = np.broadcast_to(at, segment.shape).reshape(part.shape)
    return offsets


def _elements(view: View, index: tuple[Any, ...]) -> Runs:
    """The bytes of some elements of a view."""
    if view.layout is Layout.STREAM:
        raise BadExpression(f"%{view.name} is a stream of bytes; only the whole of it can be named")
    chosen = element_offsets(view)
    for step in index:
        chosen = np.asarray(chosen[step])
    elements = chosen.reshape(-1)
    elements = elements[elements >= 0]  # lanes that are masked out have no bytes
    size = 1 if view.dtype.per_byte > 1 else view.dtype.itemsize
    runs = np.stack([elements, elements + size], axis=1)
    share = view.dtype.per_byte
    return merged(runs if share == 1 else _shared_bytes(runs, share))


def _shared_bytes(runs: Runs, share: int) -> Runs:
    """Ranges of parts of bytes as ranges of bytes."""
    return np.stack([runs[:, 0] // share, -(-runs[:, 1] // share)], axis=1)


def _parts(runs: Runs) -> Iterable[tuple[int, int, int, int]]:
    """Start, size, count and step: runs of one size at equal distances are one part."""
    position = 0
    while position < len(runs):
        start, size = int(runs[position, 0]), int(runs[position, 1] - runs[position, 0])
        count, step = 1, 0
        while position + count < len(runs):
            gap = int(runs[position + count, 0] - runs[position + count - 1, 0])
            if int(runs[position + count, 1] - runs[position + count, 0]) != size or (count > 1 and gap != step):
                break
            count, step = count + 1, gap
        yield start, size, count, step
        position += count


def _part_text(start: int, size: int, count: int, step: int) -> str:
    return f"{start:#x}+{size}" + (f"*{count}/{step:#x}" if count > 1 else "")
