"""Constant tables of the static memory: the coefficients that compiled code reads for exp, log, sin, erf ...

The firmware writes them before a model runs. They are computed here and checked bit by bit against the recorded
ones; only the erf fit (ten terms after Numerical Recipes' erfc) is its own table.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, I16, Array, DType

_ERF = (-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587)
_ERF_TAIL = (-0.82215223, 0.17087277)


class Table(Struct, frozen=True):
    """``words`` 32-bit words from where the previous table ends; ``dtype`` of the entries (None: integers).

    16-bit entries are two in a word. The vendor's debugger fills the memory in another way on some chips: it gives a
    table ``tdb_words`` words, or, if ``tdb_loose``, a word for each entry.
    """

    name: str
    words: int
    entries: Callable[[], list[float]]
    dtype: DType | None = F32
    tdb_words: int = 0
    tdb_loose: bool = False


def _factorials(count: int) -> list[float]:
    return [1 / math.factorial(k) for k in range(count)]


def exponential(count: int) -> Callable[[], list[float]]:
    """exp(x) = sum of x^k / k!."""
    return lambda: _factorials(count)


def exponential_table() -> list[float]:
    """exp(i - 103) for i = 0 .. 191."""
    return [math.exp(i - 103) for i in range(192)]


def logarithm(count: int) -> Callable[[], list[float]]:
    """log(1 + x) = sum of (-1)^(k+1) x^k / k."""
    return lambda: [0.0] + [(-1) ** (k + 1) / k for k in range(1, count)]


def error_function() -> list[float]:
    return [*_ERF, *_ERF_TAIL]


def sequence() -> list[float]:
    return [float(i) for i in range(64)]


def sine() -> list[float]:
    """sin(2 pi x) in odd powers of x."""
    return [(-1) ** k * (2 * math.pi) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(32)]


def cosine() -> list[float]:
    """cos(2 pi x) in even powers of x."""
    return [(-1) ** k * (2 * math.pi) ** (2 * k) / math.factorial(2 * k) for k in range(32)]


def arcsine() -> list[float]:
    """arcsin(x) in odd powers of x."""
    return [math.comb(2 * k, k) / (4**k * (2 * k + 1)) for k in range(64)]


def tangent() -> list[float]:
    """tan(pi x) in odd powers of x, from the Bernoulli numbers."""
    return [float(value) * math.pi ** (2 * k + 1) for k, value in enumerate(_tangent_series(32))]


def _tangent_series(count: int) -> list[float]:
    """Coefficients of tan(x) in odd powers: T_k / (2k+1)! with the tangent numbers T_k."""
    numbers = [0] * (count + 1)
    numbers[1] = 1
    for k in range(2, count + 1):
        numbers[k] = (k - 1) * numbers[k - 1]
    for k in range(2, count + 1):
        for j in range(k, count + 1):
            numbers[j] = (j - k) * numbers[j - 1] + (j - k + 2) * numbers[j]
    return [numbers[k + 1] / math.factorial(2 * k + 1) for k in range(count)]


def arctangent() -> list[float]:
    """arctan(x) in odd powers of x."""
    return [(-1) ** k / (2 * k + 1) for k in range(32)]


def power_of_two() -> list[float]:
    """2^x = sum of (x log 2)^k / k! up to the seventh power, in powers of the logarithm as float32 holds it."""
    logarithm_of_two = float(np.float32(math.log(2)))
    return [logarithm_of_two**k / math.factorial(k) for k in range(8)]


def sixteenths() -> list[float]:
    """2^(k/16) for k = 0 .. 15."""
    return [2 ** (k / 16) for k in range(16)]


def reciprocals() -> list[float]:
    """1 / (1 + k/128) for k = 0 .. 127."""
    return [128 / (128 + k) for k in range(128)]


def words_of(table: Table, tables: str) -> NDArray[np.uint32]:
    """The words of a table as the ``firmware`` or the vendor's debugger (``tdb``) stores them."""
    values = np.array(table.entries(), np.float64)
    words = np.zeros((table.tdb_words if tables == "tdb" else 0) or table.words, np.uint32)
    if table.dtype is None:
        words[: values.size] = values.astype(np.uint32)
        return words
    bits: Array = _encode(values, table.dtype)
    if table.dtype.itemsize == 2 and not (tables == "tdb" and table.tdb_loose):
        words.view(np.uint16)[: bits.size] = bits
    else:
        words[: bits.size] = bits
    return words


