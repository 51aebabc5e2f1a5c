"""Exported ops and models run where tdb-dap is not."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.cli.main import main
from tdb_dap.engine.hardware.runs import merged
from tdb_dap.tools.export.recording import without
from tests.samples import case

ALONE = "import runpy, sys; sys.modules['tdb_dap'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
"""Runs a file in an interpreter in which importing tdb_dap is an error."""

OPS = [
    ("toy_bm1684x_f32", ["22"]),
    ("toy_bm1684x_f32", ["relu4_Relu", "maxpool5_MaxPool"]),
    ("toy_bm1684x_f16", ["20-25"]),
    ("toy_bm1684_int8", ['#loc("conv8_Conv")']),
    ("toy_bm1688_int8c2", ["23"]),
    ("toy_bm1688_f16c2", []),
    ("toy_bm1690_f16c8", []),
    ("gather_nd_bm1684x_f32", []),
    ("toy_bm1688_int8cmpall", []),
    ("linear3d_bm1690_f8e4m3", []),
]


def export(name: str, ops: Sequence[str], folder: Path) -> Path:
    of = case(name)
    options = ["--op", *ops] if ops else []
    assert main(["export", str(of.path), "--inputs", str(of.inputs), "-o", str(folder), *options]) == 0
    return folder


def run(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", ALONE, str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=path.parent, check=False)


@pytest.mark.parametrize(("name", "ops"), OPS, ids=lambda value: str(value))
def test_what_is_exported_computes_the_same_bits_alone(name: str, ops: list[str], tmp_path: Path) -> None:
    folder = export(name, ops, tmp_path / "out")
    test = next(folder.glob("test_*.py"))
    done = run(test)
    assert done.stdout == "equal\n", done.stderr
    script = folder / test.name.removeprefix("test_")
    assert "tdb_dap" not in script.read_text().split('"""', 2)[2]
    described = json.loads((folder / "commands.json").read_text())
    assert all(entry["asm"].split(" = ")[0] in script.read_text().replace("\n    #    ", "") for entry in described)


def test_a_change_in_the_script_is_seen_by_its_test(tmp_path: Path) -> None:
    folder = export("toy_bm1684x_f32", ["22"], tmp_path / "out")
    script = folder / "relu4_relu.py"
    script.write_text(
        script.read_text().replace("opd0_up_pad=1", "opd0_up_pad=0").replace("opd0_dn_pad=1", "opd0_dn_pad=2")
    )
    done = run(folder / "test_relu4_relu.py")
    assert "the first command that differs is B1" in done.stderr


def test_the_numbers_that_go_in_and_come_out_are_there_by_name(tmp_path: Path) -> None:
    folder = export("toy_bm1684x_f32", ["22"], tmp_path / "out")
    with np.load(folder / "inputs.npz") as inputs, np.load(folder / "expected.npz") as expected:
        assert set(inputs.files) == {"load_0", "load_w1", "load_w2"}
        assert {name: expected[name].shape for name in expected.files} == {"relu4_Relu": (1, 16, 32, 32)}


@pytest.mark.parametrize(
    ("ops", "message"),
    [
        (["1"], "line 1 of final.mlir has no commands; these have: "),
        (["relu4_Rel"], "relu4_Rel: no op of that location; near are relu4_Relu"),
    ],
)
def test_what_is_not_there_is_one_line(
    ops: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", str(case("toy_bm1684x_f32").path), "--op", *ops, "-o", str(tmp_path / "out")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("kept")
    assert main(["export", str(case("toy_bm1684x_f32").path), "--op", "22", "-o", str(tmp_path)]) == 2
    assert "exists and is not an empty directory" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_bytes_that_are_missing() -> None:
    runs = np.array([[0, 10], [20, 30], [40, 50]])
    others = merged(np.array([[5, 22], [25, 26], [60, 70]]))
    assert without(runs, others).tolist() == [[0, 5], [22, 25], [26, 30], [40, 50]]
    assert without(runs, runs).size == 0
