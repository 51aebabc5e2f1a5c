"""Windows on large tensors, and their summary."""

from __future__ import annotations

import numpy as np
import pytest

import tdb_dap
from tdb_dap.engine.expressions.chunks import Parts, error, stored
from tdb_dap.engine.expressions.summary import summarise
from tdb_dap.engine.expressions.values import Value
from tdb_dap.engine.hardware.dtypes import SI8
from tdb_dap.engine.hardware.views import View
from tests.conftest import Toy

RANDOM = np.random.default_rng(7)


def of(numbers: np.ndarray) -> tuple[Parts, list[int]]:
    """The array as parts, and a list that takes down how many elements each reading took."""
    sizes: list[int] = []

    def read(index: tuple[int | slice, ...]) -> np.ndarray:
        found = np.asarray(numbers[index])
        sizes.append(found.size)
        return found

    return Parts(numbers.shape, read), sizes


@pytest.mark.parametrize("shape", [(), (5,), (3, 1 << 21), (2, 3, 700, 900), (1 << 21, 2), (4, 0, 3)])
def test_blocks_are_the_whole_tensor_in_order_and_small(shape: tuple[int, ...]) -> None:
    numbers = np.arange(int(np.prod(shape)), dtype=np.float32).reshape(shape)
    parts, sizes = of(numbers)
    found = list(parts.blocks())
    assert [at for at, _ in found] == np.cumsum([0, *(block.size for _, block in found)])[:-1].tolist()
    assert np.array_equal(
        np.concatenate([block for _, block in found] or [numbers.reshape(-1)[:0]]), numbers.reshape(-1)
    )
    assert max(sizes, default=0) <= 1 << 20


def test_elements_in_order_from_anywhere() -> None:
    numbers = np.arange(3 * (1 << 20) + 5, dtype=np.int32).reshape(1, -1)
    parts, _ = of(numbers)
    for start, count in ((0, 1), ((1 << 20) - 3, 7), (3 * (1 << 20), 5)):
        assert parts.flat(start, count).tolist() == list(range(start, start + count))


def test_a_tensor_in_ddr_is_not_copied(toy: Toy) -> None:
    with_weights = tdb_dap.open(toy.directory)
    memory = with_weights.memory
    view = with_weights.evaluate("G0:f32[10,1000]").view
    assert isinstance(view, View)
    window = memory.window(view)
    assert window is not None
    assert np.shares_memory(window, memory.bytes_at(view.space, view.address, 40000))
    assert np.array_equal(window, memory.read(view))


def test_what_lies_in_several_lanes_reads_as_from_memory(toy: Toy) -> None:
    debugger = tdb_dap.open(toy.directory, inputs=toy.inputs)
    debugger.travel(len(debugger.program.commands))
    for text in ("R0:f32[2,100,4,4]", "R0:bf16[1,70,2,3]", "R0:si4[1,64,2,8]"):
        value: Value = debugger.evaluate(text)
        parts = stored(debugger.machine.memory, value)
        everything = tuple(slice(0, extent) for extent in parts.shape)
        assert np.array_equal(parts.read(everything), debugger.read(text), equal_nan=True), text


def test_equal_infinities_and_nans_are_no_error() -> None:
    ours, _ = of(np.array([1, np.inf, np.nan, np.inf, 2], np.float32))
    theirs, _ = of(np.array([1, np.inf, np.nan, -np.inf, np.nan], np.float32))
    found = error(ours, theirs).read((slice(0, 5),))
    assert found[:4].tolist() == [0, 0, 0, np.inf]
    assert np.isnan(found[4])


def test_the_summary_of_many_blocks_is_that_of_the_whole() -> None:
    numbers = RANDOM.integers(-128, 128, (3, 1000, 1000)).astype(np.int8)
    parts, _ = of(numbers)
    found = summarise(parts, bins=32, most=5, dtype=SI8)
    assert (found.minimum, found.maximum) == (-128, 127)
    assert found.mean == pytest.approx(numbers.mean())
    assert found.deviation == pytest.approx(numbers.std())
    assert found.saturated == int(((numbers == -128) | (numbers == 127)).sum())
    assert found.histogram == np.histogram(numbers, 32)[0].tolist()
    assert found.largest == np.flatnonzero(numbers.reshape(-1) == -128)[:5].tolist()


def test_a_tensor_of_nothing_finite() -> None:
    parts, _ = of(np.array([np.nan, np.inf], np.float32))
    found = summarise(parts)
    assert (found.minimum, found.mean, found.nan, found.inf) == (None, None, 1, 1)
    assert sum(found.histogram) == 0
