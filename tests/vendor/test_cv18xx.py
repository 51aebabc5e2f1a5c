"""CV18xx beside the vendor's emulator: random commands of four chips, and a wrong result that does not pass.

Lockstep over recorded models of the four chips is in test_more_chips.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import tdb_dap
from scripts.robustness.fuzz_simulator.bench import Bench
from scripts.robustness.fuzz_simulator.mutation import mutate
from scripts.robustness.fuzz_simulator.seeds import seeds_of
from tdb_dap.backends.discovery import library_of
from tdb_dap.engine.checks.exception_filters import filters_named
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.arithmetic.stored import Unplanned
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.families.cv18xx.elements import MAX
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.semantics.registry import Operation
from tests.samples import DATA

pytestmark = pytest.mark.vendor

NAMES = ("CV180X", "CV181X", "CV182X", "CV183X")


@pytest.mark.parametrize("name", NAMES)
def test_random_variants_of_compiled_commands_are_exact_or_refused(name: str) -> None:
    chip, random = chips()[name], np.random.default_rng(4)
    bench, verdicts = Bench(chip, library_of(chip)), Counter[str]()
    try:
        for _, seeds in sorted(seeds_of(chip, [DATA / "chips"]).items()):
            for seed in seeds[:4]:
                outcome = bench.run(mutate(seed, random, "finite", bench.ddr_start, stay=True), random, "finite")
                verdicts[outcome.verdict] += 1
                assert outcome.verdict not in ("inexact", "failed"), (seed.name, outcome.text)
    finally:
        bench.close()
    assert verdicts["exact"] > 20, verdicts


def test_a_wrong_result_diverges(monkeypatch: pytest.MonkeyPatch) -> None:
    model, form = DATA / "chips" / "cv181x" / "act_relu_cv181x_int8", ("cvi.arith", MAX)
    right = SEMANTICS[form]

    def wrong(x: Operation) -> Array:
        words = right(x)
        if not isinstance(words, np.ndarray):
            raise Unplanned("the plan of the right one")
        changed = words.copy()
        changed[0, 0, 0, 0] ^= 1
        return changed

    monkeypatch.setitem(SEMANTICS, form, wrong)
    debugger = tdb_dap.open(model, inputs=model / "input.npz", backend="lockstep")
    debugger.set_checks(filters_named({"divergence": None}))
    stop = debugger.run()
    debugger.close()
    assert stop.reason == "exception", stop.text
    assert "arith.max" in stop.text
