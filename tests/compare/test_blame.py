"""Whose fault a wrong result is: faults put into right models, and reference data that is wrong."""

from __future__ import annotations

import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

import tdb_dap
from scripts.robustness.inject_faults import Model, blamed, changed_weight, dropped_command, inject
from tdb_dap.cli.main import main
from tdb_dap.engine.compare.dataflow import Producers
from tdb_dap.engine.compare.finding import Reason, Role, Verdict
from tdb_dap.engine.compare.segments import segments
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.tools.check.causes.blame import first_culprit, with_blame
from tdb_dap.tools.check.checking import check
from tdb_dap.tools.check.options import CheckOptions
from tdb_dap.tools.check.process_team import Processes
from tdb_dap.tools.check.runner import walk
from tdb_dap.tools.check.schema import Row
from tdb_dap.tools.check.team import Alone, Team
from tdb_dap.tools.check.worker import Job, Worker
from tdb_dap.tools.model_options import ModelOptions
from tests.samples import Case, case


def job_of(of: Case, reference: Path | None = None) -> Job:
    return Job(ModelOptions(of.path, of.inputs, (reference or of.reference,)), Tolerances())


def standalone(job: Job, team: Team) -> list[Row]:
    return walk(Worker(job, "standalone"), "standalone", team, lambda done: None).rows


def line_of(of: Case, text: str) -> int:
    return next(n for n, line in enumerate(of.mlir.read_text().split("\n"), 1) if text in line)


TOY = "toy_bm1684x_f32"


def test_a_changed_weight_is_blamed_on_the_op_that_uses_it() -> None:
    of = case(TOY)
    load = line_of(of, '"tpu.Load"')
    view = next(record for record in debugger_records(of) if record.line == load).operands[0].view
    assert view is not None
    rows = blamed(job_of(of), changed_weight(view))
    culprit = first_culprit(rows)
    assert culprit is not None
    assert culprit.blame is not None
    assert culprit.blame.kind == "at fault"
    wrong = [row for row in rows if row.verdict == "fail" and row.role == "result"]
    assert len(wrong) > 3
    assert {row.blame.line for row in wrong if row.blame is not None} == {culprit.line}
    readers = {r.line for r in debugger_records(of) if any(v.name == loaded(of, load) for v in r.operands)}
    assert culprit.line in readers


def debugger_records(of: Case) -> list[OpRecord]:
    return [record for record in job_of(of).open().program.source.records if record.ordinals]


def loaded(of: Case, line: int) -> str:
    return next(record for record in debugger_records(of) if record.line == line).results[0].name


@pytest.mark.parametrize("name", [TOY, "toy_bm1684x_int8", "act_relu_bm1684x_int8", "sin_cos_erf_bm1684x_f32"])
def test_a_dropped_command_is_blamed_on_its_op(name: str) -> None:
    of = case(name)
    program = job_of(of).open().program
    tried = 0
    for record in program.source.records:
        known = record.ordinals and record.opcode not in ("tpu.Load", "tpu.Store") and not record.slice_text
        if not known or program.commands[record.last].is_system or tried == 3:
            continue
        rows = blamed(job_of(of), dropped_command(record.last))
        own = [row for row in rows if row.line == record.line and row.role == "result"]
        if not any(row.verdict == "fail" for row in own):
            continue  # not in the reference, or the place holds the right numbers already
        culprit = first_culprit(rows)
        assert culprit is not None
        assert culprit.line == record.line, culprit.blame
        tried += 1
    assert tried


def spoiled(of: Case, path: Path, name: str) -> Path:
    with np.load(of.reference) as archive:
        arrays = dict(archive)
    arrays[name] = 1 - 2 * arrays[name]
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("name", [TOY, "toy_bm1684x_int8", "toy_bm1688_int8c2"])
def test_a_spoiled_tensor_is_the_first_culprit(name: str, tmp_path: Path) -> None:
    of = case(name)
    bad = of.verdicts["bad_tensor"]
    culprit = first_culprit(blamed(job_of(of, spoiled(of, tmp_path / "bad.npz", bad))))
    assert culprit is not None
    assert culprit.name == bad
    assert culprit.blame is not None
    assert culprit.blame.kind == "at fault"


