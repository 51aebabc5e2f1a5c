"""Tensors of plans: their layout from their addresses on, without contents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from tdb_dap.engine.hardware.apart import bytes_in_lanes, has_apart, parts_of
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import zeros
from tdb_dap.engine.hardware.views import Layout, Segment, View, template
from tdb_dap.targets.arithmetic.stored import Unplanned

_LARGEST = 1 << 28
"""Bytes of a tensor, each counted as often as it is read."""
_REACH = 1 << 32
"""Bytes that a tensor may reach over."""
_NOWHERE = zeros(1 << 25)
"""Where tensors are taken to be that reach over no more: it is never written, and no plan has an address in it."""

Index = tuple[slice, ...]


def in_shape(numbers: Array, shape: tuple[int, ...]) -> Array:
    """The same numbers, where they are, in another shape; Unplanned where they are not in equal steps in it."""
    if numbers.shape == shape:
        return numbers
    try:
        if _COPIES:
            shaped = numbers.view()
            shaped.shape = shape
            return shaped
        return numbers.reshape(shape, copy=False)
    except (AttributeError, ValueError):
        raise Unplanned("a shape in which the words are not in equal steps") from None


_COPIES = np.lib.NumpyVersion(np.__version__) < "2.1.0"
"""Whether ``reshape`` may copy: that would read all words of the memory that a plan is made for."""


class Tensor:
    """A tensor in memory that nobody reads, laid out as on the chip, at the first byte of its lane."""

    @classmethod
    def of(cls, view: View) -> Tensor:
        """The tensor of a view: one for all that differ in their address only, and begin in the same lane."""
        shared, shift = template(view)
        if shift or shared.stop - shared.start > _NOWHERE.size:
            return cls(view)
        return shared.once(f"tensor in {view.space.name}", lambda: cls(view))

    def __init__(self, view: View) -> None:
        if view.dtype.per_byte > 1 or view.layout is Layout.STREAM or view.lane_mask is not None:
            raise Unplanned(f"%{view.name}: {view.layout.value} of {view.dtype}")
        shared, shift = template(view)
        start, stop = shared.start + shift, shared.stop + shift
        if shared.size > _LARGEST or stop - start > _REACH or stop <= start:
            raise Unplanned(f"%{view.name}: {shared.size} bytes")
        self.view = view
        self._shared = shared
        self.segments: Sequence[Segment] = parts_of(view) if shift else shared.once("parts", lambda: parts_of(view))
        memory = _NOWHERE if stop - start <= _NOWHERE.size else zeros(stop - start)
        dtype = view.dtype.bits_dtype
        self.pieces: list[tuple[Index, Array]] = [
            (part.index, np.ndarray(part.shape, dtype, memory, part.offset - start, part.strides))
            for part in self.segments
        ]
        self.low, self.high = start - view.address, stop - view.address
        pointer: int = memory.__array_interface__["data"][0]
        self.origin = pointer - self.low
        self.pieces = [(index, _plain(piece, index)) for index, piece in self.pieces]
        only = self.pieces[0][1] if len(self.pieces) == 1 else None
        self.array = only if only is not None and only.shape == view.shape else None

    @cached_property
    def inner(self) -> int:
        """Bytes that its elements are in from its address on, in every lane; 0 where that is not known."""
        return self._shared.once("inner", lambda: bytes_in_lanes(self.view))

    def has_apart(self) -> bool:
        """Whether no byte belongs to two elements."""
        return self._shared.once("apart", lambda: has_apart(self.view))

    def is_laid_out_as(self, other: Tensor) -> bool:
        """Whether the elements of both have the same places from their addresses on."""
        if self._shared is other._shared:
            return True
        return self.view.dtype.itemsize == other.view.dtype.itemsize and [
            (part.offset - self.view.address, part.shape, part.strides) for part in self.segments
        ] == [(part.offset - other.view.address, part.shape, part.strides) for part in other.segments]

    def is_part_of(self, result: Tensor) -> bool:
        """Whether its elements are, from both addresses on, the first ones of the result along the axes it lacks."""
        if self.array is None or result.array is None or self.array.ndim != result.array.ndim:
            return False
        if self.low != result.low or self.view.dtype.itemsize != result.view.dtype.itemsize:
            return False
        return all(
            extent == 1 or (extent == full and own == to)
            for extent, own, full, to in zip(
                self.array.shape, self.array.strides, result.array.shape, result.array.strides, strict=True
            )
        )

    def is_read_before(self, result: Tensor) -> bool:
        """Whether each element is read before one of the result is written over it, if both have one address.

        So it is where elements are taken in order and those of the result are no further on.
        """
        if self.array is None or result.array is None or self.array.shape != result.array.shape:
            return False
        steps = [
            (own, to)
            for own, to, extent in zip(self.array.strides, result.array.strides, self.array.shape, strict=True)
            if extent > 1
        ]
        is_ahead = all(own >= to for own, to in steps) and self.view.dtype.itemsize >= result.view.dtype.itemsize
        return is_ahead and self._is_in_order() and result._is_in_order()

    def _is_in_order(self) -> bool:
        """Whether elements that come later are further on, among those of a lane."""
        assert self.array is not None
        lane_bytes = self.view.geometry.lane_bytes if self.view.space is Space.LOCAL else _REACH
        reached = self.view.dtype.itemsize
        for extent, stride in zip(self.array.shape[::-1], self.array.strides[::-1], strict=True):
            if extent > 1 and stride % lane_bytes:
                if stride < reached:
                    return False
                reached += (extent - 1) * stride
        return True


def _plain(piece: Array, index: Index) -> Array:
    """A piece with the axes of its tensor, where words that are stored together are in equal steps."""
    if piece.ndim <= len(index):
        return piece
    try:
        return in_shape(piece, tuple([part.stop - part.start for part in index]))
    except Unplanned:
        return piece
