"""Pictures of tensors: planes of two axes, or of many channels side by side, window by window and from afar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tdb_dap.engine.expressions.chunks import BLOCK
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.engine.expressions.chunks import Parts


class Slice(Struct, frozen=True):
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


class Mosaic(Struct, frozen=True):
    """All slices along the axis ``channels`` side by side, ``across`` of them in a line; the last line may have fewer.

    ``rows``, ``columns``: the axes of each slice; ``index`` fixes the others.
    """

    rows: int
    columns: int
    channels: int
    across: int
    index: tuple[int, ...]

    def check(self, shape: tuple[int, ...]) -> None:
        """BadExpression if a tensor of this shape has no such mosaic."""
        Slice(self.rows, self.columns, self.index).check(shape)
        if self.channels in (self.rows, self.columns) or not 0 <= self.channels < len(shape):
            raise BadExpression(
                f"channels must be an axis from 0 to {len(shape) - 1} besides rows and columns, not {self.channels}"
            )
        if self.across < 1:
            raise BadExpression(f"across must be at least 1, not {self.across}")

    def extents(self, shape: tuple[int, ...]) -> tuple[int, int]:
        """Numbers of rows and columns of the whole."""
        return -(-shape[self.channels] // self.across) * shape[self.rows], self.across * shape[self.columns]

    def read(self, parts: Parts, rows: slice, columns: slice) -> Array:
        """Some rows and columns of the whole, shape (rows, columns); zeros after the last channel."""
        high = parts.shape[self.rows]
        lines = [
            self._line(
                parts, line, slice(max(rows.start - line * high, 0), min(rows.stop - line * high, high)), columns
            )
            for line in range(rows.start // high, -(-rows.stop // high))
        ]
        return lines[0] if len(lines) == 1 else np.concatenate(lines)

    def _line(self, parts: Parts, line: int, rows: slice, columns: slice) -> Array:
        """Columns of line number ``line`` of slices; ``rows``: of each slice."""
        wide = parts.shape[self.columns]
        first, last = columns.start // wide, -(-columns.stop // wide)
        # Of a single slice no more than what is wanted; of several their whole rows, in one reading.
        left = columns.start - first * wide
        taken = slice(left, columns.stop - first * wide) if last - first == 1 else slice(0, wide)
        channels = (min(line * self.across + place, parts.shape[self.channels]) for place in (first, last))
        index: list[int | slice] = list(self.index)
        index[self.rows], index[self.channels], index[self.columns] = rows, slice(*channels), taken
        axes = sorted((self.rows, self.channels, self.columns))
        row = parts.read(tuple(index)).transpose([axes.index(a) for a in (self.rows, self.channels, self.columns)])
        if missing := last - first - row.shape[1]:
            row = np.pad(row, ((0, 0), (0, missing), (0, 0)))
        flat = row.reshape(row.shape[0], -1)
        return flat if last - first == 1 else flat[:, left : left + columns.stop - columns.start]


def tile(parts: Parts, of: Slice | Mosaic, rows: slice, columns: slice, step: int = 1) -> Array:
    """Rows and columns of a plane; with a ``step`` one number for each block of step x step.

    That number is the one of largest magnitude, so that an outlier is seen from afar; NaN comes before all others.
    Shape (ceil(rows / step), ceil(columns / step)).
    """
    if step == 1:
        return of.read(parts, rows, columns)
    band = max(1, BLOCK // (step * max(1, columns.stop - columns.start))) * step
    bands = [
        _peaks(of.read(parts, slice(start, min(start + band, rows.stop)), columns), step)
        for start in range(rows.start, rows.stop, band)
    ]
    return np.concatenate(bands)


def _peaks(numbers: Array, step: int) -> Array:
    for axis in (0, 1):
        numbers = np.moveaxis(numbers, axis, 0)
        complete = numbers.shape[0] // step * step
        # Reduced as one array: much faster than np.maximum.reduceat, which would take the rest along.
        blocks = [numbers[:complete].reshape(-1, step, numbers.shape[1])] if complete else []
        if complete < numbers.shape[0]:
            blocks.append(numbers[None, complete:])
        numbers = np.moveaxis(np.concatenate([_peak(block) for block in blocks]), 0, axis)
    return numbers


def _peak(blocks: Array) -> Array:
    """Of shape (blocks, elements, others), the element of largest magnitude of each block; NaN if there is one."""
    highest, lowest = blocks.max(axis=1), blocks.min(axis=1)
    wide = np.int64 if blocks.dtype.kind in "iub" else blocks.dtype
    above = np.abs(highest.astype(wide)) >= np.abs(lowest.astype(wide))
    return np.where(above | np.isnan(highest), highest, lowest)