def test_inputs_of_another_run_are_named(tmp_path: Path) -> None:
    of = case(TOY)
    other = tmp_path / "other.npz"
    with np.load(of.inputs) as archive:
        np.savez(other, **{name: archive[name] * 0.5 + 1 for name in archive.files})
    rows = blamed(Job(ModelOptions(of.path, other, (of.reference,)), Tolerances()))
    culprit = first_culprit(rows)
    assert culprit is not None
    assert culprit.blame is not None
    assert (culprit.name, culprit.blame.kind) == ("x", "input")


def made_up(line: int, name: str, role: Role, verdict: Verdict, last: int) -> Row:
    return Row(
        line=line,
        opcode="tpu.Op",
        name=name,
        role=role,
        index=0,
        dtype="f32",
        first=last,
        last=last,
        pieces=1,
        covered=1.0,
        verdict=verdict,
        reason="",
    )


def test_an_operand_that_is_overwritten_is_told_from_a_wrong_op() -> None:
    rows = [
        made_up(10, "a", "result", "pass", 1),
        made_up(11, "a", "operand", "fail", 5),
        made_up(11, "b", "result", "fail", 5),
    ]
    blame = with_blame(rows, rows, Producers(job_of(case(TOY)).open().program))[2].blame
    assert blame is not None
    assert blame.kind == "overwritten"
    assert blame.text.startswith("a is right when line 10 has computed it and wrong when tpu.Op at line 11 reads it")


@pytest.mark.parametrize("name", ["toy_bm1684x_f32", "toy_bm1688_int8c2", "ew_bcast_bm1684_int8"])
def test_stretches_that_run_on_their_own_find_the_same(name: str) -> None:
    of = case(name)
    job = job_of(of)
    debugger = job.open()
    assert debugger.reference is not None
    parts = segments(debugger.program, debugger.reference, 2)
    assert len(parts) == 2, "the program can be cut"
    assert (parts[0][0], parts[-1][1]) == (0, len(debugger.program.commands))
    whole = {row.key: row for row in standalone(job, Alone())}
    team = Processes(job, 2)
    cut = {row.key: row for row in standalone(job, team)}
    team.close()
    assert set(cut) == set(whole)
    assert [key for key in whole if cut[key] != whole[key]] == []


def test_a_changed_round_mode_is_blamed_on_its_op_by_comparing_with_the_right_model(tmp_path: Path) -> None:
    found = inject(Model(case("toy_bm1684x_int8").path, tmp_path), "changed round mode")
    assert found.text
    assert found.right, found.text


@pytest.mark.parametrize(
    ("reason", "verdict", "kind"),
    [
        ("weight", "pass", "accumulates"),
        ("no such name", "pass", "accumulates"),
        ("weight", "unknown", "accumulates"),
        ("no such name", "unknown", "unclear"),
    ],
)
def test_an_operand_that_the_reference_lacks_is_judged_by_the_result(
    reason: Reason, verdict: Verdict, kind: str
) -> None:
    """Weights are not computed; other operands are, in a run alone from the reference's operands of earlier ops."""
    program = job_of(case(TOY)).open().program
    common: dict[str, Any] = {
        "opcode": "tpu.Conv2D",
        "dtype": "f32",
        "first": 3,
        "last": 4,
        "pieces": 1,
        "covered": 1.0,
    }
    rows = [
        Row(line=22, name="image", role="operand", index=0, verdict="pass", **common),
        Row(line=22, name="load_w", role="operand", index=1, verdict="unknown", reason=reason, **common),
        Row(line=22, name="sum", role="result", index=0, verdict="fail", **common),
    ]
    alone = [replace(row, verdict=verdict) if row.name == "sum" else row for row in rows]
    *_, result = with_blame(rows, alone, Producers(program))
    assert result.blame is not None
    assert result.blame.kind == kind


