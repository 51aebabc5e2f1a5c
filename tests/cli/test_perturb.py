"""``tdb-dap perturb``: the last place of the inputs, followed through the model; no reference is needed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tdb_dap.tools.perturb.schema import Perturbed
from tdb_dap.tools.report_schema import read
from tests.command_line import tdb_dap
from tests.triage_case import Compiled


@pytest.fixture
def toy(tmp_path: Path) -> Compiled:
    found = Compiled.into(tmp_path / "toy")
    found.tpu_outputs.unlink()
    return found


def test_a_correct_model_amplifies_as_much_as_it_must(toy: Compiled) -> None:
    done = tdb_dap("perturb", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--json")
    assert done.returncode == 0, done.stderr
    found = read(Perturbed, done.stdout)
    assert (found.runs, len(found.rows), found.of("beyond")) == (2, 10, ())
    cast = next(row for row in found.rows if row.name == "xrelu4_Relu_si8")
    assert cast.condition == pytest.approx(1, abs=1e-3), "a cast passes on what it gets"
    pooled = next(row for row in found.rows if row.name == "globalaveragepool11_GlobalAveragePool")
    assert pooled.condition is not None
    assert pooled.condition < 0.5, "an average of 64 takes most of it away"
    for row in found.rows:
        assert row.excess <= 1.5 * row.rounding, "all that is left is the rounding of two runs"


def test_an_op_that_moves_otherwise_than_it_must_is_found_without_a_reference(toy: Compiled) -> None:
    toy.spoil_bmodel()
    check = ("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--perturb")
    done = tdb_dap(*check)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("fail: 1 beyond their condition number, the first is conv8_Conv (tpu.Conv2D at line 13)")
    assert tdb_dap("perturb", *check[1:-1]).stdout == done.stdout
    assert lines[3].split()[:4] == ["13", "tpu.Conv2D", "conv8_Conv", "beyond"]
    one = read(Perturbed, tdb_dap(*check, "--json", "--runs", "1").stdout)
    assert [row.name for row in one.of("beyond")] == ["conv8_Conv"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--perturb", "--golden"), "--perturb compares a model with itself; leave --golden out"),
        (("--perturb", "--runs", "0"), "--runs 0: give the number of perturbations, 1 to 1,000"),
        (("--golden", "--json"), "--json: only with --perturb"),
    ],
)
def test_what_does_not_go_together_is_one_line(options: tuple[str, ...], text: str, toy: Compiled) -> None:
    done = tdb_dap("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert text in done.stderr


def test_what_is_missing_is_named(toy: Compiled) -> None:
    inputs = (toy.folder / "toy_in_f32.npz").rename(toy.folder / "kept.npz")
    done = tdb_dap("check", toy.context, "--perturb")
    assert (done.returncode, "perturb needs --inputs X.npz: zeros have no last place" in done.stderr) == (2, True)
    toy.tpu.unlink()
    done = tdb_dap("check", toy.context, "--inputs", inputs, "--perturb")
    assert (done.returncode, "the ..._tpu.mlir of its compilation is missing" in done.stderr) == (2, True)
