"""Plans: a command carried out as others of its form are does what it does by itself, wherever its operands lie."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from scripts.robustness.fuzz_simulator.bench import ddr_of_bench
from scripts.robustness.fuzz_simulator.contents import Random, words
from scripts.robustness.fuzz_simulator.mutation import BENCH_BYTES, mutate
from scripts.robustness.fuzz_simulator.seeds import Case, made_seeds, seeds_of
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.memory import Memory, Region
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import TdbError
from tdb_dap.targets import kernel
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tests.targets.commands import chip_named

DATA = Path(__file__).parents[1] / "data"
NAMES = sorted(chip.name for chip in chips().values() if isinstance(chip, Chip) and chip.rules is not None)
LARGEST = 1 << 16
CASES = 50
"""Forms that are drawn for each chip."""

pytestmark = pytest.mark.skipif(not kernel.is_built, reason="plans call the C kernel")


class Bench:
    """A chip with memory that commands are executed on, twice from the same bytes."""

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.data = np.zeros(BENCH_BYTES, np.uint8)
        self.memory = Memory(chip.geometry, 1, [Region(ddr_of_bench(chip.geometry), self.data, "bench")])
        chip.fill_tables(self.memory, "firmware")

    def all(self) -> list[Array]:
        return [self.memory.local(0), self.memory.static(0), self.memory.l2(), self.data]

    def kept(self) -> list[Array]:
        return [part.copy() for part in self.all()]

    def restore(self, kept: list[Array]) -> None:
        for part, old in zip(self.all(), kept, strict=True):
            part[...] = old

    def fill(self, description: Description, random: Random, kind: str) -> None:
        for view in (*description.reads, *description.results):
            if isinstance(view, View):
                self.memory.write(view, words(random, view.dtype, view.shape, kind))


@cache
def seeds(name: str) -> list[Case]:
    chip = chip_named(name)
    found = seeds_of(chip, [DATA, DATA / "chips"])
    every = {**found, **{f"{key} made": cases for key, cases in made_seeds(chip, found).items()}}
    return [case for _, cases in sorted(every.items()) for case in cases[:2]]


def moved(case: Case, random: Random) -> Case:
    """The same command with other addresses: near each other, the same, odd, anywhere in the lane or beyond memory."""
    names = {shared: own for own, shared, _ in case.chip.named_fields(case.kind)}
    values = case.chip.fields(case.kind, case.descriptor)
    own = [name for name in names if name.endswith(("_addr", "_addr_l32", "_addr_h32"))]
    chosen = [name for name in own if random.integers(2)]
    changed: dict[str, int] = {}
    lane = case.chip.geometry.lane_bytes
    for name in chosen:
        before = values[names[name]]
        other = values[names[own[random.integers(len(own))]]]
        byte = [
            before % lane,
            other % lane,
            before % lane + 64,
            before % lane ^ 16,
            other % lane + 4,
            before % lane + 1,
        ]
        byte += [int(random.integers(lane // 64)) * 64, lane - 64]
        changed[names[name]] = before // lane * lane + byte[random.integers(len(byte))] % lane
    return Case(case.chip, case.kind, case.chip.encode(case.kind, case.descriptor, changed), case.registers)


def drawn(name: str, count: int, seed: int) -> Iterator[tuple[Case, Random, str]]:
    random = np.random.default_rng(seed)
    every, start = seeds(name), ddr_of_bench(chip_named(name).geometry)
    for number in range(count):
        case = every[number % len(every)]
        kind = ("finite", "extreme", "subnormal", "special")[random.integers(4)]
        try:
            yield mutate(case, random, kind, start, stay=False) if number >= len(every) else case, random, kind
        except (TdbError, KeyError, AttributeError, ValueError):
            continue


def walk(name: str, count: int, seed: int) -> Counter[str]:
    """Learn each form from one command and carry out others; how often that was done, or left to the usual way."""
    bench, seen = Bench(chip_named(name)), Counter[str]()
    chip = bench.chip
    for case, random, kind in drawn(name, count, seed):
        try:
            views = [view for view in (*case.description.reads, *case.description.results) if isinstance(view, View)]
            if not views or max(view.size for view in views) > LARGEST:
                continue
            bench.fill(case.description, random, kind)
            kept = bench.kept()
            chip.execute(case.description, bench.memory)
        except (TdbError, AttributeError, KeyError, ValueError):
            seen["refused"] += 1
            continue
        for _ in range(2):
            chip.learn(case.description, case.descriptor)
        for other in (case, moved(case, random), moved(case, random)):
            bench.restore(kept)
            with suppress(TdbError, AttributeError, KeyError, ValueError):
                bench.fill(other.description, random, kind)
            before = bench.kept()
            done = chip.carry_out(other.kind, other.descriptor, 0, bench.memory)
            planned = bench.kept()
            bench.restore(before)
            if not done:
                seen["left"] += 1
                if other is case:
                    break
                assert all(np.array_equal(a, b) for a, b in zip(planned, before, strict=True)), other.description
                continue
            chip.execute(other.description, bench.memory)  # what a plan does, no command of its form refuses
            seen["done"] += 1
            for expected, found in zip(bench.all(), planned, strict=True):
                differing = np.flatnonzero(expected.reshape(-1) != found.reshape(-1))
                assert not differing.size, (name, case.name, other.description, differing[:8])
    return seen


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_does_what_the_command_does(name: str) -> None:
    seen = walk(name, CASES, seed=0)
    assert seen["done"] > 2, seen
