"""A recorded run where a model is expected: every subcommand that takes one, and what it says where it cannot."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.command_line import tdb_dap
from tests.samples import DATA, SAMPLE

PIPELINE = DATA / "recordings" / "pipeline_bm1684x.tdbrec"
TOY = DATA / "recordings" / "toy_bm1684x.tdbrec"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("run {file} --quiet", "z_Softmax f32[5,10] min 0.0043458 max 0.35539"),
        ("info {file}", "launch 3 of dec (4×12), dec.subfunc_0: 52 commands"),
        ("info {file}", "nets       dec: dynamic (commands are made at run time)"),
        ("dis {file}", "launch 9 of dec (5×12), dec.subfunc_0:"),
        ("dis {file} --format json", '"name": "host.copy_in"'),
        ("profile {file} --quiet", "tpu.MatMul   a_MatMul"),
        ("explain {file} 40", '"tpu.MatMul"(%arg0'),
        ("graph {file}", 'digraph "pipeline_bm1684x, BM1684X"'),
        ("diff {file} {file} --quiet", "6 layers in both, 0 only in A, 0 only in B"),
    ],
)
def test_a_recording_goes_where_a_model_goes(tmp_path: Path, words: str, expected: str) -> None:
    done = tdb_dap(*words.format(file=PIPELINE, out=tmp_path).split())
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    assert "inputs are zero" not in done.stderr
    assert "--debug" not in done.stderr


def test_a_check_compares_every_op_of_a_dynamic_net(tmp_path: Path) -> None:
    reference = SAMPLE / "ref.npz"
    report = tmp_path / "report.json"
    done = tdb_dap("check", TOY, "--reference", reference, "--quiet", "--report", report)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(report.read_text())["rows"]
    assert {row["name"] for row in rows if row["verdict"] == "pass"} >= {"relu4_Relu", "mul10_Mul", "gemm15_Gemm"}


def test_a_sanitizer_looks_at_a_recording() -> None:
    done = tdb_dap("sanitize", TOY)
    assert done.returncode == 0, done.stdout
    assert done.stdout == "no findings in 64 commands (bounds, uninitialized, decode, legal, unused, nan)\n"
    assert "hazard: a recording does not contain which command waits for which" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("dis {file} --format tdb", "a recording has no text of the vendor's; leave --format tdb out"),
        ("patch {file} --until 3 -o {out}/new.bmodel", "is a recording; this needs the compiled model that was run"),
        ("run {file} --inputs {out}/x.npz", "a recording holds its inputs; leave"),
        ("run {file} --backend cmodel", "a recording is replayed by the built-in simulator; leave the backend cmodel"),
        ("run {file} --recording {file}", "a recording holds its inputs; leave"),
        ("run {out}/nowhere.tdbrec", "nowhere.tdbrec: cannot be read"),
    ],
)
def test_what_a_recording_cannot_be_is_said_in_one_line(tmp_path: Path, words: str, said: str) -> None:
    done = tdb_dap(*words.format(file=TOY, out=tmp_path).split())
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


def test_an_interrupted_recording_is_read_as_far_as_it_goes_and_says_so(tmp_path: Path) -> None:
    whole = PIPELINE.read_bytes()
    file = tmp_path / "interrupted.tdbrec"
    file.write_bytes(whole[:-100])
    done = tdb_dap("run", file)
    assert done.returncode == 0, done.stderr
    assert "z_Softmax f32[5,10]" in done.stdout
    assert "tdb-dap: interrupted.tdbrec: it was interrupted: its last part" in done.stderr


def test_a_run_of_the_model_stands_in_for_its_dynamic_subnets() -> None:
    context = DATA / "contexts" / "dynamic_subnet"
    file = DATA / "recordings" / "mixed_bm1684.tdbrec"
    done = tdb_dap("run", context, "--recording", file, "--quiet")
    assert done.returncode == 0, done.stderr
    assert "gather4_Gather f32[4,3]" in done.stdout
    listed = tdb_dap("debug", context, "--recording", file, typed="b subnet:1\nc\nbt\nq\n")
    assert "subfunc_1" in listed.stdout
