"""Half-open ranges of bytes, and their sorted and disjoint form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Runs = NDArray[np.int64]
"""Half-open byte ranges [start, stop), shape (n, 2), sorted, disjoint and not touching."""

RunList = list[tuple[int, int]]
"""A few of them."""


def merged(runs: Runs) -> Runs:
    """Sorted, disjoint form of half-open ranges."""
    if len(runs) < 2:
        return runs
    if (runs[1:, 0] < runs[:-1, 0]).any():
        runs = runs[np.argsort(runs[:, 0], kind="stable")]
    reach = np.maximum.accumulate(runs[:, 1])
    first = np.concatenate([[0], np.flatnonzero(runs[1:, 0] > reach[:-1]) + 1])
    last = np.append(first[1:], len(runs)) - 1
    return np.stack([runs[first, 0], reach[last]], axis=1)


def merged_few(runs: RunList) -> RunList:
    """As ``merged``; of a few ranges it is faster without arrays."""
    result: RunList = []
    for start, stop in sorted(runs):
        if result and start <= result[-1][1]:
            result[-1] = result[-1][0], max(result[-1][1], stop)
        else:
            result.append((start, stop))
    return result


def distinct(numbers: NDArray[np.integer[Any]]) -> list[int]:
    """The different numbers of an array, ascending; small ones, from -1 on.

    ``np.unique`` loads a part of NumPy that takes as long to load as a small model to open.
    """
    return [number - 1 for number in np.flatnonzero(np.bincount(numbers + 1)).tolist()]