AT_FAULT = "tpu.Conv2D at line {} is at fault: wrong with the reference's operands, too"
RACE = "nothing orders B1 conv.normal (line 22) and D3 dma.tensor (line 19), which touch the same bytes; with the DMA"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        (["--set", "B1.cmd_id_dep=2"], f"{RACE} first every output passes"),
        (["--set", "B1.cmd_id_dep=2", "--weight", "w6=0"], AT_FAULT.format(22)),
        (["--weight", "w6=0"], AT_FAULT.format(24)),
    ],
    ids=["a race", "a race and a wrong weight", "a wrong weight"],
)
def test_a_race_is_to_blame_if_another_order_is_right(changes: list[str], expected: str, tmp_path: Path) -> None:
    of = case(TOY)
    model = tmp_path / "compilation.bmodel"
    assert main(["patch", str(of.path), "-o", str(model), *changes]) == 0
    (tmp_path / "final.mlir").write_bytes(of.mlir.read_bytes())
    locations = lzma.decompress((of.path / "tensor_location.json.xz").read_bytes())
    (tmp_path / "tensor_location.json").write_bytes(locations)
    report = check(CheckOptions(ModelOptions(tmp_path, of.inputs, (of.reference,)))).report
    assert report.failures
    assert report.culprit is not None
    assert (report.culprit.blame.text if report.culprit.blame is not None else "") == expected


def test_ops_without_the_compilers_text_are_tried_alone(tmp_path: Path) -> None:
    """A product makes a difference that its operand may have larger than one that it may have: no op is at fault."""
    of = case(TOY)
    expected = dict(np.load(of.reference))
    debugger = tdb_dap.open(of.path)
    product_op = next(record for record in debugger.program.source.records if record.opcode == "tpu.MatMul")
    view = product_op.operands[1].view
    assert view is not None
    weights = debugger.read(view).reshape(32, 10)
    pooled, product = expected["flatten12_Flatten"], expected["gemm15_Gemm"]
    amplified = np.linalg.svd(weights.T)[2][0].astype(np.float32) * 0.008 * np.linalg.norm(pooled)
    expected["globalaveragepool11_GlobalAveragePool"] += amplified.reshape(1, 32, 1, 1)
    expected["flatten12_Flatten"] = pooled + amplified
    expected["gemm15_Gemm"] = product + amplified @ weights
    shifted = np.exp(expected["gemm15_Gemm"])
    expected["softmax16_Softmax"] = shifted / shifted.sum()
    np.savez(tmp_path / "ref.npz", **expected)
    report = check(CheckOptions(ModelOptions(of.path, of.inputs, (tmp_path / "ref.npz",)))).report
    assert {row.name for row in report.failures} >= {"gemm15_Gemm"}
    assert report.culprit is not None
    assert report.culprit.blame is not None
    assert report.culprit.blame.kind == "accumulates"
    assert "right with the reference's operands" in report.culprit.blame.text


def test_a_reference_of_other_formats_accuses_no_op(capsys: pytest.CaptureFixture[str]) -> None:
    """The float model's numbers for one in INT8: each op is off by what its format costs."""
    of, floats = case("toy_bm1684x_int8"), case(TOY)
    assert main(["check", str(of.path), "--inputs", str(of.inputs), "--reference", str(floats.reference)]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("fail: first to differ is relu4_Relu")
    assert "is at fault" not in said.out
    assert "the reference is not that of this compilation: its numbers of relu4_Relu are none of ui8" in said.err
    assert (
        main(["check", str(of.path), "--inputs", str(of.inputs), "--reference", str(floats.reference), "--blame"]) == 1
    )
    assert "are none of ui8; what formats cost is blamed, too" in capsys.readouterr().err


def test_a_reference_with_one_tensor_of_another_format_names_the_op(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The compiler's interpreter rounds the results of most ops, not of all."""
    of = case("toy_bm1684x_int8")
    expected = dict(np.load(of.reference))
    expected["relu4_Relu"] = expected["relu4_Relu"] * np.float32(1.51)
    np.savez(tmp_path / "ref.npz", **expected)
    arguments = ["--inputs", str(of.inputs), "--reference", str(tmp_path / "ref.npz")]
    assert main(["check", str(of.path), *arguments]) == 1
    said = capsys.readouterr()
    assert said.out.startswith("fail: first at fault is relu4_Relu")
    assert "the reference is not that of this compilation" not in said.err
