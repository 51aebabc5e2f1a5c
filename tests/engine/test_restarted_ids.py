"""Streams of more than 65,535 commands of an engine: both engines begin again at 1, as a detector for CV180X showed."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.commands.commands import ENGINES, Columns
from tdb_dap.engine.commands.decoding import counted_on


def columns(commands: list[tuple[str, int, int]]) -> Columns:
    """Engine, own id and id that it waits for of each command."""
    engine = np.array([ENGINES.index(name) for name, _, _ in commands], np.int8)
    ids, waits = (np.array([command[index] for command in commands], np.int64) for index in (1, 2))
    zeros = np.zeros(len(commands), np.int32)
    return Columns(engine, zeros.astype(np.int16), zeros, zeros, zeros.astype(np.int64), ids, waits, waits)


def listed(commands: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    found = counted_on(columns(commands))
    names = [ENGINES[number] for number in found.engine]
    return list(zip(names, found.id.tolist(), found.dependency.tolist(), strict=True))


BEFORE = [("dma", 1, 0), ("dma", 2, 0), ("tiu", 1, 2), ("dma", 3, 1)]


def test_ids_go_on_and_the_first_command_of_each_engine_waits_for_the_other() -> None:
    after = [("dma", 1, 0), ("dma", 2, 0), ("tiu", 1, 2), ("tiu", 2, 0), ("dma", 3, 2)]
    expected = [("dma", 4, 1), ("dma", 5, 0), ("tiu", 2, 5), ("tiu", 3, 0), ("dma", 6, 3)]
    assert listed(BEFORE + after) == BEFORE + expected
    once_more = [("dma", 7, 3), ("dma", 8, 0), ("tiu", 4, 8), ("tiu", 5, 0), ("dma", 9, 5)]
    assert listed(BEFORE + after + after) == BEFORE + expected + once_more


def test_an_engine_may_begin_again_later_or_not_at_all() -> None:
    after = [("tiu", 1, 0), ("tiu", 2, 0), ("dma", 1, 2)]
    assert listed(BEFORE + after) == [*BEFORE, ("tiu", 2, 3), ("tiu", 3, 0), ("dma", 4, 3)]
    assert listed([*BEFORE, ("tiu", 1, 0)]) == [*BEFORE, ("tiu", 2, 3)]


def test_other_ids_that_do_not_ascend_stay() -> None:
    damaged = [*BEFORE, ("dma", 2, 0), ("tiu", 5, 2)]
    assert listed(damaged) == damaged
