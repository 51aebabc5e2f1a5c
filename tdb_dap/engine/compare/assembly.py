"""Tensors that are written piece by piece (slices of a layer group, several cores), put together before judging."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.mapped_tensor import MappedTensor


class Assembly:
    """The whole of one tensor as far as it has been seen.

    ``reference``: gives the reference's array, any shape, which is not kept: all tensors of a layer group are open at
    once. Where pieces overlap (the borders that slices share), the number that is further off counts: each of them was
    used by somebody.
    """

    def __init__(self, reference: Callable[[], Array]) -> None:
        self._reference = reference
        shape = reference().shape
        self._whole: Array = np.zeros(shape, np.float32)
        self._seen: Array = np.zeros(shape, np.bool_)
        self.pieces = 0

    @property
    def expected(self) -> Array:
        """The reference's numbers, float32."""
        return np.ascontiguousarray(self._reference(), np.float32)

    def add(self, value: MappedTensor, actual: Array) -> None:
        """Put in what one value holds; ValueError or IndexError if its slice does not fit the reference."""
        target = value.expected(self._whole)
        seen = value.expected(self._seen)
        numbers = actual.reshape(target.shape)
        if seen.any():
            wanted = value.expected(self.expected)
            with np.errstate(all="ignore"):
                # Not "greater": a difference that is no number is the largest there is.
                nearer = np.abs(numbers - wanted) <= np.abs(target - wanted)
            numbers = np.where(seen & (nearer | (numbers == wanted)), target, numbers)
        target[...] = numbers
        seen[...] = True
        self.pieces += 1

    @property
    def is_complete(self) -> bool:
        """Whether every element has been seen."""
        return bool(self._seen.all())

    @property
    def covered(self) -> float:
        """Share of the elements that have been seen, 0 to 1."""
        return float(self._seen.mean()) if self._seen.size else 1.0

    @property
    def actual(self) -> Array:
        """Assembled numbers, in the reference's shape; the reference's own numbers where nothing was written."""
        return self._whole if self.is_complete else np.where(self._seen, self._whole, self.expected)
