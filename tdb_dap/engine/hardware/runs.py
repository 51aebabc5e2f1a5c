"""Half-open ranges of bytes, and their sorted and disjoint form."""

from __future__ import annotations

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
