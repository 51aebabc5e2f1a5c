"""Summary of a tensor of any size, in constant memory."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from msgspec import Struct

from tdb_dap.engine.expressions.chunks import Parts
from tdb_dap.engine.hardware.dtypes import Array, DType


class Summary(Struct, frozen=True):
    """Summary of a tensor; the first four leave NaN and infinity out, and are None if nothing else is there."""

    minimum: float | None
    maximum: float | None
    mean: float | None
    deviation: float | None
    nan: int
    inf: int
    zeros: int
    saturated: int
    """Integers at the ends of their type's range."""
    histogram: list[int]
    """Numbers of finite elements in intervals of equal width from minimum to maximum."""
    largest: list[int]
    """Flat indices of the elements of largest magnitude, NaN first."""


def summarise(
    parts: Parts, bins: int = 64, most: int = 20, dtype: DType | None = None, between: Callable[[], None] = lambda: None
) -> Summary:
    """Two passes over the tensor. ``dtype``: of stored integers; ``between`` is called between blocks and may raise."""
    nan = inf = zeros = saturated = count = 0
    total = squares = 0.0
    lowest, highest = math.inf, -math.inf
    largest: list[tuple[float, int]] = []
    for at, numbers in parts.blocks():
        between()
        nan += int(np.isnan(numbers).sum())
        inf += int(np.isinf(numbers).sum())
        zeros += int((numbers == 0).sum())
        if dtype is not None and not dtype.is_float:
            saturated += int(((numbers == dtype.minimum) | (numbers == dtype.maximum)).sum())
        finite = numbers[np.isfinite(numbers)]
        if finite.size:
            lowest, highest = min(lowest, float(finite.min())), max(highest, float(finite.max()))
            total += float(finite.sum(dtype=np.float64))
            squares += float(np.square(finite, dtype=np.float64).sum())
            count += finite.size
        largest = _largest(largest, at, numbers, most)
    histogram = np.zeros(bins, np.int64)
    if count:
        scale, limits = _limits(lowest, highest, bins)
        for _, numbers in parts.blocks():
            between()
            finite = numbers[np.isfinite(numbers)]
            histogram += np.histogram(finite if scale == 1 else finite * scale, bins, limits)[0]
    mean = total / count if count else 0.0
    return Summary(
        lowest if count else None,
        highest if count else None,
        mean if count else None,
        math.sqrt(max(0.0, squares / count - mean * mean)) if count else None,
        nan,
        inf,
        zeros,
        saturated,
        histogram.tolist(),
        [index for _, index in largest],
    )


def _limits(lowest: float, highest: float, bins: int) -> tuple[float, tuple[float, float]]:
    """A factor for all numbers, and ends of a histogram of them that float64 can divide into ``bins`` intervals."""
    scale = 1.0 if math.isfinite(highest - lowest) else 0.25
    lowest, highest = lowest * scale, highest * scale
    room = bins * float(np.spacing(max(abs(lowest), abs(highest))))
    if room > (highest - lowest or 1.0):
        lowest, highest = lowest - room, highest + room
    return scale, (lowest, highest)


def _largest(known: list[tuple[float, int]], at: int, numbers: Array, most: int) -> list[tuple[float, int]]:
    size = np.abs(numbers.astype(np.float64))
    size[np.isnan(size)] = np.inf
    first = np.arange(size.size)
    if size.size > most:
        least = np.partition(size, size.size - most)[size.size - most]
        above = np.flatnonzero(size > least)
        first = np.concatenate([above, np.flatnonzero(size == least)[: most - above.size]])
    return sorted([*known, *((float(size[i]), at + int(i)) for i in first)], key=lambda entry: (-entry[0], entry[1]))[
        :most
    ]
