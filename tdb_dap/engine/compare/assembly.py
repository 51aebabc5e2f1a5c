"""Tensors that are written piece by piece (slices of a layer group, several cores), put together before judging."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.reference import numbers_from
from tdb_dap.engine.source.mapped_tensor import MappedTensor

Box = tuple[tuple[int, int], ...]
"""The first index and the one after the last on each axis."""


class Assembly:
    """The whole of one tensor as far as it has been seen.

    ``reference``: gives the reference's array, any shape, which is not kept: all tensors of a layer group are open at
    once. For the same reason words are kept as they are stored, and of what has been seen only the borders. Where
    pieces overlap (the borders that slices share), the number that is further off counts: each of them was used by
    somebody.
    """

    def __init__(self, reference: Callable[[], Array]) -> None:
        self._reference = reference
        self._shape = reference().shape
        self._size = math.prod(self._shape)
        self._whole: Array | None = None
        self._like: MappedTensor | None = None
        """A value that is stored as the words are; None: they are numbers, of pieces that differ in that."""
        self._seen = _Seen(self._shape)
        self.pieces = 0

    @property
    def expected(self) -> Array:
        """The reference's numbers, float32."""
        return np.ascontiguousarray(self._reference(), np.float32)

    def add(self, value: MappedTensor, words: Array) -> None:
        """Put in the stored words of one value; ValueError or IndexError if its slice does not fit the reference."""
        if self._whole is None:
            self._like = value
            if value.slices is None and not value.is_3d_group and words.size == self._size:
                self._whole = words.reshape(self._shape)
                self._seen.add(value)
                self.pieces += 1
                return
            self._whole = np.zeros(self._shape, words.dtype)
        elif self._like is not None and not _is_alike(self._like, value):
            self._whole, self._like = numbers_from(self._like, self._whole), None
        if self._like is None:
            words = numbers_from(value, words)
        target = value.expected(self._whole)
        words = words.reshape(target.shape)
        seen = self._seen.add(value)
        if seen is not None and (differing := seen & (target != words)).any():
            numbers, before = self._numbers(words), self._numbers(target)
            wanted = value.expected(self.expected)
            with np.errstate(all="ignore"):
                # Not "greater": a difference that is no number is the largest there is.
                nearer = np.abs(numbers - wanted) <= np.abs(before - wanted)
            words = np.where(differing & (nearer | (numbers == wanted)), target, words)
        target[...] = words
        self.pieces += 1

    def _numbers(self, words: Array) -> Array:
        return words if self._like is None else numbers_from(self._like, words)

    @property
    def is_complete(self) -> bool:
        """Whether every element has been seen."""
        return self._seen.count == self._size

    @property
    def covered(self) -> float:
        """Share of the elements that have been seen, 0 to 1."""
        return self._seen.count / self._size if self._size else 1.0

    @property
    def actual(self) -> Array:
        """Assembled numbers, in the reference's shape; the reference's own numbers where nothing was written."""
        assert self._whole is not None
        numbers = self._numbers(self._whole).reshape(self._shape)
        return numbers if self.is_complete else np.where(self._seen.mask(), numbers, self.expected)

    @property
    def identity(self) -> Hashable:
        """Equal for tensors of equal numbers; None where that is not known."""
        like, view = self._like, self._like.view if self._like is not None else None
        if self._whole is None or like is None or view is None or not self.is_complete:
            return None
        digest = hashlib.sha256(np.ascontiguousarray(self._whole).data).digest()
        return view.dtype.name, like.scale, like.zero_point, self._shape, digest


class _Seen:
    """Elements of a tensor that have been seen. ``count``: how many."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self._shape = shape
        self._reshape: tuple[int, ...] | None = None
        """The axes that the boxes count."""
        self._boxes: list[Box] = []
        self._mask: Array | None = None
        """Truth values, where pieces do not count the same axes."""
        self.count = 0

    def add(self, value: MappedTensor) -> Array | None:
        """Whether each element of a value was seen before, in the shape of its part; None if none was."""
        reshape = value.reshape or self._shape
        if self._mask is None and self._reshape not in (None, reshape):
            self._mask = self.mask()
        if self._mask is not None:
            part = value.expected(self._mask)
            seen = part.copy()
            part[...] = True
            self.count += int(part.size - np.count_nonzero(seen))
            return seen if seen.any() else None
        self._reshape = reshape
        box = _box(value, reshape)
        shape = tuple(stop - start for start, stop in box)
        found: Array | None = None
        for other in self._boxes:
            if all(start < end and begin < stop for (start, stop), (begin, end) in zip(box, other, strict=True)):
                found = np.zeros(shape, np.bool_) if found is None else found
                found[_within(other, box)] = True
        if found is None or not found.all():
            self._boxes.append(box)
        self.count += math.prod(shape) - (0 if found is None else int(np.count_nonzero(found)))
        # As ``MappedTensor.expected`` turns its part.
        return found.transpose(2, 0, 1, 3, 4) if found is not None and value.is_3d_group else found

    def mask(self) -> Array:
        """Truth values in the reference's shape."""
        if self._mask is not None:
            return self._mask
        mask = np.zeros(self._shape, np.bool_)
        for box in self._boxes:
            mask.reshape(self._reshape or self._shape)[tuple(slice(*sides) for sides in box)] = True
        return mask


def _box(value: MappedTensor, shape: tuple[int, ...]) -> Box:
    slices = value.slices or ()
    whole = slice(None)
    padded = (*slices, *(whole,) * (len(shape) - len(slices)))
    bounds = [part.indices(extent) for part, extent in zip(padded, shape, strict=True)]
    return tuple((start, max(start, stop)) for start, stop, _ in bounds)


def _within(box: Box, other: Box) -> tuple[slice, ...]:
    """The part of ``other`` that belongs to a box, counted from its start."""
    return tuple(
        slice(max(start - begin, 0), min(stop, end) - begin)
        for (start, stop), (begin, end) in zip(box, other, strict=True)
    )


def _is_alike(one: MappedTensor, other: MappedTensor) -> bool:
    """Whether both are stored in the same way."""
    if one.view is None or other.view is None:
        return False
    return (one.view.dtype, one.scale, one.zero_point) == (other.view.dtype, other.scale, other.zero_point)