def _encode(values: Array, dtype: DType) -> Array:
    with np.errstate(over="ignore", under="ignore"):
        return dtype.encode(values.astype(np.float32))


def fill(memory: NDArray[np.uint8], tables: tuple[Table, ...], how: str) -> None:
    """Write the tables one after another from byte 0 of the static memory; ``how``: see ``words_of``."""
    image = _image(tables, how)
    memory[: image.size] = image


def size_of_tables(tables: tuple[Table, ...]) -> int:
    """Bytes of the tables that the firmware writes."""
    return _image(tables, "firmware").size


@cache
def _image(tables: tuple[Table, ...], how: str) -> NDArray[np.uint8]:
    """All of them: each core has its own."""
    return np.concatenate([np.zeros(0, np.uint32), *(words_of(table, how) for table in tables)]).view(np.uint8)


def _three_formats(name: str, words: tuple[int, int, int], entries: Callable[[], list[float]]) -> tuple[Table, ...]:
    """The same entries as float32, f16 and bf16."""
    return tuple(
        Table(f"{name} {dtype}", count, entries, dtype) for dtype, count in zip((F32, F16, BF16), words, strict=True)
    )


_HALVES = (8, 8, 8, 8, 8, 16, 16, 16, 16, 16)
"""Words of the 16-bit tables of later chips: from log bf16 on room for 32 entries."""


def _common(erf_words: int) -> tuple[Table, ...]:
    """The 32-bit tables that every chip has."""
    return (
        Table("exp", 32, exponential(32)),
        Table("log", 64, logarithm(64)),
        Table("erf", erf_words, error_function),
        Table("sequence", 64, sequence, None),
        Table("sin", 32, sine),
        Table("cos", 32, cosine),
        Table("arcsin", 64, arcsine),
        Table("tan", 32, tangent),
    )


def _first(count: int, entries: Callable[[], list[float]]) -> Callable[[], list[float]]:
    return lambda: entries()[:count]


def _half_tables(words: tuple[int, ...], tdb_words: int = 0) -> tuple[Table, ...]:
    """The 16-bit tables, f16 before bf16."""
    sources = (
        ("exp", exponential(16)),
        ("erf", error_function),
        ("log", logarithm(16)),
        ("sin", _first(16, sine)),
        ("cos", _first(16, cosine)),
    )
    named = [(f"{name} {dtype}", entries, dtype) for name, entries in sources for dtype in (F16, BF16)]
    return tuple(
        Table(name, count, entries, dtype, tdb_words)
        for (name, entries, dtype), count in zip(named, words, strict=True)
    )


BM1684X_TABLES = (
    Table("exp of integers", 256, exponential_table),
    *_common(16),
    Table("exp f16", 16, exponential(10), F16, tdb_loose=True),
    Table("exp bf16", 16, exponential(10), BF16, tdb_loose=True),
    Table("log f16", 16, logarithm(16), F16, tdb_loose=True),
    Table("log bf16", 16, logarithm(16), BF16, tdb_loose=True),
)

BM1688_TABLES = (*_common(16), *_half_tables((8,) * 10, tdb_words=16))

BM1690_TABLES = (*_common(32), *_half_tables((32, 32, 32, 32, 32, 16, 16, 16, 16, 16)))

_ARCTANGENT = Table("arctan", 32, arctangent)

SG2380_TABLES = (*_common(16), *_half_tables(_HALVES), _ARCTANGENT)

BM1684X2_TABLES = (
    *_common(16),
    *_half_tables(_HALVES),
    *_three_formats("2^x", (8, 8, 8), power_of_two),
    *_three_formats("2^(k/16)", (16, 8, 8), sixteenths),
    _ARCTANGENT,
)

# The firmware of these chips writes bf16 alone.
SGTPUV8_TABLES = (
    Table("exp bf16", 8, exponential(16), BF16),
    Table("log bf16", 8, logarithm(16), BF16),
    Table("erf bf16", 8, error_function, BF16),
    Table("sequence", 64, sequence, None),
    Table("sequence of 16 bits", 32, sequence, I16),
    Table("sin bf16", 16, _first(16, sine), BF16),
    Table("cos bf16", 16, _first(16, cosine), BF16),
    Table("arcsin bf16", 32, _first(52, arcsine), BF16),
    Table("1 / (1 + k/128)", 64, reciprocals, BF16),
)

CV184X_TABLES = (*SGTPUV8_TABLES, Table("exp", 10, exponential(10)))
