"""Tensors that are written piece by piece (slices of a layer group, several cores), put together before judging."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable
from weakref import WeakSet

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.reference import Form
from tdb_dap.engine.source.mapped_tensor import MappedTensor

Box = tuple[tuple[int, int], ...]
"""The first index and the one after the last on each axis."""


class Assembly:
    """The whole of one tensor as far as it has been seen.

    ``shape``: of the reference's array, which ``reference`` gives and which is not kept: all tensors of a layer group
    are open at once. For the same reason words are kept as they are stored, and of what has been seen only the borders.
    Where pieces overlap (the borders that slices share), the number that is further off counts: each of them was used
    by somebody. ``source``: where the same tensor was put together as a result; as long as no word differs, there is
    no second copy of it.
    """

    def __init__(self, shape: tuple[int, ...], reference: Callable[[], Array], source: Assembly | None = None) -> None:
        self._reference = reference
        self._shape = shape
        self._source = source if source is not None and source._shape == shape else None
        self._borrowers: WeakSet[Assembly] = WeakSet()
        self._size = math.prod(shape)
        self._whole: Array | None = None
        self._form: Form | None = None
        """How the words are stored; None: they are numbers, of pieces that differ in that."""
        self._seen = _Seen(self._shape)
        self.pieces = 0

    def add(self, value: MappedTensor, words: Array) -> None:
        """Put in the stored words of one value; ValueError or IndexError if its slice does not fit the reference."""
        form = Form.of(value)
        if self._source is not None:
            if self._source._holds(value, form, words):
                self._source._borrowers.add(self)
                self._seen.add(value)
                self.pieces += 1
                return
            self._separate()
        if self._whole is None:
            self._form = form
            if value.slices is None and not value.is_3d_group and words.size == self._size:
                self._whole = words.reshape(self._shape)
                self._seen.add(value)
                self.pieces += 1
                return
            self._whole = np.zeros(self._shape, words.dtype)
        elif self._form is not None and self._form != form:
            self._whole, self._form = self._form.numbers(self._whole), None
        if self._form is None:
            words = form.numbers(words)
        target = value.expected(self._whole)
        words = words.reshape(target.shape)
        seen = self._seen.add(value)
        if seen is not None and (differing := seen & (target != words)).any():
            numbers, before = self._numbers(words), self._numbers(target)
            wanted = value.expected(np.ascontiguousarray(self._reference(), np.float32))
            with np.errstate(all="ignore"):
                # Not "greater": a difference that is no number is the largest there is.
                nearer = np.abs(numbers - wanted) <= np.abs(before - wanted)
            words = np.where(differing & (nearer | (numbers == wanted)), target, words)
            self._give_back()
        target[...] = words
        self.pieces += 1

    def _holds(self, value: MappedTensor, form: Form, words: Array) -> bool:
        """Whether these are the words that have been seen of this value."""
        if self._whole is None or self._form != form or not self._seen.covers(value):
            return False
        own = value.expected(self._whole)
        return own.dtype == words.dtype and own.size == words.size and np.array_equal(own, words.reshape(own.shape))

    def _separate(self) -> None:
        """A copy of what has been seen of the source's words, which are no longer the same."""
        source, self._source = self._source, None
        if source is not None and self.pieces:
            assert source._whole is not None
            self._form = source._form
            self._whole = np.where(self._seen.mask(), source._whole.reshape(self._shape), source._whole.dtype.type(0))

    def _give_back(self) -> None:
        """Words that others have taken over are about to change."""
        for borrower in list(self._borrowers):
            borrower._separate()
        self._borrowers.clear()

    def _numbers(self, words: Array) -> Array:
        return words if self._form is None else self._form.numbers(words)

    @property
    def is_complete(self) -> bool:
        """Whether every element has been seen."""
        return self._seen.count == self._size

    @property
    def covered(self) -> float:
        """Share of the elements that have been seen, 0 to 1."""
        return self._seen.count / self._size if self._size else 1.0

    @property
    def whole(self) -> Whole:
        """The tensor as far as it has been put together; the assembly's own memory."""
        source = self if self._source is None else self._source
        assert source._whole is not None
        seen = None if self.is_complete else self._seen.mask()
        return Whole(source._whole.reshape(self._shape), source._form, seen)


class Whole(Struct, frozen=True):
    """A tensor as it was put together, in the reference's shape.

    ``form``: how the ``words`` are stored, None: they are numbers; ``seen``: where anything was written, None: all.
    """

    words: Array
    form: Form | None
    seen: Array | None = None

    def numbers(self, expected: Array) -> Array:
        """The numbers; those of the reference, ``expected``, where nothing was written."""
        numbers = self.words if self.form is None else self.form.numbers(self.words)
        return numbers if self.seen is None else np.where(self.seen, numbers, expected)

    @property
    def identity(self) -> Hashable:
        """Equal for tensors of equal numbers; None where that is not known."""
        if self.form is None or self.seen is not None:
            return None
        digest = hashlib.sha256(np.ascontiguousarray(self.words).data).digest()
        return self.form.dtype.name, self.form.scale, self.form.zero_point, self.words.shape, digest


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
        mask: Array | None = None
        for other in self._boxes:
            if all(start < end and begin < stop for (start, stop), (begin, end) in zip(box, other, strict=True)):
                mask = np.zeros(shape, np.bool_) if mask is None else mask
                mask[_within(other, box)] = True
        if mask is None or not mask.all():
            self._boxes.append(box)
        self.count += math.prod(shape) - (0 if mask is None else int(np.count_nonzero(mask)))
        # As ``MappedTensor.expected`` turns its part.
        return mask.transpose(2, 0, 1, 3, 4) if mask is not None and value.is_3d_group else mask

    def covers(self, value: MappedTensor) -> bool:
        """Whether one piece has all elements of a value; where pieces count different axes, all of them together."""
        reshape = value.reshape or self._shape
        if self._mask is not None:
            return bool(value.expected(self._mask).all())
        box = _box(value, reshape)
        return self._reshape == reshape and any(
            all(begin <= start and stop <= end for (start, stop), (begin, end) in zip(box, other, strict=True))
            for other in self._boxes
        )

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
    everything = slice(None)
    padded = (*slices, *(everything,) * (len(shape) - len(slices)))
    bounds = [part.indices(extent) for part, extent in zip(padded, shape, strict=True)]
    return tuple((start, max(start, stop)) for start, stop, _ in bounds)


def _within(box: Box, other: Box) -> tuple[slice, ...]:
    """The part of ``other`` that belongs to a box, counted from its start."""
    return tuple(
        slice(max(start - begin, 0), min(stop, end) - begin)
        for (start, stop), (begin, end) in zip(box, other, strict=True)
    )
