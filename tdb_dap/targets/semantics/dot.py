"""Sums of products in the order in which the chip adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tdb_dap.engine.dtypes import Array
from tdb_dap.targets.semantics.float32 import add, flush, multiply

# Products held at once while a group is summed: bounds the temporary array to 8 MiB of float64.
_BLOCK = 1 << 20


def interleaved(
    start: Array | None,
    old: Array | None,
    factors: Callable[[], Iterable[tuple[Array, Array]]],
    shape: tuple[int, ...],
    normal: bool,
) -> Array:
    """float32 sum of [start if any, old if any, products in order] as the chip forms it.

    Element number i goes to accumulator i mod 2; every product and every addition rounds to float32; the result is
    accumulator 0 + accumulator 1. ``factors``: pairs (a, b) such as [m, 1] and [1, n]; ``normal``: no sum can be
    subnormal.
    """
    accumulators = [np.zeros(shape, np.float32), np.zeros(shape, np.float32)]
    position = 0
    for first in (start, old):
        if first is not None:
            accumulators[position] += first
            position += 1
    product = np.empty(shape, np.float32)
    for a, b in factors():
        side = accumulators[position & 1]
        if normal:
            np.multiply(a, b, out=product)
            side += product
        else:
            side[...] = add(side, multiply(a, b))
        position += 1
    if not normal:
        return add(accumulators[0], accumulators[1])
    total = accumulators[0] + accumulators[1]
    # Which NaN comes out depends on the order inside NumPy: let the careful way decide.
    return interleaved(start, old, factors, shape, False) if np.isnan(total).any() else total


def grouped(left: Array, right: Array, nan_wins: bool = False) -> Array:
    """Sum over one channel group of products of 16-bit floats: left (g, m), right (g, n) -> float32 (m, n).

    Products are exact; those below 2^-126 count as zero; every product is truncated toward zero to a multiple of
    2^(e - 24), e the largest exponent; the exact sum is rounded half to even. Non-finite products: both infinities
    give NaN, else an infinity wins over NaN, or NaN over an infinity if ``nan_wins``.
    """
    m, n = left.shape[1], right.shape[1]
    result = np.empty((m, n), np.float32)
    wide = left.astype(np.float64)
    step = max(1, _BLOCK // max(1, left.shape[0] * m))
    for first in range(0, n, step):
        block = right[:, first : first + step]
        result[:, first : first + step] = _group_block(wide, block.astype(np.float64))
    if not (np.isfinite(left).all() and np.isfinite(right).all() and _products_finite(left, right)):
        return _with_specials(left, right, result, nan_wins)
    return result


def _group_block(left: Array, right: Array) -> Array:
    products = left[:, :, None] * right[:, None, :]
    size = np.abs(products)
    small = size < 2.0**-126
    if small.any():
        products = np.where(small, 0.0, products)
        size = np.abs(products)
    largest = (size.max(0).view(np.int64) >> 52) & 0x7FF
    # Multiples of 2^(e - 24), held as whole numbers; exponents stay far inside the range of float64.
    scale = ((2 * 1023 - largest + 24) << 52).view(np.float64)
    total = np.trunc(products * scale).sum(0)
    unit = ((largest - 24) << 52).view(np.float64)
    return flush(np.where(largest == 0, 0.0, total * unit).astype(np.float32))


def _products_finite(left: Array, right: Array) -> bool:
    return float(np.abs(left).max(initial=0)) * float(np.abs(right).max(initial=0)) < float(np.finfo(np.float32).max)


def _with_specials(left: Array, right: Array, result: Array, nan_wins: bool) -> Array:
    products = left[:, :, None] * right[:, None, :]
    up, down, undefined = (products == np.inf).any(0), (products == -np.inf).any(0), np.isnan(products).any(0)
    both = up & down | (undefined if nan_wins else False)
    special = np.where(both, np.nan, np.where(up, np.inf, np.where(down, -np.inf, np.where(undefined, np.nan, result))))
    return special.astype(np.float32)
