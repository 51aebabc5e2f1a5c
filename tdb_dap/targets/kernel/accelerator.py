"""A device that forms long sums of products in place of this processor, while one is in force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.kernel.products import Float32, Products

WORTH = 1 << 27
"""Products from which on a device is asked; as many make a plan long (``kernel.is_long``)."""


class Accelerator(Protocol):
    """Forms sums with the bits that they have without it, or leaves them alone."""

    def interleaved(self, products: Products, starts: Sequence[Array], normal: bool, zero: float) -> Float32 | None:
        """As ``kernel.interleaved``; None where it does not."""
        ...

    def grouped(self, products: Products, totals: Float32, size: int, rules: tuple[bool, bool]) -> bool:
        """As ``kernel.grouped``; False, and ``totals`` are as they were, where it does not."""
        ...

    def exact(self, products: Products) -> NDArray[np.int64] | None:
        """Exact sums of products of whole numbers, (rows, columns); None where it does not form them."""
        ...


_IN_FORCE: ContextVar[Accelerator | None] = ContextVar("accelerator", default=None)


@contextmanager
def accelerated(by: Accelerator) -> Iterator[None]:
    """Inside, in this thread, long sums are offered to a device first."""
    before = _IN_FORCE.set(by)
    try:
        yield
    finally:
        _IN_FORCE.reset(before)


def is_accelerated() -> bool:
    """Whether a device is in force here."""
    return _IN_FORCE.get() is not None


def accelerator_for(products: Products) -> Accelerator | None:
    """The device that is in force here, if there are enough products for it."""
    device = _IN_FORCE.get()
    if device is None:
        return None
    rows, columns = products.shape
    return device if rows * columns * products.taps.size > WORTH else None
