"""Files that are used although nobody named them are named, once, by every verb; ``--quiet`` is taken by every verb."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import asdict

from tdb_dap.cli.main import COMMANDS
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tests.command_line import tdb_dap
from tests.dap_client import DapClient
from tests.samples import SAMPLE

RUN = {
    "run": "run {model}",
    "check": "check {model}",
    "check --blame": "check {model} --blame --mode cascade --jobs 2",
    "check --verdicts tdb": "check {model} --verdicts tdb",
    "check --profile tdb": "check {model} --profile tdb",
    "sanitize": "sanitize {model}",
    "export": "export {model} --op 23 -o {out}/exported",
    "debug": "debug {model} -c c",
    "diff": "diff {model} {model}",
    "profile --inputs": "profile {model} --inputs {model}/input_ref_data.dat",
}
"""Command lines that run a model. Those that do not run it use no data."""

_USING = re.compile(r"^(?:tdb-dap: using|Using) (.*), next to the model\.?$", re.M)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample as the compiler leaves it: inputs and a reference beside it, one tensor of it another one."""
    folder = tmp_path_factory.mktemp("compiled") / "model"
    shutil.copytree(SAMPLE, folder)
    arrays = read_npz(folder / "ref.npz")
    (folder / "ref.npz").unlink()
    write_npz(folder / "toy_tpu_outputs.npz", {**arrays, "conv8_Conv": 1 - 2 * arrays["conv8_Conv"]})
    inputs = read_npz(folder / "input.npz")
    (folder / "input.npz").unlink()
    (folder / "input_ref_data.dat").write_bytes(b"".join(np.ascontiguousarray(a).tobytes() for a in inputs.values()))
    return folder


@pytest.mark.parametrize("line", RUN)
def test_a_verb_names_the_files_it_found_itself_once_and_not_if_quiet(line: str, model: Path, tmp_path: Path) -> None:
    words = [word.format(model=model, out=tmp_path) for word in RUN[line].split()]
    done = tdb_dap(*words)
    found = _USING.findall(done.stderr + done.stdout)
    inputs, reference = f"inputs {model / 'input_ref_data.dat'}", f"reference {model / 'toy_tpu_outputs.npz'}"
    wanted = {"diff": [inputs, reference], "profile --inputs": [reference]}.get(line, [f"{inputs} and {reference}"])
    assert found == wanted, done.stderr
    for word in words:
        if Path(word).is_dir() and tmp_path in Path(word).parents:
            shutil.rmtree(word)
    quiet = tdb_dap(*words, "--quiet")
    assert quiet.returncode == done.returncode
    assert not _USING.search(quiet.stderr + quiet.stdout)


def test_what_is_named_is_not_said_to_be_found(model: Path) -> None:
    data = ["--inputs", model / "input_ref_data.dat", "--reference", model / "toy_tpu_outputs.npz"]
    for verb in ("run", "check", "sanitize"):
        assert "next to the model" not in tdb_dap(verb, model, *data).stderr


def test_every_file_of_data_that_a_context_finds_is_one_that_is_named(model: Path) -> None:
    found = Context.find(model)
    data = {path for path in asdict(found).values() if path not in (found.directory, found.bmodel, None)}
    assert data - {found.mlir, found.locations} == {found.inputs, found.reference}
    assert None not in (found.inputs, found.reference)


def test_cycle_counts_of_other_cores_are_named(tmp_path: Path) -> None:
    from tdb_dap.system.notices import Once, heard_by
    from tdb_dap.tools.profile.compiler_table import _files

    entry = "Conv2D_39|CONV|s:19764|b:18|g:10|e:41715|t:21952\n"
    for core in range(3):
        (tmp_path / f"compiler_profile_{core}.txt").write_text(entry)
    said: list[str] = []
    with heard_by(Once(said.append)):
        for _ in range(2):
            assert [core for core, _ in _files(tmp_path, entry)] == [1, 2]
    assert said == [f"using cycle counts {tmp_path / 'compiler_profile_*.txt'}, next to the model"]


def test_a_session_says_it_in_the_console_once(client: DapClient, model: Path) -> None:
    client.launch(model)
    client.expect_stopped("entry")
    client.console("reload")
    client.expect_stopped("entry")
    said = [line for line in client.printed().splitlines() if "next to the model" in line]
    expected = f"Using inputs {model / 'input_ref_data.dat'} and reference {model / 'toy_tpu_outputs.npz'}"
    assert said == [f"{expected}, next to the model."]


def test_a_reference_that_was_found_is_compared_with_only_if_asked(model: Path) -> None:
    done = tdb_dap("sanitize", model)
    assert (done.returncode, "mismatch" in done.stdout) == (0, False), done.stdout
    for asked in (["--sanitizers", "all", "mismatch"], ["--reference", model / "toy_tpu_outputs.npz"]):
        done = tdb_dap("sanitize", model, *asked)
        assert done.returncode == 1
        assert "error: conv8_Conv (tpu.Conv2D at line 24): fail" in done.stdout
    assert tdb_dap("sanitize", model, "--sanitizers", "mismatch: conv8*").returncode == 0


