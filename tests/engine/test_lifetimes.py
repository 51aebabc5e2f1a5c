"""When bytes of the scratchpad are stale: layer groups that follow each other, and that overlap."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tdb_dap.engine.program.access_table import LOCAL
from tdb_dap.engine.sanitizers.lifetimes import Lifetimes

LANE = 1 << 12


def lifetimes(*commands: tuple[str, int, int]) -> dict[int, tuple[tuple[int, int], ...]]:
    """What is left over where a group begins; ``commands``: group, first and last byte that are written."""
    records: list[SimpleNamespace] = []
    for ordinal, (group, _, _) in enumerate(commands):
        index = len(records)
        own: dict[str, Any] = {
            "index": index,
            "line": ordinal,
            "subnet": 0,
            "core": 0,
            "is_local": True,
            "group": group,
        }
        places = {"ordinals": (ordinal,), "first": ordinal, "last": ordinal, "buffers": (), "results": ()}
        records.append(SimpleNamespace(**own, **places))
    count = len(commands)
    rows = SimpleNamespace(
        core=np.zeros(count, np.int64),
        space=np.full(count, LOCAL),
        is_write=np.array([start < stop for _, start, stop in commands]),
        ordinal=np.arange(count),
        start=np.array([start for _, start, _ in commands]),
        stop=np.array([stop for _, _, stop in commands]),
    )
    source = SimpleNamespace(
        mlir=object(), records=records, op_of=lambda record: SimpleNamespace(group_line=record.group)
    )
    geometry = SimpleNamespace(lane_bytes=LANE)
    program: Any = SimpleNamespace(source=source, access_rows=rows, target=SimpleNamespace(geometry=geometry))
    found = Lifetimes(program)
    return {ordinal: birth.left for ordinal in range(count) for birth in found.at(ordinal) if birth.left}


def test_what_a_group_has_written_is_left_over_for_the_next() -> None:
    assert lifetimes(("a", 0, 10), ("a", 10, 30), ("b", 40, 50), ("c", 0, 5)) == {2: ((0, 30),), 3: ((40, 50),)}


def test_a_group_that_loads_ahead_takes_nothing_from_the_one_before() -> None:
    store = ("a", 0, 0)
    found = lifetimes(("a", 0, 10), ("b", 40, 50), store, ("b", 60, 70), ("c", 80, 90))
    assert found == {4: ((0, 10), (40, 50), (60, 70))}, "nothing at 1, where b begins, nor at 2, where a goes on"


def test_what_is_used_again_while_groups_overlap_is_not_left_over() -> None:
    found = lifetimes(("a", 0, 100), ("b", 200, 220), ("a", 0, 0), ("b", 20, 40), ("c", 300, 310), ("b", 0, 0))
    assert found == {4: ((0, 20), (40, 100))}, "of a; b goes on after c has begun"


@pytest.mark.parametrize("seed", range(20))
def test_groups_one_after_the_other_leave_all_that_they_wrote(seed: int) -> None:
    random = np.random.default_rng(seed)
    commands, written = [], []
    for group in range(6):
        here = np.zeros(LANE, bool)
        for _ in range(int(random.integers(1, 5))):
            start, stop = sorted(int(at) for at in random.integers(0, LANE, 2))
            commands.append((f"group{group}", start, stop))
            here[start:stop] = True
        written.append(here)
    found = iter(lifetimes(*commands).values())
    for here in written[:-1]:
        if here.any():
            left = np.zeros(LANE, bool)
            for start, stop in next(found):
                left[start:stop] = True
            np.testing.assert_array_equal(left, here)
