"""The third column of ``tdb-dap check --golden``: the chip's number, the expected one and the ideal one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.tools.check.schema import Report, Row
from tdb_dap.tools.report_schema import read
from tdb_dap.tools.shadow.shadow import Shadow
from tests.command_line import tdb_dap
from tests.triage_case import Compiled


@pytest.fixture
def toy(tmp_path: Path) -> Compiled:
    return Compiled.into(tmp_path / "toy")


def checked(toy: Compiled, folder: Path) -> dict[str, Row]:
    """The rows that have a shadow, by tensor."""
    report = folder / "report.json"
    inputs = toy.folder / "toy_in_f32.npz"
    done = tdb_dap("check", toy.context, "--inputs", inputs, "--golden", "--report", report)
    assert done.returncode in (0, 1), done.stderr
    rows = read(Report, report.read_text()).rows
    return {row.name: row for row in rows if row.shadow is not None}


def test_error_made_here_is_told_from_error_inherited(toy: Compiled, tmp_path: Path) -> None:
    rows = checked(toy, tmp_path)
    first, pooled, gemm = (rows[name].shadow for name in ("xrelu4_Relu_si8", "maxpool5_MaxPool", "gemm15_Gemm"))
    assert first is not None
    assert pooled is not None
    assert gemm is not None
    assert (first.inherited, first.verdict) == (0, "quantisation"), "the model's input is exact"
    assert 0 < first.here < 0.02
    assert pooled.here < 1e-6, "a maximum rounds nothing"
    assert pooled.verdict == "exact"
    assert pooled.inherited > 0.005
    assert gemm.here > 0
    assert gemm.inherited > 0
    assert {row.shadow.verdict for row in rows.values() if row.shadow is not None} <= {"exact", "quantisation"}


def test_the_ideal_is_what_the_imported_model_computes(toy: Compiled) -> None:
    inputs = read_npz(toy.folder / "toy_in_f32.npz")
    shadow = Shadow(toy.context, inputs)
    top = read_npz(toy.folder / "toy_top_outputs.npz")
    for name in ("relu4_Relu", "conv8_Conv", "mul10_Mul", "gemm15_Gemm"):
        np.testing.assert_allclose(shadow.ideal[name].reshape(-1), top[name].reshape(-1), rtol=1e-4, atol=1e-5)
        assert np.abs(shadow.ideal[name] - shadow.expected[name].reshape(shadow.ideal[name].shape)).max() > 1e-3
    (toy.folder / "toy.mlir").unlink()
    without = Shadow(toy.context, inputs)
    assert np.abs(without.ideal["gemm15_Gemm"] - shadow.ideal["gemm15_Gemm"]).max() > 1e-4, "with rounded weights"


def test_a_bug_is_made_at_one_op_and_inherited_by_those_after_it(toy: Compiled, tmp_path: Path) -> None:
    toy.spoil_bmodel()
    rows = checked(toy, tmp_path)
    assert [name for name, row in rows.items() if row.shadow is not None and row.shadow.verdict == "bug"] == [
        "conv8_Conv"
    ]
    bug, after = rows["conv8_Conv"].shadow, rows["mul10_Mul"].shadow
    assert bug is not None
    assert after is not None
    assert bug.here > 1 > 0.1 > bug.inherited
    assert after.inherited > 0.5 > 0.1 > after.here
    done = tdb_dap("check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--golden")
    table = done.stdout[done.stdout.index("errors against the ideal") :].splitlines()
    assert table[1].split()[-4:] == ["made", "here", "inherited", "means"]
    assert table[2].split()[:3] == ["23", "tpu.Conv2D", "conv8_Conv"]
    assert "bug: more than the format costs" in table[2]


def test_without_the_compiler_s_text_a_reference_file_is_compared_as_before(toy: Compiled) -> None:
    done = tdb_dap(
        "check", toy.context, "--inputs", toy.folder / "toy_in_f32.npz", "--reference", toy.tpu_outputs, "--all"
    )
    assert done.returncode == 0
    assert "ideal" not in done.stdout
