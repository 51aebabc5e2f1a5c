"""The fuzzer: it finds what is wrong, and finds nothing in what is known to be right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from scripts.robustness.fuzz_simulator.bench import Bench
from scripts.robustness.fuzz_simulator.mutation import mutate
from scripts.robustness.fuzz_simulator.report import cell, is_open, operation, table
from scripts.robustness.fuzz_simulator.seeds import Case, form_name, made_seeds, seeds_of
from tdb_dap.backends.discovery import library_of
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.targets.families import FAMILIES
from tdb_dap.targets.semantics import SEMANTICS
from tdb_dap.targets.validation.self_check import is_simulated
from tests.samples import DATA
from tests.targets.commands import form

CHIP = chips()["BM1684X"]


@pytest.fixture
def bench() -> Iterator[Bench]:
    made = Bench(CHIP, library_of(CHIP))
    yield made
    made.close()


def verdicts(chip: Chip, bench: Bench, name: str, count: int) -> set[str]:
    """What comes of random variants of an operation, those that are no case at all left out."""
    found_in_models = seeds_of(chip, [DATA, DATA / "chips"])
    seeds: list[Case] = {**made_seeds(chip, found_in_models), **found_in_models}[name]
    random = np.random.default_rng(5)
    found: set[str] = set()
    for index in range(count):
        case = mutate(seeds[index % len(seeds)], random, "finite", bench.ddr_start, stay=True)
        found.add(bench.run(case, random, "finite").verdict)
    return found - {"skipped"}


@pytest.mark.vendor
@pytest.mark.parametrize("name", ["arith.add", "conv.normal", "dma.tensor", "sfu.taylor_4x"])
def test_what_is_right_is_found_exact(bench: Bench, name: str) -> None:
    assert verdicts(CHIP, bench, name, 12) - {"undefined"} == {"exact"}


@pytest.mark.vendor
@pytest.mark.parametrize("chip", ["BM1684X", "BM1688", "BM1690"])
def test_transpositions_of_any_shape_are_exact(chip: str) -> None:
    target = chips()[chip]
    bench = Bench(target, library_of(target))
    try:
        for name in ("tsbc.cw_ts", "tsbc.wc_ts"):
            assert verdicts(target, bench, name, 12) - {"undefined"} == {"exact"}
    finally:
        bench.close()


_CHANGING = ("tsbc.", "sg.", "sgl.", "mm.", "vc.", "dma.", "gdma.")
_STREAMS = ("dma.decompress.non_random_access", "dma.decompress.random_access")


@pytest.mark.parametrize("chip", ["BM1684X", "BM1688", "BM1690"])
def test_every_extent_and_first_lane_of_a_form_that_changes_the_layout_is_drawn(chip: str) -> None:
    target = chips()[chip]
    found = seeds_of(target, [DATA])
    found = {**made_seeds(target, found), **found}
    simulated = {
        form_name(target, kind)
        for kind, form in enumerate(target.instruction_set.instructions)
        if is_simulated(target, form) and FAMILIES[form.register].results
    }
    missing = simulated - set(found)
    assert not {name for name in missing if name not in _STREAMS}
    random = np.random.default_rng(0)
    for name, seeds in found.items():
        if not name.startswith(_CHANGING) or name in _STREAMS:
            continue
        drawn: dict[str, set[int]] = {}
        for index in range(60):
            case = mutate(seeds[index % len(seeds)], random, "finite", 0, stay=True)
            f = target.fields_of(case.kind, case.descriptor, 0, {})
            assert f.sub == seeds[0].instruction.sub
            for field, value in vars(f).items():
                if re.fullmatch(r"(src|dst|res0|opd0|opd1)_[nchw](size)?", field) and value > 0:
                    drawn.setdefault(field, set()).add(value)
        results = {field for field in drawn if field.startswith(("res0", "src"))}
        single = {field for field in results if len(drawn[field]) < 2}
        assert not single - _ALWAYS_ONE.get(name.split(" ")[0], set()), (name, drawn)


@pytest.mark.parametrize("chip", ["BM1684", "BM1684X", "BM1688", "BM1690", "BM1684X2", "CV184X", "SGTPUV8", "SG2380"])
def test_a_made_command_is_of_the_kind_that_it_is_made_for(chip: str) -> None:
    target = chips()[chip]
    for name, seeds in made_seeds(target, seeds_of(target, [DATA, DATA / "chips"])).items():
        for seed in seeds:
            assert target.kind_of(seed.engine, seed.descriptor) == seed.kind, name


_ALWAYS_ONE = {
    "tsbc.s_bc": {"res0_n", "res0_h"},
    "tsbc.s_distribute": {"res0_n", "res0_h", "res0_w"},
    "sg.pe_s_gather_d1coor": {"res0_h"},
    "sg.pe_s_gather_hzd": {"res0_h"},
    # One field counts the elements.
    "dma.general": {"src_nsize", "src_csize", "src_hsize", "src_wsize"},
    "dma.general.broadcast": {"src_nsize", "src_csize", "src_hsize", "src_wsize"},
}


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


@pytest.mark.vendor
@pytest.mark.parametrize(("chip", "name"), [("BM1690", "arith.and"), ("CV184X", "arith.max"), ("BM1690", "arith.not")])
def test_an_answer_from_memory_that_was_never_written_is_undefined(chip: str, name: str) -> None:
    """Bits of floats, and maxima of float32 on a chip that compares bf16 alone."""
    target = chips()[chip]
    bench = Bench(target, library_of(target))
    kind = form(target, name)
    names = {shared: field for field, shared, _ in target.named_fields(kind)}
    values = {"opd0_prec": 2, "opd1_prec": 2, "res0_prec": 2, "tsk_opd_num": 1 if name == "arith.not" else 2}
    values |= {"res0_n": 1, "res0_c": 1, "res0_h": 1, "res0_w": 8, "opd1_addr": 4096, "res0_addr": 8192}
    fields = {names[field]: value for field, value in values.items()}
    case = Case(target, kind, target.encode(kind, target.instruction_set.blank(kind), fields))
    try:
        outcome = bench.run(case, np.random.default_rng(2), "finite")
    finally:
        bench.close()
    assert (outcome.verdict, outcome.text[-13:]) == ("undefined", "never written")


_SELDOM = (
    *("pord.maxpooling", "pord.minpooling", "pord.depthwise", "pord.avgpooling", "arith.div"),
    *("quant.rq0", "quant.rq1", "dma.nonzero", "reduce.sum", "mm.normal", "mm2.nt", "mm2.tt"),
)


@pytest.mark.vendor
def test_moves_of_bm1684_that_change_the_order_are_exact() -> None:
    target = chips()["BM1684"]
    bench = Bench(target, library_of(target))
    try:
        for name in ("dma", "dma.trans", "dma.cw_trans"):
            assert verdicts(target, bench, name, 20) - {"undefined"} == {"exact"}, name
    finally:
        bench.close()


@pytest.mark.vendor
@pytest.mark.parametrize("chip", ["BM1688", "BM1690", "BM1684X2", "SG2380"])
def test_forms_that_no_model_holds_are_exact(chip: str) -> None:
    target = chips()[chip]
    bench = Bench(target, library_of(target))
    known = made_seeds(target, seeds_of(target, [DATA, DATA / "chips"])) | seeds_of(target, [DATA, DATA / "chips"])
    try:
        for name in (name for name in _SELDOM if name in known):
            assert not verdicts(target, bench, name, 10) & {"inexact", "failed"}, name
    finally:
        bench.close()


def test_the_report_counts_what_is_exact() -> None:
    rows = {"conv": {"finite": Counter(exact=3, nan=1), "special": Counter(exact=2, undefined=5)}}
    assert cell(rows["conv"]["finite"]) == "3 of 4, 1 but for NaNs"
    assert not is_open(rows["conv"])
    results = {"operations": {"conv": operation(rows["conv"], is_emitted=True)}}
    assert table(results)[1] == [("conv", "3 of 4, 1 but for NaNs", "", "", "2", "5", "")]
