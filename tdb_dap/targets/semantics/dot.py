"""Sums of products in the order in which the chip adds."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from tdb_dap.engine.dtypes import Array
from tdb_dap.targets.semantics.float32 import add, flush, multiply

# Products held at once while a group is summed: as many as the processor's cache holds.
_BLOCK = 1 << 17


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
    finite = bool(np.isfinite(left).all() and np.isfinite(right).all())
    narrow = finite and _fits_float32(left, right)
    block, real = (_narrow_block, np.float32) if narrow else (_wide_block, np.float64)
    first_factor = left.astype(real)[:, :, None]
    second_factor = right.astype(real)[:, None, :]
    step = max(1, _BLOCK // max(1, left.shape[0] * m))
    for first in range(0, n, step):
        result[:, first : first + step] = block(first_factor, second_factor[:, :, first : first + step])
    if not (finite and _products_finite(left, right)):
        return _with_specials(left, right, result, nan_wins)
    return result


def _fits_float32(left: Array, right: Array) -> bool:
    """Whether float32 holds every product exactly, with room to scale it by 2^24.

    Numbers of 16 bits have at most 11 significant bits, so only the exponents matter.
    """
    sizes = [np.abs(left[left != 0]), np.abs(right[right != 0])]
    if not (sizes[0].size and sizes[1].size):
        return True
    smallest, largest = (float(pick(sizes[0])) * float(pick(sizes[1])) for pick in (np.min, np.max))
    return smallest > 2.0**-90 and largest < 2.0**90


def _narrow_block(left: Array, right: Array) -> Array:
    """As ``_wide_block`` where float32 suffices: half the memory, twice the numbers at once."""
    products = np.multiply(left, right)
    largest = np.abs(products).max(0).view(np.int32) >> 23
    # Multiples of 2^(e - 24), held as whole numbers. Where all products are zero any scale will do.
    scale = ((2 * 127 - np.maximum(largest, 64) + 24) << 23).view(np.float32)
    np.multiply(products, scale, out=products)
    np.trunc(products, out=products)
    # Sums of 64 numbers of 25 bits need more than float32 holds.
    total = products.sum(0, dtype=np.float64)
    return np.where(largest == 0, 0.0, np.ldexp(total, largest - 127 - 24)).astype(np.float32)


def _wide_block(left: Array, right: Array) -> Array:
    products = np.multiply(left, right)
    size = np.abs(products)
    small = size < 2.0**-126
    if small.any():
        products[small] = 0.0
        size[small] = 0.0
    largest = (size.max(0).view(np.int64) >> 52) & 0x7FF
    # Exponents stay far inside the range of float64.
    scale = ((2 * 1023 - largest + 24) << 52).view(np.float64)
    np.multiply(products, scale, out=products)
    np.trunc(products, out=products)
    unit = ((largest - 24) << 52).view(np.float64)
    return flush(np.where(largest == 0, 0.0, products.sum(0) * unit).astype(np.float32))


def _products_finite(left: Array, right: Array) -> bool:
    return float(np.abs(left).max(initial=0)) * float(np.abs(right).max(initial=0)) < float(np.finfo(np.float32).max)


def _with_specials(left: Array, right: Array, result: Array, nan_wins: bool) -> Array:
    products = left[:, :, None] * right[:, None, :]
    up, down, undefined = (products == np.inf).any(0), (products == -np.inf).any(0), np.isnan(products).any(0)
    both = up & down | (undefined if nan_wins else False)
    special = np.where(both, np.nan, np.where(up, np.inf, np.where(down, -np.inf, np.where(undefined, np.nan, result))))
    return special.astype(np.float32)
