"""What a command reads or writes: a tensor somewhere in the chip's memory, or a constant in the command."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.dtypes import DType
from tdb_dap.engine.hardware.geometry import Geometry, Space

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.layouts import Segment


class Layout(Enum):
    """How logical indices become addresses; the formulas are in ``layouts``."""

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


PACKED = (Layout.ALIGN_XN, Layout.COMPACT_XN, Layout.STRIDE_XN, Layout.CONTIGUOUS_XN)
"""Layouts that keep 4 / itemsize batches side by side in one word of 4 bytes."""


_WITHOUT_STRIDES = (Layout.ALIGN_IC, Layout.MATRIX, Layout.MATRIX2)


@dataclass(frozen=True)
class View:
    """A tensor in memory.

    ``address``: byte offset in ``space`` of core ``core`` (local memory: lane * lane bytes + byte in the lane).
    ``shape``: logical shape. ``strides``: elements per step of the four physical axes (n, c, h, w); in local
    memory the channel axis runs over lanes first and ``strides[1]`` is the step after the last lane. None where
    the layout has a formula of its own. Packed layouts: ``strides[0]`` is the step from word to word of batches.
    ``width``: columns per lane of the matrix layouts, input channels per unit of weights stored in units.
    ``lane_mask``: lanes that take part, bit by bit; None means all.
    """

    space: Space
    address: int
    shape: tuple[int, ...]
    dtype: DType
    layout: Layout
    strides: tuple[int, ...] | None
    geometry: Geometry = field(repr=False, compare=False)
    width: int = 0
    lane_mask: int | None = None
    core: int = 0

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
        from tdb_dap.engine.hardware.int4 import as_bytes
        from tdb_dap.engine.hardware.layouts import segments

        return segments(self if self.dtype.per_byte == 1 else as_bytes(self))

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
        return merge_ranges(ranges)


@dataclass(frozen=True)
class Constant:
    """A number in the command itself. ``bits``: the stored word; ``value``: what it stands for."""

    bits: int
    value: int | float
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


def merge_ranges(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorted, disjoint form of half-open ranges."""
    merged: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], stop))
        else:
            merged.append((start, stop))
    return merged
