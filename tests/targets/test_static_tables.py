"""The constant tables of the firmware: what code that reads them computes with them."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.chips.static_tables import Table, words_of
from tests.loops import each

CHIPS = [chip for name, chip in chips().items() if chip.static_tables and name == chip.name]


def entries(table: Table) -> Array:
    """The numbers that are stored, as float64."""
    words = words_of(table, "firmware")
    if table.dtype is None:
        return words.astype(np.float64)
    return table.dtype.decode(words.view(table.dtype.bits_dtype)).astype(np.float64)


@each("chip", CHIPS)
def test_they_fit_into_the_static_memory(chip: Chip) -> None:
    assert sum(words_of(table, "firmware").nbytes for table in chip.static_tables) <= chip.geometry.static_bytes


@each("chip", [chip for name, chip in chips().items() if name == chip.name])
def test_of_l2_nothing_else_is_written(chip: Chip) -> None:
    memory, other = (Memory(chip.geometry, 1, ()) for _ in range(2))
    other.l2().fill(0xFF)
    for filled in (memory, other):
        chip.fill_tables(filled, "firmware")
    written = chip.l2_table_bytes
    assert np.flatnonzero(memory.l2() == other.l2()).tolist() == list(written)
    assert bool(chip.l2_tables) == bool(written)


SERIES: dict[str, tuple[Callable[[float], float], Callable[[float], float]]] = {
    # name: what the series in powers of the second function is, divided by its first power where it is odd
    "exp": (math.exp, lambda x: x),
    "log": (math.log1p, lambda x: x),
    "sin": (lambda x: math.sin(2 * math.pi * x) / x, lambda x: x * x),
    "cos": (lambda x: math.cos(2 * math.pi * x), lambda x: x * x),
    "arcsin": (lambda x: math.asin(x) / x, lambda x: x * x),
    "tan": (lambda x: math.tan(math.pi * x) / x, lambda x: x * x),
    "arctan": (lambda x: math.atan(x) / x, lambda x: x * x),
    "2^x": (lambda x: 2**x, lambda x: x),
}


@each("chip", CHIPS)
@each("name", SERIES)
def test_a_series_has_the_value_of_its_function(chip: Chip, name: str) -> None:
    function, power = SERIES[name]
    tables = [table for table in chip.static_tables if table.name.split(" ")[0] == name and "of" not in table.name]
    for table in tables:
        exact = {"f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}[str(table.dtype)]
        for x in (0.02, 0.125, 0.2):
            found = sum(c * power(x) ** k for k, c in enumerate(entries(table)))
            assert found == pytest.approx(function(x), rel=exact), (table.name, x)


def test_every_table_that_is_no_series_is_in_order() -> None:
    found = {table.name: entries(table) for chip in CHIPS for table in chip.static_tables}
    for name in ("sequence", "sequence of 16 bits"):
        assert found[name].tolist() == list(range(64))
    for name in ("2^(k/16) f32", "2^(k/16) f16", "2^(k/16) bf16"):
        assert np.allclose(np.log2(found[name]) * 16, range(16), atol=0.2)
    assert np.allclose(found["1 / (1 + k/128)"] * (128 + np.arange(128)), 128, rtol=2**-8)
