"""The fuzzer: it finds what is wrong, and finds nothing in what is known to be right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from scripts.fuzz_simulator.bench import Bench
from scripts.fuzz_simulator.mutation import mutate
from scripts.fuzz_simulator.report import cell, is_open, replace_part, table
from scripts.fuzz_simulator.seeds import Case, seeds_of
from tdb_dap.targets.backends.discovery import library_of
from tdb_dap.targets.chip import Chip
from tdb_dap.targets.registry import chips
from tdb_dap.targets.semantics import SEMANTICS
from tests.samples import DATA

CHIP = chips()["BM1684X"]


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(CHIP, library_of(CHIP))
    yield made
    made.close()


def verdicts(chip: Chip, bench: Bench, name: str, count: int) -> set[str]:
    """What comes of random variants of an operation, those that are no case at all left out."""
    seeds: list[Case] = seeds_of(chip, [DATA])[name]
    random = np.random.default_rng(5)
    found = set()
    for index in range(count):
        case = mutate(seeds[index % len(seeds)], random, "finite", bench.ddr_start, stay=True)
        found.add(bench.run(case, random, "finite").verdict)
    return found - {"skipped"}


@pytest.mark.vendor
@pytest.mark.parametrize("name", ["arith.add", "conv.normal", "dma.tensor", "sfu.taylor_4x"])
def test_what_is_right_is_found_exact(bench: Bench, name: str) -> None:
    assert verdicts(CHIP, bench, name, 12) - {"undefined"} == {"exact"}


@pytest.mark.vendor
def test_what_is_wrong_is_found(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    right = SEMANTICS["sfu", 12]
    monkeypatch.setitem(SEMANTICS, ("sfu", 12), lambda operation: np.array(right(operation)) ^ 1)
    assert "inexact" in verdicts(CHIP, bench, "sfu.taylor_4x", 6)


@pytest.mark.vendor
def test_a_death_of_the_simulator_is_a_verdict_and_the_next_case_runs(bench: Bench) -> None:
    (seed, *_) = [case for case in seeds_of(CHIP, [DATA])["arith.max"] if case.instruction.register == "sAR"]
    values = {"opd0_prec": 0, "opd1_prec": 0, "res0_prec": 2}
    broken = Case(CHIP, seed.kind, seed.instruction.encode(seed.descriptor, **values))
    random = np.random.default_rng(0)
    assert bench.run(broken, random, "finite").verdict == "undefined"
    assert verdicts(CHIP, bench, "arith.max", 4) <= {"exact", "undefined"}


def test_the_report_replaces_its_own_part_only(tmp_path: Path) -> None:
    from collections import Counter

    from scripts.fuzz_simulator.report import BEGIN, END

    file = tmp_path / "fidelity.md"
    file.write_text(
        f"by hand\n{BEGIN.format('A')}\nold\n{END.format('A')}\n{BEGIN.format('B')}\nkept\n{END.format('B')}\n"
    )
    rows = {"conv": {"finite": Counter(exact=3, nan=1), "special": Counter(exact=2, undefined=5)}}
    assert cell(rows["conv"]["finite"]) == "3 of 4, 1 but for NaNs"
    assert not is_open(rows["conv"])
    replace_part(file, "A", table(rows, {"conv"}))
    text = file.read_text()
    assert text.startswith("by hand\n")
    assert "old" not in text
    assert "kept" in text
    assert "| conv | 3 of 4, 1 but for NaNs |  |  | 2 | 5 |  |" in text