def test_mismatch_without_anything_to_compare_with_is_refused(bare: Path) -> None:
    done = tdb_dap("sanitize", bare, "--sanitizers", "mismatch")
    assert done.returncode == 2
    assert "nothing to compare with; give --reference R.npz" in done.stderr


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_takes_quiet(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    from tdb_dap.cli.main import main

    assert main([verb, "--help"]) == 0
    assert "--quiet" in capsys.readouterr().out


WITHOUT_SOURCES = {
    "info": "info {model}",
    "check": "check {model} --inputs {sample}/input.npz --reference {sample}/ref.npz",
    "check --verdicts tdb": "check {model} --inputs {sample}/input.npz --reference {sample}/ref.npz --verdicts tdb",
    "sanitize": "sanitize {model} --sanitizers hazard",
    "debug": "debug {model} -c info",
}
"""Command lines that say so of a model that was compiled without --debug."""

_LACKING = re.compile(
    r"^(?:tdb-dap: no|No) (.*) with (.*): add --debug to model_deploy and open the directory .*$", re.M
)


def compiled(folder: Path, *files: str) -> Path:
    """The sample with these of its files only."""
    folder.mkdir()
    for file in ("compilation.bmodel.xz", *files):
        shutil.copy(SAMPLE / file, folder)
    return folder


@pytest.mark.parametrize("line", WITHOUT_SOURCES)
def test_a_model_compiled_without_debug_is_told_what_to_add_once(line: str, tmp_path: Path) -> None:
    mlir, locations = "final.mlir", "tensor_location.json.xz"
    both = "breakpoints in final.mlir, steps by op, comparing every op"
    cases = {
        "bare": ((), "final.mlir and no tensor_location.json", both),
        "source": ((mlir,), "tensor_location.json", both),
        "locations": ((locations,), "final.mlir", "lines of final.mlir"),
    }
    for name, (files, lacking, gains) in cases.items():
        model = compiled(tmp_path / name, *files)
        words = WITHOUT_SOURCES[line].format(model=model, sample=SAMPLE).split()
        done = tdb_dap(*words)
        assert done.returncode == 0, done.stderr
        text = done.stderr + done.stdout
        assert _LACKING.findall(text) == [(lacking, "compilation.bmodel.xz")], text
        assert f"; then these work: {gains}" in text
        assert not _LACKING.search("".join(vars(tdb_dap(*words, "--quiet"))[key] for key in ("stdout", "stderr")))
    sound = compiled(tmp_path / "sound", mlir, locations)
    done = tdb_dap(*WITHOUT_SOURCES[line].format(model=sound, sample=SAMPLE).split())
    assert not _LACKING.search(done.stdout + done.stderr)


def test_where_no_op_is_known_none_is_listed(tmp_path: Path) -> None:
    done = tdb_dap("debug", compiled(tmp_path / "bare"), "-c", "b tpu.Pool2D")
    assert "tpu.Pool2D: no such op in this program; it has no ops with commands\n" in done.stdout + done.stderr


LINKS = re.compile(r"^(?:tdb-dap: f|F)ollowing links out of (.*)$", re.M)


@pytest.mark.parametrize("line", ["run {model}", "info {model}", "debug {model} -c c"])
def test_links_that_lead_out_of_a_model_are_named_once(line: str, model: Path, tmp_path: Path) -> None:
    """Their content is shown as the model's, so the user has to know whose it is."""
    copy, elsewhere = tmp_path / "copy", tmp_path / "elsewhere"
    shutil.copytree(model, copy)
    elsewhere.mkdir()
    shutil.move(copy / "input_ref_data.dat", elsewhere / "private")
    (copy / "input_ref_data.dat").symlink_to("../elsewhere/private")
    (copy / "final.mlir").rename(copy / "other.mlir")
    (copy / "final.mlir").symlink_to("other.mlir")
    done = tdb_dap(*line.format(model=copy).split())
    assert [match.rstrip(".") for match in LINKS.findall(done.stdout + done.stderr)] == [
        f"{copy}: input_ref_data.dat -> {elsewhere.resolve() / 'private'}"
    ]
    assert LINKS.search(tdb_dap(*line.format(model=model).split()).stderr) is None


def test_a_link_that_was_named_needs_no_notice(model: Path, tmp_path: Path) -> None:
    named = tmp_path / "named.bmodel.xz"
    named.symlink_to(next(model.glob("*.bmodel.xz")))
    assert "following" not in tdb_dap("info", named).stderr
    around = tmp_path / "around"
    around.symlink_to(model, target_is_directory=True)
    assert "following" not in tdb_dap("info", around).stderr


def test_an_editor_names_links_too(model: Path, tmp_path: Path, client: DapClient) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    mlir = copy / "final.mlir"
    mlir.rename(tmp_path / "mine")
    mlir.symlink_to(tmp_path / "mine")
    client.launch(copy)
    client.expect_stopped("entry")
    said = "".join(str(body["output"]) for body in client.raw.events("output"))
    assert LINKS.findall(said) == [f"{copy}: final.mlir -> {(tmp_path / 'mine').resolve()}."]
