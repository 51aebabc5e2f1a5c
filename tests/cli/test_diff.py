"""``tdb-dap diff``, as it is typed."""

from __future__ import annotations

import lzma
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

from tdb_dap.tools.diff.schema import DiffReport
from tdb_dap.tools.programs import open_program
from tdb_dap.tools.report_schema import read
from tests.command_line import tdb_dap
from tests.samples import Case, case

TOY = "toy_bm1684x_f32"


def diff(a: Path, b: Path, *options: object, inputs: Path | None = None) -> CompletedProcess[str]:
    return tdb_dap("diff", a, b, "--inputs", inputs or case(TOY).inputs, *options)


def with_changed_weight(of: Case, layer: str, folder: Path) -> Path:
    """A copy of the model in which one weight of a layer is negated."""
    program = open_program(of.path)
    record = next(r for r in program.source.records if r.opcode == "tpu.Conv2D" and r.results[0].name == layer)
    loaded = record.operands[1].name
    load = next(r for r in program.source.records if r.results and r.results[0].name == loaded)
    view = load.operands[0].view
    assert view is not None
    data = bytearray(lzma.decompress((of.path / "compilation.bmodel.xz").read_bytes()))
    payload = len(data) - program.bmodel.payload.size
    start = payload + program.stage.weights.start + view.address - program.ddr_regions()[0].start
    numbers = np.frombuffer(bytes(data[start : start + view.nbytes]), np.float32)
    data[start : start + view.nbytes] = (-numbers).tobytes()
    for file in ("final.mlir", "tensor_location.json.xz"):
        (folder / file).write_bytes((of.path / file).read_bytes())
    (folder / "compilation.bmodel").write_bytes(bytes(data))
    return folder


def test_a_model_is_the_same_as_itself() -> None:
    done = diff(case(TOY).path, case(TOY).path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "same structure; 13 tensors compared, all alike"


def test_a_changed_weight_shows_in_the_values_from_its_layer_on(tmp_path: Path) -> None:
    changed = with_changed_weight(case(TOY), "conv8_Conv", tmp_path)
    report = tmp_path / "report.json"
    done = diff(case(TOY).path, changed, "--report", report)
    assert done.returncode == 1, done.stderr
    found = read(DiffReport, report.read_text())
    assert found.is_same_structure
    assert [row.name for row in found.differing_values][:2] == ["load_w6", "conv8_Conv"], "the weight, then its user"
    right = [row.name for row in found.values if row.verdict == "pass" and row.role == "result"]
    assert "maxpool5_MaxPool" in right
    assert "the first: load_w6 (tpu.Load at line 21 of B)" in done.stdout


def test_other_options_of_the_compiler_show_in_the_structure() -> None:
    done = diff(case(TOY).path, case("toy_bm1684x_f32nolg").path)
    assert done.returncode == 1
    assert "only in A: load_w1, tpu.Load at line 18" in done.stdout
    assert "instruction dma.tensor: 8 in A, 14 in B" in done.stdout
    lines = done.stdout.splitlines()
    place = lines.index("relu4_Relu (line 22 of A, line 14 of B)")
    assert lines[place + 1 : place + 3] == ["  commands: 2 TIU -> 4 DMA, 2 TIU", "  results at: R1 -> G53248"]
    assert lines[-1] == "different structure; 7 tensors compared, all alike"


def test_other_number_formats_and_chips(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    int8 = diff(case(TOY).path, case("toy_bm1684x_int8").path, "--report", report)
    assert int8.returncode == 1
    assert "op: tpu.Active -> tpu.Lut" in int8.stdout
    assert "attribute rshift: none -> 11" in int8.stdout
    assert "| mul10_Mul | 25, 24 | op | tpu.Active | tpu.Lut |" in report.read_text()
    other_chip = diff(case(TOY).path, case("toy_bm1690_f32").path)
    assert other_chip.returncode == 1
    assert other_chip.stdout.splitlines()[-1] == "different structure; 13 tensors compared, all alike"


def test_structure_alone_runs_nothing() -> None:
    done = tdb_dap("diff", case("nonzero_bm1684x_f32").path, case("nonzero_bm1684x_f32").path, "--structure")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "same structure; values not compared: not asked for")


@pytest.mark.parametrize(
    ("b", "options", "message"),
    [
        ("absent", [], "absent: no such file or directory"),
        ("{toy}", ["--report", "out.html"], "a report is one of .json, .md"),
    ],
)
def test_trouble_is_one_line_and_exit_code_2(b: str, options: list[str], message: str) -> None:
    toy = case(TOY)
    done = diff(toy.path, Path(b.format(toy=toy.path)), *options, inputs=toy.inputs)
    assert done.returncode == 2, done.stdout
    assert done.stderr.startswith("tdb-dap: error: ")
    assert done.stderr.count("\n") == 1
    assert message in done.stderr


def test_models_of_other_input_shapes_are_compared_by_structure() -> None:
    toy, other = case(TOY), case("pool2d_bm1684x_int8")
    done = diff(toy.path, other.path, inputs=other.inputs)
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[-1] == (
        "different structure; values not compared: A takes x f32[1,3,32,32], B takes x f32[1,10,13,14]: no inputs fit "
        "both"
    )


def test_another_model_is_a_reference_for_check() -> None:
    of = case("toy_bm1684x_f32nolg")
    done = tdb_dap("check", of.path, "--inputs", of.inputs, "--reference", case(TOY).path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("pass: ")
