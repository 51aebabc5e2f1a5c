"""Damaged commands, compared with the vendor's simulators."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import numpy as np
import pytest

from scripts.robustness.fuzz_simulator.__main__ import MODELS, with_small_l2
from scripts.robustness.fuzz_simulator.bench import Bench
from scripts.robustness.fuzz_simulator.mutants import BROKEN, mutants, walk
from scripts.robustness.fuzz_simulator.seeds import seeds_of
from tdb_dap.backends.discovery import library_of
from tdb_dap.errors import BadInput
from tests.targets.commands import chip_named

pytestmark = pytest.mark.vendor


@pytest.mark.parametrize("name", ["BM1684", "BM1684X", "BM1688", "BM1690", "BM1684X2", "CV184X"])
def test_damaged_commands_and_the_vendors_simulator(name: str) -> None:
    """None that ends it is computed here without a word, and none is computed otherwise."""
    chip = with_small_l2(chip_named(name))
    try:
        bench = Bench(chip, library_of(chip, None))
    except BadInput as error:
        pytest.skip(str(error))
    try:
        random = np.random.default_rng(0)
        damaged = islice(mutants(seeds_of(chip, MODELS), random, bench.ddr_start), 200)
        verdicts = sum(walk(bench, damaged, random, 0).values(), Counter())
    finally:
        bench.close()
    assert verdicts["agree"] > 100
    assert {verdict: verdicts[verdict] for verdict in BROKEN if verdicts[verdict]} == {}
