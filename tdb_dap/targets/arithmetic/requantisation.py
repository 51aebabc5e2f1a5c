"""The steps from integer sums to results."""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

Array = NDArray[Any]

UNLIMITED = -(1 << 63), (1 << 63) - 1
"""Limits that limit nothing."""


class Steps(Struct, frozen=True):
    """The steps that follow an integer sum: (sum * multiplier) * 2^amount, rounded by ``mode``, + zero, limited.

    ``multiplier``, ``amount``, ``zero``: integers that broadcast to the sums; ``held``: the sum wraps to 32 bits first;
    ``rectified``: negative ones count as 0, after that; ``limits``: least and greatest result; ``is_high``: the product
    is divided by 2^31 first, half away from zero; ``is_scaled``, of products of matrices: the multiplier is the word of
    a float32, by which the sum is multiplied as float32, and then rounded and limited; ``keeps_sign``: bit 63 stays
    when the others are shifted to the left.
    """

    mode: int
    multiplier: Array | int = 1
    amount: Array | int = 0
    zero: Array | int = 0
    held: bool = False
    rectified: bool = False
    limits: tuple[int, int] = UNLIMITED
    is_high: bool = False
    is_scaled: bool = False
    keeps_sign: bool = False

    def transposed(self) -> Steps:
        """The same steps for sums with rows and columns exchanged."""
        turned = (np.asarray(part).T for part in (self.multiplier, self.amount, self.zero))
        return replace(self, **dict(zip(("multiplier", "amount", "zero"), turned, strict=True)))
