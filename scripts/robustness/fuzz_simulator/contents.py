"""Random numbers of a kind, as stored words."""

from __future__ import annotations

from typing import Any

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType

KINDS = ("finite", "extreme", "subnormal", "special")
"""finite: around 1; extreme: all exponents; subnormal: the smallest exponents; special: NaN, Inf, zeros and borders."""

Random = np.random.Generator

_EXPONENT_BITS = {"f32": 8, "bf16": 8, "f16": 5, "f8e5m2": 5, "f8e4m3": 4}


def words(random: Random, dtype: DType, shape: tuple[int, ...], kind: str) -> Array:
    """Random stored words: uint of the width of ``dtype``, of ``shape``."""
    if not dtype.is_float:
        return _integers(random, dtype, shape, kind)
    if kind == "finite":
        numbers = random.standard_normal(shape) * np.exp2(random.integers(-6, 7, shape))
        return dtype.encode(numbers.astype(np.float32))
    bits, exponent_bits = 8 * dtype.itemsize, _EXPONENT_BITS[dtype.name]
    mantissa_bits = bits - 1 - exponent_bits
    top = (1 << exponent_bits) - 1
    low, high = (0, 8 if exponent_bits == 8 else 4) if kind == "subnormal" else (0, top)
    exponents = random.integers(low, high, shape)
    made = (
        random.integers(0, 2, shape) << (bits - 1)
        | exponents << mantissa_bits
        | random.integers(0, 1 << mantissa_bits, shape)
    )
    if kind == "special":
        usual = words(random, dtype, shape, "finite").astype(np.int64)
        borders = np.array(_borders(mantissa_bits, top))
        chosen = borders[random.integers(0, borders.size, shape)] | random.integers(0, 2, shape) << (bits - 1)
        made = np.where(random.random(shape) < 0.2, chosen, usual)
    return made.astype(dtype.bits_dtype)


def _borders(mantissa_bits: int, top: int) -> list[int]:
    """Magnitudes: zero, subnormals, the smallest and largest normal number, 1, Inf, NaN with two payloads."""
    one = (top >> 1) << mantissa_bits
    infinity = top << mantissa_bits
    smallest = 1 << mantissa_bits
    return [
        0,
        1,
        smallest - 1,
        smallest,
        infinity - 1,
        one,
        infinity,
        infinity | 1 << (mantissa_bits - 1),
        infinity | 3,
    ]


def _integers(random: Random, dtype: DType, shape: tuple[int, ...], kind: str) -> Array:
    bits = 8 * dtype.itemsize
    made: Any = random.integers(0, 1 << bits, shape)
    if kind != "finite":
        borders = np.array([0, 1, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1])
        made = np.where(random.random(shape) < 0.3, borders[random.integers(0, borders.size, shape)], made)
    elif dtype.itemsize == 4 and random.random() < 0.5:
        made = random.integers(-(1 << 20), 1 << 20, shape) & 0xFFFFFFFF
    return made.astype(dtype.bits_dtype)


def one(random: Random, dtype: DType, kind: str) -> int:
    """One stored word."""
    return int(words(random, dtype, (1,), kind)[0])
