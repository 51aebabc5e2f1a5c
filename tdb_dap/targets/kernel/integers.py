"""Integer sums to results in one pass of the kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tdb_dap.targets import kernel
from tdb_dap.targets.kernel.products import Products

Array = NDArray[Any]

UNLIMITED = -(1 << 63), (1 << 63) - 1
"""Limits that limit nothing."""

LARGEST_SHIFT = 62
"""Bits that the kernel shifts by, at most."""
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
    parameters = (np.asarray(part) for part in (steps.multiplier, steps.amount, steps.zero))
    if any(part.ndim > 2 or (part.ndim > 0 and part.shape[-1] > 1) for part in parameters):
        return None
    finish = _finish(steps, rows)
    if finish is None:
        return None
    result = np.empty((rows, columns), _BITS[size])
    kernel.whole(products, None if start is None else start.astype(np.int64, copy=False), finish, result)
    return result


def _finish(steps: Steps, rows: int) -> kernel.Finish | None:
    """Steps as the kernel takes them, a number for each row; None where they have others, or shift too far."""
    parts = [np.asarray(part, np.int64).reshape(-1) for part in (steps.multiplier, steps.amount, steps.zero)]
    if any(part.size not in (1, rows) for part in parts) or np.abs(parts[1]).max() > LARGEST_SHIFT:
        return None
    multiplier, amount, zero = (np.ascontiguousarray(np.broadcast_to(part, rows)) for part in parts)
    return multiplier, amount, zero, steps.mode, steps.held, steps.rectified, *steps.limits


class Windows(NamedTuple):
    """Windows over planes of an image, (planes, numbers) without gaps."""

    image: Array
    offsets: Array
    """Of each tap in a plane, int64."""
    size: tuple[int, int]
    """Rows and columns of results in a plane."""
    steps: tuple[int, int]
    """Numbers of the image between rows, and between columns, of results."""


def window_sums(windows: Windows, weights: Array, starts: Array, steps: Steps, size: int) -> Array | None:
    """Exact sums of taps times weights after ``steps``: their low ``size`` bytes, (planes, rows, columns).

    ``weights``: (planes, taps); ``starts``: (planes), added before the steps, whose numbers are one or one of each
    plane. None where NumPy has to do it: without the kernel, and where 32 bits may not hold the products' sum.
    """
    image, count = windows.image, windows.offsets.size
    bound = _BOUNDS.get(image.dtype.type)
    if not kernel.is_active() or bound is None or not image.size:
        return None
    # Of integers the magnitude of the least has no place in their own format.
    largest = max(int(weights.max(initial=0)), -int(weights.min(initial=0)))
    planes = image.shape[0]
    finish = _finish(steps, planes)
    if finish is None or largest * bound * count >= 1 << 31:
        return None
    result = np.empty((planes, *windows.size), _BITS[size])
    narrow, wide = np.ascontiguousarray(weights, np.int32), np.ascontiguousarray(starts, np.int64)
    kernel.whole_windows(windows, narrow, wide, finish, result)
    return result


_BOUNDS = {np.int8: 1 << 7, np.uint8: 255, np.int16: 1 << 15, np.uint16: (1 << 16) - 1}
