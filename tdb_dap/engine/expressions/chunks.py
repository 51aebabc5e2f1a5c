"""Tensors read part by part, so that a window on a large one costs no more than the window."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from tdb_dap.engine.expressions.values import words_of
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View

if TYPE_CHECKING:
    from tdb_dap.engine.expressions.values import Value
    from tdb_dap.engine.hardware.memory import Memory

Index = tuple[int | slice, ...]

BLOCK = 1 << 20
"""Elements that are looked at together where a whole tensor is summarised."""


class Parts(Struct, frozen=True):
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
        chunks: list[Array] = []
        at = 0
        for index in _cuts(self.shape):
            size = _size(self.shape, index)
            if at < start + count and start < at + size:
                numbers = self.read(index).reshape(-1)
                chunks.append(numbers[max(0, start - at) : start + count - at])
            at += size
        return np.concatenate(chunks) if chunks else np.zeros(0, self.read(_nothing(self.shape)).dtype)


def stored(memory: Memory, value: Value, live: bool = True) -> Parts:
    """The numbers as they are stored, narrow floats widened; ``live``: from memory, not what ``value`` has read."""
    words = memory.window(value.view) if live and isinstance(value.view, View) else None
    if words is None or not isinstance(value.view, View):
        return Parts(value.shape, lambda index: np.asarray(value.array[index]))
    dtype = value.view.dtype
    return Parts(words.shape, lambda index: dtype.decode(words[index]))


def bits(parts: Parts, value: Value) -> Parts:
    """The words, unsigned, that the stored numbers ``parts`` were decoded from."""
    dtype = value.view.dtype if value.view is not None else None

    def read(index: Index) -> Array:
        numbers = parts.read(index)
        return words_of(numbers, dtype).reshape(numbers.shape)

    return Parts(parts.shape, read)


def actual(parts: Parts, value: Value) -> Parts:
    """Real values of stored numbers: (stored - zero point) * scale in float32; without a scale as they are stored."""
    named = value.named
    if named is None or (named.scale == 1 and named.zero_point == 0):
        return parts
    zero, scale = np.float32(named.zero_point), np.float32(named.scale)
    return Parts(parts.shape, lambda index: (parts.read(index).astype(np.float32) - zero) * scale)


def error(actual: Parts, expected: Parts) -> Parts:
    """found - expected; 0 where both are the same infinity or both NaN."""

    def read(index: Index) -> Array:
        ours, theirs = actual.read(index).astype(np.float32), expected.read(index).astype(np.float32)
        with np.errstate(invalid="ignore", over="ignore"):
            same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
            return np.where(same, np.float32(0), ours - theirs)

    return Parts(actual.shape, read)


def _cuts(shape: tuple[int, ...], before: Index = ()) -> Iterator[Index]:
    """Indices that cut a tensor into blocks, in order, each contiguous in the logical order."""
    if not shape:
        yield before
        return
    inner = int(np.prod(shape[1:], dtype=np.int64))
    rest = tuple(slice(0, extent) for extent in shape[1:])
    if inner > BLOCK:
        for i in range(shape[0]):
            yield from _cuts(shape[1:], (*before, i))
        return
    step = max(1, BLOCK // max(1, inner))
    for start in range(0, shape[0], step):
        yield (*before, slice(start, min(start + step, shape[0])), *rest)


def _size(shape: tuple[int, ...], index: Index) -> int:
    size = 1
    for at in index:
        size *= at.stop - at.start if isinstance(at, slice) else 1
    return size


def _nothing(shape: tuple[int, ...]) -> Any:
    return tuple(slice(0, 0) for _ in shape)
