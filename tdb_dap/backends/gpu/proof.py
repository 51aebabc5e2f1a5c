"""A device's sums beside those of this processor, on operands that show every rule; before it is used at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import BF16, F16, Array, DType
from tdb_dap.targets.kernel.accelerator import Accelerator
from tdb_dap.targets.kernel.products import Products, of_matrices
from tdb_dap.targets.semantics.numerics import dot, float32

_SHAPES = ((3, 33, 70), (20, 64, 5), (1, 1, 1), (5, 128, 300))
"""Rows, products, columns: whole and started blocks and groups."""
_SPECIAL = (0x00000000, 0x80000000, 0x7F800000, 0xFF800000, 0x7F812345, 0xFFC54321, 0x00000001, 0x807FFFFF, 0x00800000)


def difference(device: Accelerator) -> str:
    """The kind of sums whose bits differ, or that the device does not form; empty if there is none."""
    random = np.random.default_rng(1)
    with np.errstate(all="ignore"):
        if not _same(device.interleaved(edge(), [], False, 0.0), dot.interleaved(None, None, edge(), False)):
            return "sums of float32"
        for shape in _SHAPES:
            for spread in (1.0, 2.0**-64, 2.0**62):
                if not _chains_agree(device, random, shape, spread):
                    return "sums of float32"
                for dtype in (F16, BF16):
                    if not _groups_agree(device, random, shape, spread, dtype):
                        return f"sums of {dtype}"
            if not _exact_sums_agree(device, random, shape):
                return "sums of whole numbers"
    return ""


def edge() -> Products:
    """Products in the last places below and above the smallest normal number."""
    left = np.float32(2.0**-63) - np.arange(1, 40, dtype=np.float32) * np.float32(2.0**-87)
    right = np.float32(2.0**-63) + np.arange(40, dtype=np.float32) * np.float32(2.0**-86)
    return of_matrices(left[:, None], np.concatenate((right, -right))[None])


def _floats(random: np.random.Generator, shape: tuple[int, ...], spread: float) -> NDArray[np.float32]:
    """Numbers of a magnitude; in every third row some are special, so that not all sums are NaN."""
    numbers = (random.standard_normal(shape) * spread).astype(np.float32)
    special = np.array(_SPECIAL, np.uint32).view(np.float32)
    chosen = random.random(shape) < 0.02
    chosen[1::3] = chosen[2::3] = False
    return np.where(chosen, random.choice(special, shape), numbers).astype(np.float32)


def _scattered(random: np.random.Generator, left: Array, right: Array) -> Products:
    """Products that read their right factors as a convolution does, some of them blank."""
    products = of_matrices(left, right)
    half = max(1, products.image.size // 2)
    taps = random.integers(-1, half, products.taps.size)
    return replace(
        products, taps=taps, places=random.integers(0, half, products.places.size), swapped=bool(random.integers(2))
    )


def _chains_agree(device: Accelerator, random: np.random.Generator, shape: tuple[int, int, int], spread: float) -> bool:
    rows, count, columns = shape
    normal = spread == 1
    left, right, *starts = (
        _without_small(found) if normal else float32.flush(found)
        for found in (
            _floats(random, each, spread) for each in ((rows, count), (count, columns), (rows, 1), (rows, columns))
        )
    )
    for number, zero in ((0, 0.0), (1, -0.0), (2, 0.0)):
        products, firsts = _scattered(random, left, right), starts[:number]
        found = device.interleaved(products, firsts, normal, zero)
        start, old = (*firsts, None, None)[:2]
        if not _same(found, dot.interleaved(start, old, products, normal, zero)):
            return False
    return True


def _without_small(numbers: Array) -> Array:
    """Numbers, infinities and NaNs of which no sum of products is subnormal."""
    return np.where(np.abs(numbers) < 2.0**-30, np.float32(1), numbers)


def _groups_agree(
    device: Accelerator, random: np.random.Generator, shape: tuple[int, int, int], spread: float, dtype: DType
) -> bool:
    rows, count, columns = shape
    spread = spread if dtype is BF16 else max(2.0**-20, min(spread, 2.0**7))
    left, right = (
        float32.operand(dtype.widen(dtype.encode(_floats(random, extents, spread))), dtype)
        for extents in ((rows, count), (count, columns))
    )
    totals = float32.flush(_floats(random, (rows, columns), spread))
    for size, nan_wins in ((16, False), (32, True)):
        products, drops_bits = _scattered(random, left, right), dtype is F16 and nan_wins
        found = totals.copy()
        formed = device.grouped(products, found, size, (nan_wins, drops_bits))
        if not formed or not _same(found, dot.grouped(totals, products, size, nan_wins, drops_bits)):
            return False
    return True


def _exact_sums_agree(device: Accelerator, random: np.random.Generator, shape: tuple[int, int, int]) -> bool:
    rows, count, columns = shape
    left = random.integers(-(1 << 15), 1 << 15, (rows, count), np.int16)
    products = _scattered(random, left, random.integers(-128, 128, (count, columns), np.int8))
    found = device.exact(products)
    wanted = left.astype(np.int64) @ products.right(slice(None), slice(None)).astype(np.int64)
    return found is not None and bool((found == wanted).all())


def _same(a: Array | None, b: Array) -> bool:
    return a is not None and bool(
        (np.ascontiguousarray(a).view(np.uint32) == np.ascontiguousarray(b).view(np.uint32)).all()
    )
