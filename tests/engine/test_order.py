"""Merging the two engines' streams."""

from __future__ import annotations

import numpy as np
import pytest

from tdb_dap.engine.commands.interleaving import merge
from tdb_dap.engine.hardware.target import Stream
from tdb_dap.errors import BadInput


def stream(engine: str, waits: list[int]) -> Stream:
    count = len(waits)
    return Stream(
        engine,
        np.zeros(0, np.uint8),
        np.arange(count, dtype=np.int64),
        np.zeros(count, np.int32),
        np.arange(1, count + 1, dtype=np.int64),
        np.array(waits, np.int64),
        np.array(waits, np.int64),
        np.zeros(count, np.bool_),
    )


def order(tiu: list[int], dma: list[int]) -> list[str]:
    is_dma, indices = merge(stream("tiu", tiu), stream("dma", dma), "toy")
    return [f"{'D' if d else 'B'}{i + 1}" for d, i in zip(is_dma.tolist(), indices.tolist(), strict=True)]


def test_a_tiu_command_comes_right_after_the_move_it_waits_for() -> None:
    assert order([1, 1, 3], [0, 0, 2]) == ["D1", "B1", "B2", "D2", "D3", "B3"]


def test_an_engine_alone_keeps_its_order() -> None:
    assert order([0, 0], []) == ["B1", "B2"]
    assert order([], [0, 0, 0]) == ["D1", "D2", "D3"]


def test_a_command_without_a_dependency_does_not_overtake_the_one_before_it() -> None:
    assert order([2, 0], [0, 0]) == ["D1", "D2", "B1", "B2"]


def test_a_move_that_waits_for_a_later_computation_is_held_back() -> None:
    """Compilers do not emit this; a stream made by hand may."""
    assert order([0, 0], [2, 0]) == ["B1", "B2", "D1", "D2"]


def test_a_deadlock_says_who_waits_for_whom() -> None:
    with pytest.raises(BadInput, match="deadlock: B1 waits for D1 and D1 waits for B1"):
        order([1], [1])


def test_random_streams_are_scheduled_without_breaking_a_dependency() -> None:
    random = np.random.default_rng(3)
    for _ in range(200):
        n, m = random.integers(1, 12, 2)
        # Draw a legal interleaving first, then dependencies that it satisfies.
        steps = random.permutation([True] * m + [False] * n)
        done = {True: 0, False: 0}
        waits: dict[bool, list[int]] = {True: [], False: []}
        for is_dma in steps.tolist():
            waits[is_dma].append(int(random.integers(0, done[not is_dma] + 1)))
            done[is_dma] += 1
        found = order(waits[False], waits[True])
        for index, wait in enumerate(waits[True]):
            assert wait == 0 or found.index(f"B{wait}") < found.index(f"D{index + 1}")
        for index, wait in enumerate(waits[False]):
            assert wait == 0 or found.index(f"D{wait}") < found.index(f"B{index + 1}")
        assert [x for x in found if x[0] == "D"] == [f"D{i + 1}" for i in range(m)]
        assert [x for x in found if x[0] == "B"] == [f"B{i + 1}" for i in range(n)]
