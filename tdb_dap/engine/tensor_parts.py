"""Tensors read part by part, so that a window on a large one costs no more than the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tdb_dap.engine.dtypes import Array
from tdb_dap.engine.views import View
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.engine.memory import Memory
    from tdb_dap.engine.values import Value

Index = tuple[int | slice, ...]

_BLOCK = 1 << 20
"""Elements that are looked at together where a whole tensor is summarised."""


@dataclass(frozen=True)
class Parts:
    """A tensor of ``shape``; ``read(index)`` gives the numbers at one integer or slice for each axis."""

    shape: tuple[int, ...]
    read: Callable[[Index], Array]

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def blocks(self) -> Iterator[tuple[int, Array]]:
        """The whole tensor in order: (number of the first element, the next elements as a vector)."""
        at = 0
        for index in _cuts(self.shape):
            numbers = self.read(index).reshape(-1)
            yield at, numbers
            at += numbers.size

    def flat(self, start: int, count: int) -> Array:
        """Elements ``start`` to ``start + count`` of the tensor seen as a vector."""
        found: list[Array] = []
        at = 0
        for index in _cuts(self.shape):
            size = _size(self.shape, index)
            if at < start + count and start < at + size:
                numbers = self.read(index).reshape(-1)
                found.append(numbers[max(0, start - at) : start + count - at])
            at += size
        return np.concatenate(found) if found else np.zeros(0, self.read(_nothing(self.shape)).dtype)


def stored(memory: Memory, value: Value, live: bool = True) -> Parts:
    """The numbers as they are stored, narrow floats widened; ``live``: from memory, not what ``value`` has read."""
    words = memory.window(value.view) if live and isinstance(value.view, View) else None
    if words is None or not isinstance(value.view, View):
        return Parts(value.shape, lambda index: np.asarray(value.array[index]))
    dtype = value.view.dtype
    return Parts(words.shape, lambda index: dtype.decode(words[index]))


def actual(parts: Parts, value: Value) -> Parts:
    """What stored numbers stand for: (stored - zero point) * scale in float32; without a scale as they are stored."""
    named = value.named
    if named is None or (named.scale == 1 and named.zero_point == 0):
        return parts
    zero, scale = np.float32(named.zero_point), np.float32(named.scale)
    return Parts(parts.shape, lambda index: (parts.read(index).astype(np.float32) - zero) * scale)


def error(found: Parts, expected: Parts) -> Parts:
    """found - expected; 0 where both are the same infinity or both NaN."""

    def read(index: Index) -> Array:
        ours, theirs = found.read(index).astype(np.float32), expected.read(index).astype(np.float32)
        with np.errstate(invalid="ignore", over="ignore"):
            same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
            return np.where(same, np.float32(0), ours - theirs)

    return Parts(found.shape, read)


@dataclass(frozen=True)
class Slice:
    """Two axes of a tensor, each an axis or None (then of extent 1); ``index`` fixes the others."""

    rows: int | None
    columns: int | None
    index: tuple[int, ...]

    def check(self, shape: tuple[int, ...]) -> None:
        """BadExpression if a tensor of this shape has no such slice."""
        axes = [axis for axis in (self.rows, self.columns) if axis is not None]
        if len(set(axes)) != len(axes) or any(not 0 <= axis < len(shape) for axis in axes):
            raise BadExpression(f"rows and columns must be different axes from 0 to {len(shape) - 1}, not {axes}")
        if len(self.index) != len(shape):
            raise BadExpression(f"index needs {len(shape)} numbers, one for each axis, not {len(self.index)}")
        for axis, (at, extent) in enumerate(zip(self.index, shape, strict=True)):
            if axis not in axes and not 0 <= at < extent:
                raise BadExpression(f"index {at} of axis {axis} is outside of 0 to {extent - 1}")

    def extents(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return (1 if self.rows is None else shape[self.rows], 1 if self.columns is None else shape[self.columns])

    def read(self, parts: Parts, rows: slice, columns: slice) -> Array:
        """Some rows and columns of the slice, shape (rows, columns)."""
        index: list[int | slice] = list(self.index)
        if self.rows is not None:
            index[self.rows] = rows
        if self.columns is not None:
            index[self.columns] = columns
        numbers = parts.read(tuple(index))
        if self.rows is not None and self.columns is not None and self.rows > self.columns:
            numbers = numbers.T
        return numbers.reshape(rows.stop - rows.start, columns.stop - columns.start)


def tile(parts: Parts, of: Slice, rows: slice, columns: slice, step: int = 1) -> Array:
    """Rows and columns of a slice; with a ``step`` one number for each block of step x step.

    That number is the one of largest magnitude, so that an outlier is seen from afar; NaN comes before all others.
    Shape (ceil(rows / step), ceil(columns / step)).
    """
    if step == 1:
        return of.read(parts, rows, columns)
    band = max(1, _BLOCK // (step * max(1, columns.stop - columns.start))) * step
    bands = [
        _peaks(of.read(parts, slice(start, min(start + band, rows.stop)), columns), step)
        for start in range(rows.start, rows.stop, band)
    ]
    return np.concatenate(bands)


def _peaks(numbers: Array, step: int) -> Array:
    for axis in (0, 1):
        numbers = np.moveaxis(numbers, axis, 0)
        whole = numbers.shape[0] // step * step
        # Reduced as one array: much faster than np.maximum.reduceat, which would take the rest along.
        blocks = [numbers[:whole].reshape(-1, step, numbers.shape[1])] if whole else []
        if whole < numbers.shape[0]:
            blocks.append(numbers[None, whole:])
        numbers = np.moveaxis(np.concatenate([_peak(block) for block in blocks]), 0, axis)
    return numbers


def _peak(blocks: Array) -> Array:
    """Of shape (blocks, elements, others), the element of largest magnitude of each block; NaN if there is one."""
    highest, lowest = blocks.max(axis=1), blocks.min(axis=1)
    wide = np.int64 if blocks.dtype.kind in "iub" else blocks.dtype
    above = np.abs(highest.astype(wide)) >= np.abs(lowest.astype(wide))
    return np.where(above | np.isnan(highest), highest, lowest)


def _cuts(shape: tuple[int, ...], before: Index = ()) -> Iterator[Index]:
    """Indices that cut a tensor into blocks, in order, each contiguous in the logical order."""
    if not shape:
        yield before
        return
    inner = int(np.prod(shape[1:], dtype=np.int64))
    rest = tuple(slice(0, extent) for extent in shape[1:])
    if inner > _BLOCK:
        for i in range(shape[0]):
            yield from _cuts(shape[1:], (*before, i))
        return
    step = max(1, _BLOCK // max(1, inner))
    for start in range(0, shape[0], step):
        yield (*before, slice(start, min(start + step, shape[0])), *rest)


def _size(shape: tuple[int, ...], index: Index) -> int:
    size = 1
    for at in index:
        size *= at.stop - at.start if isinstance(at, slice) else 1
    return size


def _nothing(shape: tuple[int, ...]) -> Any:
    return tuple(slice(0, 0) for _ in shape)
