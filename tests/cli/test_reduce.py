"""``tdb-dap reduce``: from a compilation in which something is wrong to the smallest case."""

from __future__ import annotations

import os
import stat
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.tools.golden.level import Level, names
from tdb_dap.tools.reduce.cutting import cut
from tests.command_line import tdb_dap
from tests.triage_case import Compiled


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiled:
    """The toy where no compiler is."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return Compiled.into(tmp_path / "toy")


def compiler(toy: Compiled, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A compiler that does what a script of the shell says."""
    program = toy.folder.parent / "bin" / "model_deploy"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}/usr/bin{os.pathsep}/bin")


def test_each_op_alone_and_each_pair_computes_what_it_did_in_the_whole(toy: Compiled, tmp_path: Path) -> None:
    level = Level("top", toy.folder / "toy.mlir")
    tensors = read_npz(toy.folder / "toy_top_outputs.npz")
    ops = [op for op in level.ops if op.name != "top.Input"]
    assert len(ops) == 8
    for chosen in [*((op,) for op in ops), *pairwise(ops)]:
        pieces = cut(level, chosen, tensors, "weights.npz")
        path = tmp_path / "reduced.mlir"
        path.write_text(pieces.text, "utf-8")
        write_npz(tmp_path / "weights.npz", pieces.weights)
        again = Level("reduced", path)
        found, missing = again.run(pieces.inputs, is_rounded=True)
        assert not missing
        assert [op.name for op in again.ops if op.name != "top.Input"] == list(pieces.ops)
        for name in (name for op in chosen for name in names(op)):
            np.testing.assert_allclose(found[name], pieces.expected[name], rtol=1e-4, atol=1e-5)


def test_the_folder_holds_one_op_its_data_and_the_compiler_s_command(toy: Compiled, tmp_path: Path) -> None:
    toy.spoil_scale()
    folder = tmp_path / "case"
    done = tdb_dap("reduce", toy.context, "-o", folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"{folder}: 1 of 9 ops (top.MatMul)",
        "not compiled: model_deploy is not here; run reproduce.sh where it is, then tdb-dap triage",
    ]
    held = {path.name for path in folder.iterdir()}
    assert held == {"README.md", "expected.npz", "inputs.npz", "reduced.mlir", "reduced_weights.npz", "reproduce.sh"}
    script = (folder / "reproduce.sh").read_text()
    assert "model_deploy --mlir reduced.mlir --quantize INT8 --processor bm1684x --test_input inputs.npz" in script
    assert "does not mean what the stage before it says" in script
    assert list(read_npz(folder / "inputs.npz")) == ["flatten12_Flatten"]
    assert list(read_npz(folder / "expected.npz")) == ["flatten12_Flatten", "gemm15_Gemm"]
    assert Level("top", folder / "reduced.mlir").weights.keys() == {"w13_fix", "w14"}


def test_ops_are_added_until_the_compiler_fails_as_it_did(
    toy: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler's part is played by one that compiles three ops wrongly, and fewer not at all."""
    toy.spoil_scale()
    whole = toy.folder
    copy = f"cp {whole}/*.npz {whole}/*.mlir . && cp -r {toy.context} reduced"
    compiler(toy, monkeypatch, f'test "$(grep -c \'= "top.[A-HJ-V]\' reduced.mlir)" -ge 3 && {copy}')
    folder = tmp_path / "case"
    done = tdb_dap("reduce", toy.context, "-o", folder)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"{folder}: 3 of 9 ops (top.AvgPool, top.Reshape, top.MatMul)"
    assert lines[1].startswith("still fails: bug: gemm15_Gemm (tpu.MatMul at ")


def test_what_does_not_fail_alone_gives_exit_code_1(
    toy: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.spoil_scale()
    compiler(toy, monkeypatch, "exit 1")
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "case")
    assert done.returncode == 1
    assert "up to 3 ops compiled alone do not fail like the whole model" in done.stdout


def test_what_cannot_be_reduced_is_named(toy: Compiled, tmp_path: Path) -> None:
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "case")
    assert (done.returncode, "nothing to reduce: quantisation: no op is wrong" in done.stderr) == (2, True)
    toy.spoil_scale()
    (tmp_path / "case").mkdir()
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "case")
    assert (done.returncode, "is there already; give a new directory" in done.stderr) == (2, True)
    (toy.folder / "toy_top_outputs.npz").unlink()
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "other")
    assert done.returncode == 2
