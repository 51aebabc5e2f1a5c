"""``tdb-dap reduce``: from a compilation in which something is wrong to the smallest case."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import stat
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.tools.golden.level import Level, names
from tdb_dap.tools.reduce.compiler_words import deploy_options, pass_words
from tdb_dap.tools.reduce.cutting import Part, part
from tests.command_line import tdb_dap
from tests.triage_case import NECK, Compiled


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compiled:
    """The toy where no compiler is."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    return Compiled.into(tmp_path / "toy")


@pytest.fixture
def neck(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The context directory of the neck where no compiler is."""
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    shutil.copytree(NECK, tmp_path / "neck")
    return tmp_path / "neck" / "context"


def compiler(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, *programs: str) -> None:
    """Programs that do what a script of the shell says; ``model_deploy`` is always one of them."""
    for name in ("model_deploy", *programs):
        program = folder / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}{os.pathsep}/usr/bin{os.pathsep}/bin")


def quoted(path: Path) -> str:
    """A path as a word of the shell."""
    return shlex.quote(str(path))


def again(found: Part, folder: Path) -> Level:
    """The level that a part's text is."""
    (folder / "again.mlir").write_text(found.text("weights.npz"), "utf-8")
    write_npz(folder / "weights.npz", found.weights)
    return Level("again", folder / "again.mlir")


def ops_of(level: Level) -> list[MlirOp]:
    return [op for op in level.ops if op.name != "top.Input"]


def chosen_in(level: Level) -> list[Sequence[MlirOp]]:
    """Each op alone and each two in a row."""
    return [*((op,) for op in ops_of(level)), *pairwise(ops_of(level))]


def test_each_op_alone_and_each_pair_computes_what_it_did_in_the_whole(toy: Compiled, tmp_path: Path) -> None:
    level = Level("top", toy.folder / "toy.mlir")
    tensors = read_npz(toy.folder / "toy_top_outputs.npz")
    assert len(ops_of(level)) == 8
    for chosen in chosen_in(level):
        pieces = part(level, chosen, tensors)
        found, missing = again(pieces, tmp_path).run(pieces.given(), is_rounded=True)
        assert not missing
        for name in (name for op in chosen for name in names(op)):
            np.testing.assert_allclose(found[name], tensors[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("folder", ["triage", "neck"])
def test_each_lowered_op_has_the_words_that_it_had_in_the_whole(folder: str, toy: Compiled, tmp_path: Path) -> None:
    """Operands with a scale come in as float32 and are cast, and nothing is lost on the way."""
    at = NECK if folder == "neck" else toy.folder
    [path] = at.glob("*_tpu.mlir")
    [outputs] = at.glob("*_tpu_outputs.npz")
    level, tensors = Level("tpu", path), read_npz(outputs)
    for chosen in chosen_in(level):
        if any(not read for read in (level.operand_names(op) for op in chosen)):
            continue
        pieces = part(level, chosen, tensors)
        found, missing = again(pieces, tmp_path).run(pieces.given(), is_rounded=True)
        assert not missing
        for op in chosen:
            for name in (name for name in names(op) if name in tensors):
                kind = level.type_named(name)
                step = kind.scale if kind is not None and kind.is_quantised else 1e-5
                np.testing.assert_allclose(found[name].reshape(-1), tensors[name].reshape(-1), rtol=1e-5, atol=step / 9)


def test_what_others_read_too_stays_an_output(tmp_path: Path) -> None:
    """The compiler gives the operands of an op one scale if they have no other reader: then the bug is gone."""
    level, tensors = Level("top", NECK / "neck.mlir"), read_npz(NECK / "neck_top.npz")
    shared = level.by_name["max16_Max"]
    returned = re.search(r"return (.*) :", part(level, [shared], tensors, is_sharing=True).text("w.npz"))
    assert returned is not None
    assert returned[1].split(", ")[0] == "%in0"
    assert part(level, [shared], tensors).text("w.npz").count("return %in0") == 0
    with_its_operand = part(level, [level.by_name["mul5_Mul"], shared], tensors)
    [two] = re.findall(r"return (.*) :", with_its_operand.text("w.npz"))
    assert len(two.split(", ")) == 2


def test_a_wrong_lowering_becomes_two_numbers(neck: Path, tmp_path: Path) -> None:
    folder = tmp_path / "case"
    done = tdb_dap("reduce", neck, "-o", folder, "--quiet")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"{folder}: 1 of 12 ops (tpu.Max), cut out of stage tpu"
    assert lines[1].startswith("2 of 566 elements of its inputs")
    assert lines[2].startswith("still fails: bug: max16_Max (tpu.Max at reduced_tpu.mlir:")
    inputs = read_npz(folder / "inputs.npz")
    assert [array.size for array in inputs.values()] == [1, 1]
    expected, actual = (float(read_npz(folder / name)["max16_Max"].item()) for name in ("expected.npz", "actual.npz"))
    assert expected == pytest.approx(max(float(array.item()) for array in inputs.values()), abs=0.02)
    assert abs(actual - expected) > 1
    assert f"| max16_Max[0, 0, 0, 0] | {expected:.6g} | {actual:.6g} |" in (folder / "README.md").read_text("utf-8")
    script = (folder / "reproduce.sh").read_text("utf-8")
    assert "tpuc-opt reduced_tpu.mlir" in script
    assert "neck" not in script
    assert tdb_dap("triage", folder, "--quiet").stdout.splitlines()[-2].startswith("bug: max16_Max (tpu.Max at reduced")


def test_a_wrong_factor_becomes_one_number(toy: Compiled, tmp_path: Path) -> None:
    toy.spoil_scale()
    folder = tmp_path / "case"
    done = tdb_dap("reduce", toy.context, "-o", folder, "--quiet")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == f"{folder}: 1 of 13 ops (tpu.MatMul), cut out of stage tpu"
    assert sum(int(np.count_nonzero(array)) for array in read_npz(folder / "inputs.npz").values()) == 1
    assert Level("tpu", folder / "reduced_tpu.mlir").weights
    assert "gemm15_Gemm" in read_npz(folder / "actual.npz")


def test_numbers_that_only_the_whole_had_are_kept_as_they_were(toy: Compiled, tmp_path: Path) -> None:
    """The text of the stage is right and its numbers are not: computed again, nothing is wrong."""
    toy.change(toy.tpu_outputs, "conv8_Conv", lambda array: (array * 1.2).astype(np.float32))
    folder = tmp_path / "case"
    done = tdb_dap("reduce", toy.context, "-o", folder, "--quiet")
    assert done.returncode == 1, done.stderr
    assert "fails with the numbers that the whole model had, not computed again: bug: conv8_Conv" in done.stdout
    assert "Computed again from these operands the numbers are right" in (folder / "README.md").read_text("utf-8")


def test_a_bmodel_keeps_the_commands_that_the_op_needs(toy: Compiled, tmp_path: Path) -> None:
    toy.spoil_bmodel()
    folder = tmp_path / "case"
    done = tdb_dap("reduce", toy.context, "-o", folder, "--quiet")
    assert done.returncode == 0, done.stderr
    found = re.search(r"tpu\.Conv2D, (\d+) commands; (\d+) of (\d+) with all", done.stdout)
    assert found is not None
    own, kept, all_of_them = map(int, found.groups())
    assert 0 < own < kept < all_of_them
    run = tdb_dap("run", folder / "reduced", "--inputs", folder / "inputs.npz", "--outputs", tmp_path / "out.npz")
    assert run.returncode == 0, run.stderr
    expected, actual = (read_npz(folder / name)["conv8_Conv"] for name in ("expected.npz", "actual.npz"))
    assert np.abs(expected - actual).max() > 1
    assert (folder / "commands" / "commands.json").is_file()
    command = (folder / "reproduce.sh").read_text("utf-8").splitlines()[-1]
    words = [folder / word if (folder / word).exists() else word for word in command.split()[1:]]
    done = tdb_dap(*words, "--quiet")
    assert (done.returncode, "first to differ is conv8_Conv" in done.stdout) == (1, True)


def test_ops_are_added_until_the_compiler_fails_as_it_did(
    toy: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler's part is played by one that compiles three ops wrongly, and fewer not at all."""
    toy.spoil_scale()
    whole = toy.folder
    copy = f"cp {quoted(whole)}/*.npz {quoted(whole)}/*.mlir . && cp -r {quoted(toy.context)} reduced"
    compiler(tmp_path, monkeypatch, f'test "$(grep -c \'= "top.[A-HJ-V]\' reduced.mlir)" -ge 3 && {copy}')
    folder = tmp_path / "case"
    done = tdb_dap("reduce", toy.context, "-o", folder, "--quiet")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"{folder}: 3 of 9 ops (top.AvgPool, top.Reshape, top.MatMul), cut out of stage top"
    assert lines[2].startswith("still fails: bug: gemm15_Gemm (tpu.MatMul at ")
    script = (folder / "reproduce.sh").read_text()
    assert "model_deploy --mlir reduced.mlir --quantize INT8 --processor bm1684x --test_input inputs.npz" in script
    assert list(read_npz(folder / "inputs.npz")) == ["mul10_Mul"]
    assert {"mul10_Mul", "gemm15_Gemm"} < read_npz(folder / "expected.npz").keys()


def test_a_compiler_that_fails_leaves_what_can_be_computed_here(
    toy: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.spoil_scale()
    compiler(tmp_path, monkeypatch, "exit 1", "model_runner.py", "tpuc-opt")
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "case", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "1 of 13 ops (tpu.MatMul), cut out of stage tpu" in done.stdout


def test_what_does_not_fail_alone_gives_exit_code_1(
    toy: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A chip without a command that does nothing, and a compiler that writes nothing."""
    toy.spoil_bmodel()
    compiler(tmp_path, monkeypatch, "exit 1", "model_runner.py", "tpuc-opt")
    monkeypatch.setattr(Chip, "idle", lambda *arguments: None)
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "case", "--quiet")
    assert done.returncode == 1, done.stderr
    assert "could not be reduced: up to 3 ops of any stage do not fail alone like the whole model" in done.stdout
    text = (tmp_path / "case" / "README.md").read_text("utf-8")
    assert "whether they fail alone has not been shown" in text
    assert "`expected.npz`: the right results\n" in text


@pytest.mark.parametrize(
    "step",
    [
        "tpuc-opt a; touch {0}",
        "tpuc-opt --load-pass-plugin=x.so a",
        "tpuc-opt a -o ../{0}",
        "sh -c 'touch {0}'",
        "a 'b",
    ],
)
def test_notes_of_strangers_execute_nothing_else(step: str, toy: Compiled, tmp_path: Path) -> None:
    """The compiler's notes hold its commands; what goes into the script is the compiler with harmless words."""
    toy.spoil_scale()
    notes = toy.context / "ref_files.json"
    content = json.loads(notes.read_text("utf-8"))
    sign = tmp_path / "executed"
    for name in ("tpu_opt", "final", "bmodel"):
        content["commands"][name] = step.format(sign)
    content["commands"]["deploy_cmd"] += f" --quantize_table /etc/passwd ; touch {sign}"
    notes.write_text(json.dumps(content), "utf-8")
    case = tmp_path / "case"
    assert tdb_dap("reduce", toy.context, "-o", case, "--quiet").returncode == 0
    os.system(f"sh {quoted(case / 'reproduce.sh')} > {quoted(tmp_path / 'log')} 2>&1")
    assert not sign.exists()
    programs = {line.split()[0] for line in (case / "reproduce.sh").read_text("utf-8").splitlines()[2:]}
    assert programs <= {"model_runner.py", "tpuc-opt", "cp"}


@pytest.mark.parametrize(
    "words",
    [
        "--quantize_table '$(cd;id>executed)'",
        "--quantize_table '`id`'",
        "--excepts 'a;id>executed'",
        "--quantize 'INT8;id'",
        "--quantize=$(id)",
        "--num_core '1 ; id'",
        "--tolerance_of '0.9'",
        "--debug_cmd '-load-pass-plugin=x.so'",
        "-load-pass-plugin=x.so",
        "--cuda --ip 10.0.0.1",
        "--merge_weight=yes",
        "sh",
    ],
)
def test_words_of_notes_that_a_shell_inside_the_compiler_would_run_are_refused(words: str) -> None:
    with pytest.raises(BadInput, match="is no option that may be handed on; it is not executed"):
        list(deploy_options(shlex.split(words)))


def test_usual_words_of_notes_are_handed_on() -> None:
    usual = "--quantize INT8 --processor bm1684x --num_core 2 --asymmetric --opt=2 --excepts conv1_Conv,fc.2"
    assert dict(deploy_options(shlex.split(f"{usual} --q_group_size 64"))) == {
        "--quantize": "INT8",
        "--processor": "bm1684x",
        "--num_core": "2",
        "--asymmetric": "",
        "--opt": "2",
        "--excepts": "conv1_Conv,fc.2",
        "--q_group_size": "64",
    }
    for words in ("--mlir whole.mlir --tolerance -1,-9 --debug", "--mlir=whole.mlir --tolerance=-1,-9 --debug"):
        own = deploy_options(shlex.split(words), {"--mlir": "reduced.mlir", "--tolerance": "0.0,-9.0"})
        assert list(own) == [("--mlir", "reduced.mlir"), ("--tolerance", "0.0,-9.0"), ("--debug", "")]


@pytest.mark.parametrize(
    "word",
    [
        "-load-pass-plugin=x.so",
        "--load-dialect-plugin=x.so",
        "--pass-pipeline=x",
        "x.sh",
        "../x.mlir",
        "$(id).mlir",
        "--codegen=a=$(id)",
    ],
)
def test_passes_that_are_not_known_are_refused(word: str) -> None:
    assert pass_words(["a.mlir", "--layer-group=opt=2 group_by_cores=auto", "-o", "b.mlir"])
    with pytest.raises(BadInput, match="is no pass that may be handed on; it is not executed"):
        pass_words(["a.mlir", word, "-o", "b.mlir"])


def test_a_command_hidden_in_notes_is_refused_before_the_compiler_starts(
    toy: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a shell, which the compiler has inside, would run it: in no script, and not by this command."""
    toy.spoil_scale()
    notes = toy.context / "ref_files.json"
    content = json.loads(notes.read_text("utf-8"))
    content["commands"]["deploy_cmd"] += f" --quantize_table '$(cd {tmp_path};touch executed)'"
    notes.write_text(json.dumps(content), "utf-8")
    compiler(tmp_path, monkeypatch, 'eval "echo $*"')
    tdb_dap("reduce", toy.context, "-o", tmp_path / "case", "--quiet")
    assert not (tmp_path / "executed").exists()
    assert "touch" not in (tmp_path / "case" / "reproduce.sh").read_text("utf-8")


def test_a_table_of_the_whole_goes_along(toy: Compiled, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line names a file that is beside the model."""
    toy.spoil_scale()
    (toy.folder / "mixed.txt").write_text("conv8_Conv F16\n")
    notes = toy.context / "ref_files.json"
    content = json.loads(notes.read_text("utf-8"))
    content["commands"]["deploy_cmd"] += " --quantize_table mixed.txt"
    notes.write_text(json.dumps(content), "utf-8")
    copy = f"cp {quoted(toy.folder)}/*.npz {quoted(toy.folder)}/*.mlir . && cp -r {quoted(toy.context)} reduced"
    compiler(tmp_path, monkeypatch, f"test -f mixed.txt && {copy}")
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "case", "--quiet")
    assert "1 of 9 ops (top.MatMul), cut out of stage top" in done.stdout
    assert "--quantize_table mixed.txt" in (tmp_path / "case" / "reproduce.sh").read_text("utf-8")


def test_an_operand_that_is_not_known_leaves_smaller_cuts(toy: Compiled, tmp_path: Path) -> None:
    """As where the compiler has merged several ops into one: those with fewer ops are tried all the same."""
    toy.spoil_scale()
    arrays = read_npz(toy.tpu_outputs)
    write_npz(toy.tpu_outputs, {k: v for k, v in arrays.items() if k != "globalaveragepool11_GlobalAveragePool"})
    toy.break_off()
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "case", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "1 of 13 ops (tpu.MatMul), cut out of stage tpu" in done.stdout


def test_what_cannot_be_reduced_is_named(toy: Compiled, tmp_path: Path) -> None:
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "case")
    assert (done.returncode, "nothing to reduce: quantisation: no op is wrong" in done.stderr) == (2, True)
    toy.spoil_scale()
    (tmp_path / "case").mkdir()
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "case")
    assert (done.returncode, "is there already; give a new directory" in done.stderr) == (2, True)
    (tmp_path / "file").write_text("")
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "file" / "case")
    assert (done.returncode, "cannot be made: " in done.stderr) == (2, True)


def test_the_text_of_the_imported_model_is_enough(toy: Compiled, tmp_path: Path) -> None:
    """Neither its tensors nor the compiler's command lines."""
    toy.spoil_scale()
    (toy.folder / "toy_top_outputs.npz").unlink()
    (toy.folder / "toy_ref_outputs.npz").unlink()
    notes = toy.context / "ref_files.json"
    notes.write_text(json.dumps({**json.loads(notes.read_text("utf-8")), "commands": {}}), "utf-8")
    done = tdb_dap("reduce", toy.context, "-o", tmp_path / "case", "--quiet")
    assert done.returncode == 0, done.stderr
    assert "1 of 13 ops (tpu.MatMul), cut out of stage tpu" in done.stdout


@pytest.mark.vendor
@pytest.mark.skipif(shutil.which("model_deploy") is None, reason="model_deploy is not on the PATH")
def test_the_compiler_fails_with_one_op_as_with_all(tmp_path: Path) -> None:
    """Compiled as a whole, then cut out of the imported model and compiled again: one op, two numbers."""
    folder = tmp_path / "neck"
    shutil.copytree(NECK, folder)
    for path in folder.glob("*_tpu*"):
        path.unlink()
    context = folder / "neck_bm1684x_int8"
    (folder / "context").rename(context)
    command = json.loads((context / "ref_files.json").read_text("utf-8"))["commands"]["deploy_cmd"]
    assert os.system(f"cd {quoted(folder)} && {command} > deploy.log 2>&1") == 0
    case = tmp_path / "case"
    done = tdb_dap("reduce", context, "-o", case, "--quiet")
    assert done.returncode == 0, done.stderr
    assert "1 of 10 ops (top.Max), cut out of stage top\n2 of 576 elements" in done.stdout
    assert (case / "reduced.bmodel").is_file()
    assert "top.Max" in (case / "reduced.mlir").read_text("utf-8")
