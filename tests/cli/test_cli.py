"""The command line, as it is typed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.cli.main import COMMANDS
from tests.command_line import new_process, tdb_dap
from tests.conftest import Toy
from tests.samples import DATA, SAMPLE, case


def test_help_lists_what_exists() -> None:
    """One screen, in groups."""
    text = new_process("--help").stdout
    for command in ("adapter", "info", "dis", "run", "check", "diff", "profile", "graph", "export", "explain", "patch"):
        assert f"\n  {command} " in text
    for command in ("sanitize", "debug", "lsp", "backends", "targets", "demo", *COMMANDS):
        assert f"\n  {command} " in text
    for group in ("debug", "check", "inspect", "write", "run elsewhere", "set up"):
        assert f"\n{group}:\n" in text
    lines = text.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert tdb_dap("-h").stdout == text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "the following arguments are required: COMMAND"),
        (("nonsense",), "argument COMMAND: invalid choice: 'nonsense'"),
        (("chek",), "argument COMMAND: invalid choice: 'chek'; did you mean check?"),
        (("--quiet", "info"), "unrecognized arguments: --quiet; give COMMAND first"),
        (("--nonsense",), "the following arguments are required: COMMAND"),
    ],
)
def test_without_a_known_command_the_error_names_the_help(words: tuple[str, ...], message: str) -> None:
    done = tdb_dap(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"tdb-dap: error: {message}; see tdb-dap --help\n"


@pytest.mark.parametrize("after", [(), ("--quiet",)])
def test_a_model_may_follow_an_option_with_several_values(after: tuple[str, ...], toy: Toy) -> None:
    reference = ("--reference", str(toy.reference))
    done = tdb_dap("check", *reference, str(toy.directory), *after)
    assert done.returncode == 0, done.stderr
    assert done.stdout == tdb_dap("check", str(toy.directory), *reference, *after).stdout


def test_a_model_that_is_missing_is_not_one_of_several_values() -> None:
    done = tdb_dap("check", "--reference", "R.npz", "--quiet")
    assert (done.returncode, done.stderr.splitlines()) == (
        2,
        ["tdb-dap: error: the following arguments are required: CONTEXT; see tdb-dap check --help"],
    )


def test_an_option_with_an_error_in_its_name_is_understood() -> None:
    done = tdb_dap("check", "--refrence", "ref.npz", "model")
    assert done.stderr.startswith("tdb-dap: error: unrecognized arguments: --refrence ")
    assert done.stderr.endswith("; did you mean --reference?; see tdb-dap check --help\n")


def test_a_language_server_without_what_it_needs_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    monkeypatch.delitem(sys.modules, "tdb_dap.language.server", raising=False)
    done = tdb_dap("lsp")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tdb-dap: error: the language server needs pygls (")
    assert done.stderr.endswith(" -m pip install --force-reinstall 'pygls>=2'\n")


def test_info_describes_a_model(toy: Toy) -> None:
    text = tdb_dap("info", toy.directory).stdout
    assert "chip       BM1684X, 1 core" in text
    assert "input      x f32[1,3,32,32] at %G40960" in text
    assert "subnet 0   TPU_STATIC: 58 commands (12 DMA, 46 TIU)" in text


def test_dis_prints_the_listing(toy: Toy, tmp_path: Path) -> None:
    text = tdb_dap("dis", toy.directory).stdout
    assert "conv.normal" in text
    file = tmp_path / "listing.txt"
    assert tdb_dap("dis", toy.directory, "-o", file).stdout == ""
    assert file.read_text() == text


def test_dis_of_one_core(tmp_path: Path) -> None:
    model = case("toy_bm1688_f16c2").path
    names = [line.split()[0] for line in tdb_dap("dis", "--core", 1, model).stdout.splitlines()[2:]]
    assert names == [f"c1.{name}:" for name in ["B1", "D1", "B2", "D2", "D3", "B3", "D4", "B4", "D5", "B5", "D6"]]
    rows = tdb_dap("dis", "--core", 1, "--format", "json", model).stdout.splitlines()
    assert {json.loads(row)["core"] for row in rows} == {1}
    assert len(rows) == len(names)
    refused = tdb_dap("dis", "--core", 2, model)
    assert (refused.returncode, "this model runs on 2 cores" in refused.stderr) == (2, True)


def test_dis_in_the_vendor_s_words(toy: Toy) -> None:
    recorded = [entry["asm"] for entry in case("toy_bm1684x_f32").trace]
    lines = [line.strip() for line in tdb_dap("dis", "--format", "tdb", toy.directory).stdout.splitlines()]
    assert lines[0] == 'module attributes {chip = "BM1684X", version = 2.2+v1.30.2-20260831, addr_mode = 0} {'
    assert lines[3 : 3 + len(recorded)] == recorded
    assert lines[-2] == '}) {function_type = {arg_attrs = ["x"], res_attrs = ["softmax16_Softmax"]}}'


def test_dis_as_json_has_operands_and_fields(toy: Toy) -> None:
    rows = [json.loads(line) for line in tdb_dap("dis", "--format", "json", toy.directory).stdout.splitlines()]
    pool = next(row for row in rows if row["name"] == "pord.maxpooling")
    assert pool["lines"] == [23]
    assert pool["operands"][0]["role"] == "input"
    assert pool["fields"]["res0_c"] == 16


def test_run_writes_the_outputs(toy: Toy, bare: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    done = new_process("run", bare, "--inputs", toy.inputs, "--outputs", out)
    assert done.stdout == "softmax16_Softmax f32[1,10] min 0.032428 max 0.16387 mean 0.1\n"
    assert done.stderr == ""
    with np.load(out) as archive, np.load(toy.reference) as reference:
        assert archive.files == ["softmax16_Softmax"]
        assert np.allclose(archive["softmax16_Softmax"], reference["softmax16_Softmax"], atol=1e-5)


def test_a_fast_run_says_everywhere_that_it_is_not_exact(toy: Toy, tmp_path: Path) -> None:
    exact, fast = tmp_path / "exact.npz", tmp_path / "fast.npz"
    tdb_dap("run", toy.directory, "--inputs", toy.inputs, "--outputs", exact)
    done = tdb_dap("run", toy.directory, "--inputs", toy.inputs, "--outputs", fast, "--fast")
    assert done.returncode == 0, done.stderr
    assert [line.endswith("not exact (--fast)") for line in done.stdout.splitlines()] == [True]
    with np.load(exact) as right, np.load(fast) as close:
        assert str(close["__note__"]) == "not exact (--fast)"
        assert set(close.files) == {*right.files, "__note__"}
        for name in right.files:
            np.testing.assert_allclose(close[name], right[name], rtol=1e-4)
            assert (close[name] != right[name]).any(), "BLAS adds in another order than the chip"


def test_run_without_inputs_says_that_it_uses_zeros(bare: Path) -> None:
    assert "all inputs are zero" in tdb_dap("run", bare).stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["info", "nowhere"], "nowhere: no such file or directory"),
        (["dis", "{toy}/input.npz"], "input.npz: not a bmodel"),
        (["run", "{toy}", "--inputs", "absent.npz"], "absent.npz"),
        (["run", "{toy}", "--backend", "quantum"], "quantum"),
        (["run", "{toy}", "--outputs", "/nonexistent/out.npz", "--inputs", "{toy}/input.npz"], "/nonexistent/out.npz"),
        (["run", "{dynamic}"], "dynamic"),
        (["info"], "CONTEXT"),
        (["frobnicate"], "frobnicate"),
        ([], "COMMAND"),
    ],
)
def test_trouble_is_one_line_and_exit_code_2(words: list[str], message: str, toy: Toy) -> None:
    places = {"toy": toy.directory, "dynamic": case("toy_bm1684x_f32dyn").path}
    done = tdb_dap(*(word.format(**places) for word in words))
    assert done.returncode == 2
    errors = [line for line in done.stderr.splitlines() if line.startswith("tdb-dap: error: ")]
    assert len(errors) == 1
    assert message in errors[0]
    assert "Traceback" not in done.stderr


SEVERAL = DATA / "contexts" / "nets_and_stages"


def test_an_error_in_a_deep_directory_keeps_its_words(tmp_path: Path) -> None:
    deep = tmp_path.joinpath(*["a" * 60] * 5)
    deep.mkdir(parents=True)
    (deep / "cut.bmodel").write_bytes(b"BMODEL")
    done = tdb_dap("info", deep / "cut.bmodel")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"tdb-dap: error: {deep}/cut.bmodel: ")
    assert len(done.stderr) < 300 + len(str(deep))


def test_an_error_about_a_long_name_is_cut_in_the_middle() -> None:
    done = tdb_dap("info", "/" + "/".join(["a" * 60] * 9) + ".bmodel")
    assert len(done.stderr) <= 301
    assert done.stderr.startswith("tdb-dap: error: /aaa")
    assert " ... aaa" in done.stderr


def test_info_lists_nets_and_stages_and_marks_the_one_that_is_shown() -> None:
    text = tdb_dap("info", SEVERAL, "--net", "pool2d", "--stage", 1).stdout
    assert "stage      pool2d 0: x f32[1,10,13,14]\n" in text
    assert "stage      pool2d 1: x f32[1,18,12,14]   <- shown" in text
    assert "stage      act_relu 0: x f32[1,10,6,7]\n" in text


def test_a_stage_that_is_not_there_is_one_line_and_exit_2() -> None:
    done = tdb_dap("dis", SEVERAL, "--stage", 5)
    assert done.returncode == 2
    assert "the net pool2d has no stage 5; it has 0 (x f32[1,10,13,14]), 1" in done.stderr
    assert done.stderr.count("\n") == 1


def test_outputs_are_dequantised_or_as_stored(tmp_path: Path) -> None:
    case = DATA / "bm1684x" / "toy_bm1684x_int8qio"
    for options, kind in (((), "f"), (("--raw",), "u")):
        file = tmp_path / f"out{kind}.npz"
        assert tdb_dap("run", case, "--inputs", case / "input.npz", "--outputs", file, *options).returncode == 0
        with np.load(file) as outputs:
            assert all(outputs[name].dtype.kind == kind for name in outputs.files)


def test_every_form_of_a_chip_says_what_its_views_rest_on() -> None:
    rows = tdb_dap("targets", "--forms", "bm1690").stdout.splitlines()
    assert any("conv.normal" in row and row.split()[5:7] == ["models", "models"] for row in rows)
    assert any("pord.minpooling" in row and row.endswith("emulator") for row in rows)
    assert any("lar.mul" in row and " fields " in row and row.endswith("no") for row in rows)
    total, _, _, _, _, without, *_ = rows[-1].removeprefix("Of ").replace(",", "").split()
    assert 0 < int(without) < int(total) / 50, "plans for all but two of a hundred commands"
    assert "there is no chip 'BM1'; known: BM1684, BM1684X" in tdb_dap("targets", "--forms", "BM1").stderr


@pytest.mark.parametrize("option", ["--outputs", "--hashes"])
def test_a_name_that_is_too_long_is_one_line_before_anything_runs(option: str) -> None:
    ran = tdb_dap("run", SAMPLE, option, f"{'x' * 5000}.npz")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith("tdb-dap: error: xxx")
    assert ran.stderr.endswith("x.npz: cannot be written: File name too long\n")


THREADS = """
import os, sys
from tdb_dap.cli.main import main
code = main(sys.argv[1:])
print("threads", len(os.listdir("/proc/self/task")), os.environ.get("OPENBLAS_NUM_THREADS"))
raise SystemExit(code)
"""


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_numpy_starts_no_threads_that_nothing_uses() -> None:
    def last(*words: str, **environment: str) -> str:
        given = {**os.environ, "TDB_DAP_KERNEL": "0", **environment}
        done = subprocess.run([sys.executable, "-c", THREADS, *words], env=given, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1]

    given = {name: value for name, value in os.environ.items() if name == "OPENBLAS_NUM_THREADS"}
    assert last("info", str(SAMPLE)) == f"threads 1 {given.get('OPENBLAS_NUM_THREADS')}"
    assert last("info", str(SAMPLE), OPENBLAS_NUM_THREADS="2") == f"threads {min(2, os.cpu_count() or 1)} 2"


JOINED = DATA / "contexts" / "joined_bm1684_f32"
"""A network that only views its inputs: it has no commands."""


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("info",), "static (no commands);"),
        (("dis",), "joined: BM1684, 0 commands"),
        (("run",), "both_Concat f32[5] [1.0, 2.0, 3.0, 4.0, 5.0]"),
        (("check",), "pass: 1 tensor compared, 0 differ"),
        (("sanitize",), "no findings in 0 commands"),
        (("profile",), "0 cycles"),
        (("diff", str(JOINED)), "net joined, no commands"),
        (("graph",), "both_Concat"),
    ],
)
def test_each_verb_takes_a_network_without_commands(words: tuple[str, ...], text: str) -> None:
    verb, *others = words
    done = tdb_dap(verb, *others, str(JOINED), "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert text in done.stdout


@pytest.mark.parametrize(
    ("question", "text"),
    [
        (("--history", "both_Concat"), "both_Concat: 1 version of 5 elements"),
        (("--when", "max(both_Concat) > 1"), "first: moment 0; true until the end"),
        (("--where", "max(x) > 1"), "0 of 0 tensors"),
        (("both_Concat",), "0 hits at 0 places"),
    ],
)
def test_questions_about_a_network_without_commands(question: tuple[str, ...], text: str) -> None:
    done = tdb_dap("trace", str(JOINED), *question, "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert text in done.stdout
