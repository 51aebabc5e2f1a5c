"""Half-open ranges of bytes, and their sorted and disjoint form."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Runs = NDArray[np.int64]
"""Half-open byte ranges [start, stop), shape (n, 2), sorted, disjoint and not touching."""


def merged(runs: Runs) -> Runs:
    """Sorted, disjoint form of half-open ranges."""
    runs = runs[np.argsort(runs[:, 0], kind="stable")]
    if len(runs) < 2:
        return runs
    reach = np.maximum.accumulate(runs[:, 1])
    first = np.concatenate([[True], runs[1:, 0] > reach[:-1]])
    starts = np.flatnonzero(first)
    return np.stack([runs[starts, 0], np.maximum.reduceat(runs[:, 1], starts)], axis=1)


def distinct(numbers: NDArray[np.integer[Any]]) -> list[int]:
    """The different numbers of an array, ascending; small ones, from -1 on.

    ``np.unique`` loads a part of NumPy that takes as long to load as a small model to open.
    """
    return [number - 1 for number in np.flatnonzero(np.bincount(numbers + 1)).tolist()]
