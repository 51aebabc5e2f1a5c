"""A matrix of sums of products, described so that a convolution and a matrix product look alike."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import Array

Float32 = NDArray[np.float32]
Offsets = NDArray[np.int64]


class Products(Struct, frozen=True):
    """sum over k of left[m, k] * right[k, n], where right[k, n] = image[taps[k] + places[n]].

    Float32, or whole numbers of any format, each factor of its own; the kernel takes ``left`` as int16 and ``image`` as
    int8, uint8 or int16, or both as bytes where it ``multiplies_bytes``.
    """

    left: Array
    """(m, k) without gaps."""
    image: Array
    """Flat, without gaps."""
    taps: Offsets
    """Int64; a negative tap stands for zeros."""
    places: Offsets
    """Int64."""
    swapped: bool = False
    """The right factor is the first operand of each product, which only shows in NaNs."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the result."""
        return self.left.shape[0], self.places.size

    def right(self, rows: slice, columns: slice) -> Array:
        """Part of the right factors (k, n)."""
        taps = self.taps[rows, None]
        taken = self.image[np.maximum(taps, 0) + self.places[None, columns]]
        taken[(taps < 0)[:, 0]] = 0
        return taken

    def transposed(self) -> Products:
        """The same sums with rows and columns exchanged."""
        rows, count = self.left.shape
        right = self.right(slice(None), slice(None))
        return Products(
            np.ascontiguousarray(right.T),
            self.left.reshape(-1),
            np.arange(count, dtype=np.int64),
            np.arange(rows, dtype=np.int64) * count,
            not self.swapped,
        )


def of_matrices(left: Array, right: Array) -> Products:
    """left (m, k) x right (k, n), of numbers that are ready for ``Products``."""
    count, columns = right.shape
    return Products(
        np.ascontiguousarray(left),
        np.ascontiguousarray(right).reshape(-1),
        np.arange(count, dtype=np.int64) * columns,
        np.arange(columns, dtype=np.int64),
    )
