"""Constant tables that BM1684 finds in L2: the vendor's library writes them, so every program can count on them.

Computed here and checked bit by bit against the library's. They are consecutive from ``START`` on; what the
library keeps after them is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tdb_dap.targets.chips.static_tables import Table

START = 0x300000

# Numbers whose exponential is a float32, subnormals included.
_LOWEST, _HIGHEST = -103, 88


def _signed_bytes() -> list[int]:
    return [*range(128), *range(-128, 0)]


def _with_exponential() -> list[float]:
    """i for every byte i whose exponential is a float32, else 0."""
    return [float(i) if _LOWEST <= i <= _HIGHEST else 0.0 for i in _signed_bytes()]


def _exponential() -> list[float]:
    """exp(i) for every byte i, 0 where it is no float32."""
    return [math.exp(i) if _LOWEST <= i <= _HIGHEST else 0.0 for i in _signed_bytes()]


def _logarithm_of_exponent() -> list[float]:
    """ln(2^(e - 127)) for every exponent field e."""
    return [(e - 127) * math.log(2) for e in range(256)]


def _inverse_factorials() -> list[float]:
    """exp(x) - 1 = sum of x^k / k!, k from 1 on, each coefficient divided from the one before in float32."""
    factors = [np.float32(1)]
    for k in range(2, 65):
        factors.append(factors[-1] / np.float32(k))
    return [float(value) for value in factors]


def _logarithm() -> list[float]:
    """log(1 + x) = sum of (-1)^(k+1) x^k / k, k from 1 on."""
    return [(-1) ** (k + 1) / k for k in range(1, 65)]


def _arcsine() -> list[float]:
    """arcsin(x) = sum of (2k-1)!! / ((2k)!! (2k+1)) x^(2k+1), in float32; NaN from where the factorials overflow."""
    terms: list[float] = []
    odd = even = np.float32(1)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(32):
            if k:
                odd, even = odd * np.float32(2 * k - 1), even * np.float32(2 * k)
            terms += [float(odd / even / np.float32(2 * k + 1)), 0.0]
    return terms


def _sine() -> list[float]:
    """sin(x) = sum of (-1)^k x^(2k+1) / (2k+1)!."""
    signs = (1.0, 0.0, -1.0, 0.0)
    return [value * signs[k % 4] for k, value in enumerate(_inverse_factorials())]


def _numbers(count: int) -> Callable[[], list[float]]:
    return lambda: [float(i) for i in range(count)]


BM1684_TABLES = (
    Table("bytes with an exponential", 256, _with_exponential),
    Table("exp of bytes", 256, _exponential),
    Table("log of exponents", 256, _logarithm_of_exponent),
    Table("exp", 64, _inverse_factorials),
    Table("log", 64, _logarithm),
    Table("arcsin", 64, _arcsine),
    Table("unsigned bytes", 256, _numbers(256)),
    Table("signed bytes", 256, lambda: [float(i) for i in _signed_bytes()]),
    Table("sin", 64, _sine),
    Table("numbers", 2048, _numbers(2048)),
)
