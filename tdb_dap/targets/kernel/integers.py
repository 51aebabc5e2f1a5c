"""Integer sums to results in one pass of the kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdb_dap.targets import kernel
from tdb_dap.targets.kernel.products import Products

Array = NDArray[Any]

UNLIMITED = -(1 << 63), (1 << 63) - 1
"""Limits that limit nothing."""

_LARGEST_SHIFT = 62
_BITS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.int64}


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


def sums(products: Products, start: Array | None, steps: Steps, size: int) -> Array | None:
    """Exact sums that fit into 32 bits, and then the steps; as ``finished``. ``start``: added before the steps."""
    rows, columns = products.shape
    parameters = [np.asarray(part, np.int64) for part in (steps.multiplier, steps.amount, steps.zero)]
    if any(part.ndim > 2 or (part.ndim > 0 and part.shape[-1] > 1) for part in parameters):
        return None
    if abs(parameters[1]).max() > _LARGEST_SHIFT:
        return None
    spread = [np.ascontiguousarray(np.broadcast_to(part.reshape(-1), rows)) for part in parameters]
    result = np.empty((rows, columns), _BITS[size])
    finish = (spread[0], spread[1], spread[2], steps.mode, steps.held, steps.rectified, *steps.limits)
    kernel.whole(products, None if start is None else start.astype(np.int64, copy=False), finish, result)
    return result


def finished(numbers: Array, steps: Steps, size: int) -> Array | None:
    """The results' low ``size`` bytes, as unsigned integers (8: int64); None where NumPy has to do it.

    That is without the kernel, where numbers of one row have steps of their own, and for shifts of more than 62 bits.
    """
    if not kernel.is_active():
        return None
    numbers = np.ascontiguousarray(numbers, np.int64)
    parameters = [np.asarray(part, np.int64) for part in (steps.multiplier, steps.amount, steps.zero)]
    together = np.broadcast_shapes(*(part.shape for part in parameters))
    if len(together) > numbers.ndim or np.broadcast_shapes(together, numbers.shape) != numbers.shape:
        return None
    together = (1,) * (numbers.ndim - len(together)) + together
    axes = max((axis + 1 for axis, extent in enumerate(together) if extent > 1), default=0)
    if not numbers.size or abs(parameters[1]).max() > _LARGEST_SHIFT:
        return None
    outer = numbers.shape[:axes]
    rows = int(np.prod(outer, dtype=np.int64))
    inner = numbers.size // rows
    if inner < 2 and rows > 1:
        return None
    shape = (*outer, *(1,) * (numbers.ndim - axes))
    spread = [np.ascontiguousarray(np.broadcast_to(part, shape)).reshape(-1) for part in parameters]
    result = np.empty(numbers.shape, _BITS[size])
    kernel.requantised(numbers, rows, inner, spread, (steps.mode, steps.held, steps.rectified), steps.limits, result)
    return result
