"""Sums of products in the order in which the chip adds. In C where the kernel is active, else in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.system.interruption import between_parts
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic import sums, truncating
from tdb_dap.targets.arithmetic.elements import finished
from tdb_dap.targets.arithmetic.float32 import add, exponent_range, flush, multiply, stays_normal
from tdb_dap.targets.arithmetic.products import Float32, Products, of_matrices
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.shifts import DOWN
from tdb_dap.targets.arithmetic.windows import Windows
from tdb_dap.targets.kernel.constants import LARGEST_GROUP

# Numbers held at once while sums are formed: as many as the processor's cache holds.
_BLOCK = 1 << 16
# Right factors handed to BLAS at once.
_LARGE_BLOCK = 1 << 22
# Fewer columns than this are worth exchanging with the rows.
_FEW = 16


def interleaved_pairs(
    start: Array | None,
    old: Array | None,
    factors: Callable[[], Iterable[tuple[Array, Array]]],
    shape: tuple[int, ...],
    normal: bool,
    zero: float = 0.0,
) -> Array:
    """float32 sum of [start if any, old if any, products in order] as the chip forms it.

    Element number i goes to accumulator i mod 2; every product and every addition rounds to float32; the result is
    accumulator 0 + accumulator 1. ``factors``: pairs (a, b) such as [m, 1] and [1, n]; ``normal``: no sum can be
    subnormal; ``zero``: what accumulators begin with, 0 or -0.
    """
    accumulators = [np.full(shape, zero, np.float32) for _ in range(2)]
    position = 0
    for first in (start, old):
        if first is not None:
            accumulators[position][...] = first
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
    return interleaved_pairs(start, old, factors, shape, False, zero) if np.isnan(total).any() else total


def interleaved(
    start: Array | None, old: Array | None, products: Products, normal: bool | None = None, zero: float = 0.0
) -> Float32:
    """As ``interleaved_pairs`` for a matrix of sums, float32 (m, n); ``start`` and ``old`` broadcast to it.

    ``normal``: None to find out.
    """
    rows, columns = products.shape
    if columns < _FEW and rows > columns:
        turned = [None if first is None else np.broadcast_to(first, (rows, columns)).T for first in (start, old)]
        return interleaved(turned[0], turned[1], products.transposed(), normal, zero).T
    firsts = [np.broadcast_to(first, (rows, columns)) for first in (start, old) if first is not None]
    if kernel.is_active():
        return sums.interleaved(products, firsts, zero)
    if normal is None:
        normal = stays_normal((products.left, products.image), *[(first,) for first in firsts])
    result = np.empty((rows, columns), np.float32)
    step = max(1, _BLOCK // max(1, rows))
    for begin in range(0, columns, step):
        between_parts()
        chosen = slice(begin, begin + step)
        right = products.right(slice(None), chosen)
        pairs = [(products.left[:, k][:, None], right[k][None]) for k in range(right.shape[0])]
        if products.swapped:
            pairs = [(b, a) for a, b in pairs]
        begins = [None if i >= len(firsts) else firsts[i][:, chosen] for i in range(2)]
        shape = (rows, right.shape[1])
        result[:, chosen] = interleaved_pairs(begins[0], begins[1], partial(iter, pairs), shape, normal, zero)
    return result


def truncated(products: Products, start: Array) -> Float32:
    """``start`` plus all products in order, in float32, each sum as ``truncating.add`` rounds it; float32 (m, n).

    ``start``: float32 that broadcasts to the result; no factor is infinite.
    """
    rows, columns = products.shape
    begins: Float32 = np.broadcast_to(start, (rows, columns))
    if columns < _FEW and rows > columns:
        return truncated(products.transposed(), begins.T).T
    if kernel.is_active() and np.array_equal(truncating.flush(start), start) and not np.isinf(start).any():
        total = sums.truncated(products, begins)
        if total is not None:
            return truncating.flush(total)  # zeros of what was flushed have its sign
    result = np.empty((rows, columns), np.float32)
    step = max(1, _BLOCK // max(1, rows))
    for begin in range(0, columns, step):
        between_parts()
        part = begins[:, begin : begin + step]
        for factors, met in zip(products.left.T, products.right(slice(None), slice(begin, begin + step)), strict=True):
            part = truncating.add(part, truncating.multiply(factors[:, None], met[None]))
        result[:, begin : begin + step] = part
    return result


def truncated_windows(windows: Windows, weights: Float32) -> Float32:
    """Sums of taps times weights in order, each as ``truncating.add`` rounds it; float32 (planes, rows, columns).

    ``weights``: (planes, taps); no number is infinite.
    """
    total = sums.weighted_truncated(windows, weights) if kernel.is_active() else None
    if total is not None:
        return truncating.flush(total)
    rows, columns = (np.arange(size) * step for size, step in zip(windows.size, windows.steps, strict=True))
    places = rows[:, None] + columns
    total = np.zeros((len(weights), *windows.size), np.float32)
    for offset, factors in zip(windows.offsets, weights.T, strict=True):
        between_parts()
        total = truncating.add(total, truncating.multiply(windows.image[:, offset + places], factors[:, None, None]))
    return total


def group_size(halves: int, dtype: DType) -> int:
    """Products of ``dtype`` in a group that holds ``halves`` of 16-bit floats: a group has a size in bytes."""
    return 2 * halves // dtype.itemsize


def grouped(
    totals: Float32, products: Products, size: int, nan_wins: bool = False, drops_bits: bool = False
) -> Float32:
    """``totals`` plus the products of 16-bit floats, in groups of ``size`` that are added in float32, one by one.

    See ``group_sum`` for the sum of one group, ``rules.Rules`` for ``drops_bits``. float32 (m, n).
    """
    rows, columns = products.shape
    if columns < _FEW and rows > columns:
        return grouped(totals.T, products.transposed(), size, nan_wins, drops_bits).T
    totals = np.array(totals, np.float32, order="C")
    if kernel.is_active() and size <= LARGEST_GROUP:
        sums.grouped(products, totals, sums.Group(size, nan_wins, drops_bits))
        return totals
    narrow = fits_float32(products.left, products.image)
    step = max(1, _BLOCK // max(1, rows * size))
    for begin in range(0, columns, step):
        between_parts()
        chosen = slice(begin, begin + step)
        for first in range(0, products.taps.size, size):
            between_parts()
            group = slice(first, first + size)
            part = group_sum(products.left[:, group].T, products.right(group, chosen), nan_wins, narrow, drops_bits)
            totals[:, chosen] = add(totals[:, chosen], part)
    return totals


def inexact(firsts: Iterable[Array | None], products: Products) -> Float32:
    """The sum of ``firsts`` and all products in float32 by BLAS: fast, rounded in an order that no chip has.

    float32 (m, n); ``firsts`` broadcast to it.
    """
    rows, columns = products.shape
    total = np.zeros((rows, columns), np.float32)
    for first in firsts:
        if first is not None:
            total += first
    step = max(1, _LARGE_BLOCK // max(1, products.taps.size))
    for begin in range(0, columns, step):
        between_parts()
        chosen = slice(begin, begin + step)
        total[:, chosen] += products.left @ products.right(slice(None), chosen)
    return total


def exact_product(left: Array, right: Array) -> Array:
    """Matrix product of integers in int64, (m, k) x (k, n); exact while sums stay below 2^53."""
    # What the kernel has to be given takes longer than the sums of one row.
    is_short = len(left) == 1 and right.size <= _SHORT
    total = None if is_short else summed(of_matrices(left, right), None, Steps(DOWN), None)
    # Floats do the work: float32 where no sum can exceed 2^24, else float64.
    return _by_floats(left, right) if total is None else total


_SHORT = 1 << 18
"""Products of one row that are added in floats."""


def _by_floats(left: Array, right: Array) -> Array:
    real = np.float32 if _magnitude(left) * _magnitude(right) * left.shape[1] <= 1 << 24 else np.float64
    return (left.astype(real) @ right.astype(real)).astype(np.int64)


_BYTES = (np.int8, np.uint8)
_LEAST_PIECE = 64
"""Products whose sum 32 bits must hold, for the kernel to add them."""


def summed(products: Products, start: Array | None, steps: Steps, dtype: DType | None) -> Array | None:
    """Exact sums of products of integers after ``steps``: bits of ``dtype``, or int64 if None; (m, n).

    ``start``: added to the sums before, broadcasts to them. None where NumPy has to do it: without the kernel, for
    factors of more than 16 bits, and for steps that are not the same along a row.
    """
    if not kernel.is_active():
        return None
    rows, columns = products.shape
    if columns < _FEW and rows > columns:
        turned = summed(products.transposed(), None if start is None else start.T, steps.transposed(), dtype)
        return None if turned is None else turned.T
    narrow = _narrowed(products)
    if narrow is None:
        return None
    piece = _fitting(narrow)
    if piece < _LEAST_PIECE:
        return None
    count = narrow.taps.size
    if count <= piece:
        return sums.exact(narrow, start, steps, dtype.itemsize if dtype is not None else 8)
    total: Array = np.zeros(products.shape, np.int64)
    for first in range(0, count, piece):
        chosen = slice(first, first + piece)
        left, taps = np.ascontiguousarray(narrow.left[:, chosen]), np.ascontiguousarray(narrow.taps[chosen])
        part = sums.exact(replace(narrow, left=left, taps=taps), None, Steps(DOWN), 8)
        assert part is not None
        total += part
    if start is not None:
        total += start
    return finished(total, steps, dtype.itemsize if dtype is not None else 8)


def _narrowed(products: Products) -> Products | None:
    """The products with factors as the kernel takes them, of at most 16 bits; None if theirs are wider."""
    left, image = products.left, products.image
    if left.dtype in _BYTES and image.dtype in _BYTES:
        return products
    if left.dtype != np.int16:
        if not _fits_words(left):
            return None
        left = left.astype(np.int16)
    if image.dtype not in (np.int8, np.uint8, np.int16):
        if not _fits_words(image):
            return None
        image = image.astype(np.int16)
    return replace(products, left=left, image=image)


def _fits_words(numbers: Array) -> bool:
    return numbers.dtype.itemsize == 1 or _magnitude(numbers) < 1 << 15


def _fitting(products: Products) -> int:
    """Products whose sum 32 bits hold, whatever their signs."""
    least = max(1, _magnitude(products.left))
    bound = {np.int8: 1 << 7, np.uint8: 255}.get(products.image.dtype.type, 1 << 15)
    if least * bound * products.taps.size >= 1 << 31:
        bound = max(1, _magnitude(products.image))
    return ((1 << 31) - 1) // (least * bound)


def _magnitude(numbers: Array) -> int:
    return max(int(numbers.max(initial=0)), -int(numbers.min(initial=0)))


def group_sum(
    left: Array, right: Array, nan_wins: bool = False, narrow: bool | None = None, drops_bits: bool = False
) -> Float32:
    """Sum over one channel group of products of 16-bit floats: left (g, m), right (g, n) -> float32 (m, n).

    Products are exact; those below 2^-126 count as zero; every product is truncated toward zero to a multiple of
    2^(e - 24), e the largest exponent; the exact sum is rounded half to even. Non-finite products: both infinities
    give NaN, else an infinity wins over NaN, or NaN over an infinity if ``nan_wins``. ``narrow``: see
    ``fits_float32``; None: find out.
    """
    narrow = fits_float32(left, right) if narrow is None else narrow
    # Store products in the order of their sums: the group outermost.
    left, right = np.ascontiguousarray(left)[:, :, None], np.ascontiguousarray(right)[:, None, :]
    finite = bool(np.isfinite(left).all() and np.isfinite(right).all())
    if finite and narrow and not drops_bits:
        return _narrow_sum(left, right)
    result = _wide_sum(left.astype(np.float64), right.astype(np.float64), drops_bits)
    if not (finite and _products_finite(left, right)):
        return _with_specials(left, right, result, nan_wins)
    return result


def fits_float32(left: Array, right: Array) -> bool:
    """Whether float32 holds every product of finite factors exactly, with room to scale it by 2^24.

    Numbers of 16 bits have at most 11 significant bits, so only the exponents matter: all products but zero must be
    between 2^-90 and 2^90.
    """
    (least, most), (smallest, largest) = exponent_range(left), exponent_range(right)
    return least + smallest > -90 and most + largest + 2 < 90


def _narrow_sum(left: Array, right: Array) -> Float32:
    """As ``_wide_sum`` where float32 suffices: half the memory, twice the numbers at once."""
    products = np.multiply(left, right)
    largest = np.maximum(products.max(0), -products.min(0)).view(np.int32) >> 23
    # Where all products are zero any scale will do.
    held = np.maximum(largest, 32)
    # Multiples of 2^(e - 24) as whole numbers; conversion truncates. 32 numbers of 25 bits need no more than 31.
    np.multiply(products, ((254 + 24 - held) << 23).view(np.float32), out=products)
    total = products.astype(np.int32).sum(0, dtype=np.int32 if products.shape[0] <= 32 else np.int64)
    return np.multiply(total.astype(np.float32), ((held - 24) << 23).view(np.float32))


def without_dropped(products: Array) -> Array:
    """float64 products of two f16 with what ``Rules.drops_bits`` drops.

    From 2^-41 to 2^-38 the part above 2^-41 is lost; of the rest, if there is any, the bit 2^-42 is set.
    """
    size = np.abs(products)
    rest = np.fmod(size, 2.0**-41)
    rest = np.where((rest > 0) & (rest < 2.0**-42), rest + 2.0**-42, rest)
    return np.where((size >= 2.0**-41) & (size < 2.0**-38), np.copysign(rest, products), products)


def _wide_sum(left: Array, right: Array, drops_bits: bool = False) -> Float32:
    products = np.multiply(left, right)
    size = np.abs(products)
    if drops_bits:
        products = without_dropped(products)
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


def _with_specials(left: Array, right: Array, result: Array, nan_wins: bool) -> Float32:
    products = left * right
    up, down, undefined = (products == np.inf).any(0), (products == -np.inf).any(0), np.isnan(products).any(0)
    both = up & down | (undefined if nan_wins else False)
    nan = np.nan if nan_wins else -np.nan
    special = np.where(both, nan, np.where(up, np.inf, np.where(down, -np.inf, np.where(undefined, nan, result))))
    return special.astype(np.float32)
