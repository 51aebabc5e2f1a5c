"""The steps from integer sums to results, and windows over planes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

UNLIMITED = -(1 << 63), (1 << 63) - 1
"""Limits that limit nothing."""


@dataclass(frozen=True)
class Steps:
    """The steps that follow an integer sum: (sum * multiplier) * 2^amount, rounded by ``mode``, + zero, limited.

    ``multiplier``, ``amount``, ``zero``: integers that broadcast to the sums; ``held``: the sum wraps to 32 bits first;
    ``rectified``: negative ones count as 0, after that; ``limits``: least and greatest result.
    """

    mode: int
    multiplier: Array | int = 1
    amount: Array | int = 0
    zero: Array | int = 0
    held: bool = False
    rectified: bool = False
    limits: tuple[int, int] = UNLIMITED

    def transposed(self) -> Steps:
        """The same steps for sums with rows and columns exchanged."""
        turned = (np.asarray(part).T for part in (self.multiplier, self.amount, self.zero))
        return replace(self, **dict(zip(("multiplier", "amount", "zero"), turned, strict=True)))


class Windows(NamedTuple):
    """Windows over planes of an image, (planes, numbers) without gaps."""

    image: Array
    offsets: Array
    """Of each tap in a plane, int64."""
    size: tuple[int, int]
    """Rows and columns of results in a plane."""
    steps: tuple[int, int]
    """Numbers of the image between rows, and between columns, of results."""
