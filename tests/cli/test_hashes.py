"""``tdb-dap run --hashes`` and ``tdb-dap diff`` of two such files, as they are typed."""

from __future__ import annotations

from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.generated import ROOT
from tdb_dap.errors import BadInput
from tdb_dap.tools.hashes.comparing import compare
from tdb_dap.tools.hashes.log import HEAD, Command, Log, Tensor, read
from tests.cli.test_diff import TOY, with_changed_weight
from tests.command_line import tdb_dap
from tests.samples import case


def hashes(context: Path, file: Path, *options: object) -> Path:
    """The log of a run on the toy's inputs."""
    done = tdb_dap("run", context, "--inputs", case(TOY).inputs, "--hashes", file, *options)
    assert done.returncode == 0, done.stderr
    return file


def diff(a: Path, b: Path, *options: object) -> CompletedProcess[str]:
    return tdb_dap("diff", a, b, *options)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hashes(case(TOY).path, tmp_path_factory.mktemp("a") / "a.hashes")


def test_two_runs_are_the_same_line_by_line(ours: Path, tmp_path: Path) -> None:
    again = hashes(case(TOY).path, tmp_path / "b.hashes")
    assert again.read_bytes() == ours.read_bytes()
    done = diff(ours, again)
    assert (done.returncode, done.stdout) == (0, "13 tensors compared, all alike\n")
    log = read(ours)
    assert len(log.commands) == 58
    assert all(command.line for command in log.commands)
    assert len(ours.read_text()) < 3000, "it can be pasted"


def test_a_changed_weight_is_the_first_difference(ours: Path, tmp_path: Path) -> None:
    changed = hashes(with_changed_weight(case(TOY), "conv8_Conv", tmp_path), tmp_path / "b.hashes")
    done = diff(ours, changed)
    assert done.returncode == 1, done.stderr
    model, command, tensor, last = done.stdout.splitlines()
    assert model.startswith("other model: compilation.bmodel ")
    assert command == "first command: command 7 of 58 (D5 dma.tensor, line 21 of final.mlir)"
    assert tensor.startswith("first tensor: load_w6 (tpu.Load, line 21): ")
    assert last == "13 tensors compared, 7 differ"
    assert f"```\n{done.stdout}```\n" in (ROOT / "docs" / "check.md").read_text("utf-8"), "the page shows this"


def test_other_inputs_are_named_first(ours: Path, tmp_path: Path) -> None:
    zero, inputs = tmp_path / "zero.hashes", tmp_path / "zero.npz"
    with np.load(case(TOY).inputs) as given:
        np.savez(inputs, **{name: np.zeros_like(given[name]) for name in given.files})
    assert tdb_dap("run", case(TOY).path, "--inputs", inputs, "--hashes", zero).returncode == 0
    lines = diff(ours, zero).stdout.splitlines()
    assert lines[0].startswith("other inputs: ")
    assert lines[2].startswith("first tensor: load_0 (tpu.Load, line 19)")


def test_models_with_other_commands_are_compared_by_name(ours: Path, tmp_path: Path) -> None:
    other = hashes(case("toy_bm1684x_f32nolg").path, tmp_path / "b.hashes")
    done = diff(ours, other)
    assert done.returncode == 1
    assert any(line.startswith("other commands: 58 in A, ") for line in done.stdout.splitlines())
    assert "first tensor" not in done.stdout, "layer groups change no result"
    assert done.stdout.splitlines()[-1].endswith(" tensors compared, all alike")


def test_a_fast_run_says_that_it_is_not_exact(ours: Path, tmp_path: Path) -> None:
    fast = hashes(case(TOY).path, tmp_path / "b.hashes", "--fast")
    assert "other exact arithmetic: yes in A, no in B" in diff(ours, fast).stdout


def test_what_cannot_be_compared_is_said_in_one_line(ours: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.hashes"
    cut.write_text("\n".join(ours.read_text().splitlines()[:-4]))
    later = tmp_path / "later.hashes"
    later.write_text(ours.read_text().replace("tdb-dap hashes 1", "tdb-dap hashes 2"))
    for a, b, problem in (
        (ours, cut, "is cut off: its last line must be `end` with the number of entries; copy all of it"),
        (ours, later, "begins with 'tdb-dap hashes 2'; this tdb-dap reads tdb-dap hashes 1"),
        (ours, case(TOY).path, "the other one is a log of hashes; give two of `tdb-dap run --hashes`"),
    ):
        done = diff(a, b)
        assert done.returncode == 2
        assert done.stderr == f"tdb-dap: error: {b}: {problem}\n"
    done = diff(ours, ours, "--structure")
    assert done.returncode == 2
    assert "they take no --inputs" in done.stderr


def test_windows_line_ends_and_empty_lines_of_a_paste_do_not_matter(ours: Path, tmp_path: Path) -> None:
    pasted = tmp_path / "pasted.hashes"
    pasted.write_bytes(ours.read_bytes().replace(b"\n", b"\r\n") + b"\r\n\r\n")
    assert read(pasted) == read(ours)


HASHES = st.from_regex("[0-9a-f]{8}|-", fullmatch=True)
NUMBERS = st.integers(0, 10**9 - 1)
WORDS = st.from_regex(r"[a-zA-Z0-9._@]{1,12}", fullmatch=True)
TENSORS = st.builds(Tensor, NUMBERS, NUMBERS, HASHES, WORDS, st.text(st.characters(), max_size=20))
COMMANDS = st.builds(Command, NUMBERS, NUMBERS, HASHES, WORDS, WORDS)
HEADS = st.fixed_dictionaries(dict.fromkeys(HEAD, st.text(st.characters(), max_size=20)))
LOGS = st.builds(Log, HEADS, st.lists(TENSORS | COMMANDS, max_size=6).map(tuple))


@given(log=LOGS)
def test_what_is_written_is_read_again(log: Log, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "again.hashes"
    file.write_text(log.text)
    assert read(file) == log
    assert compare(log, log)[1]


@given(log=LOGS, data=st.data())
def test_a_damaged_log_is_read_or_refused(
    log: Log, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Nothing else happens, and what is read can be compared."""
    text = bytearray(log.text.encode())
    for _ in range(data.draw(st.integers(1, 3))):
        text[data.draw(st.integers(0, len(text) - 1))] = data.draw(st.integers(0, 255))
    file = tmp_path_factory.getbasetemp() / "damaged.hashes"
    file.write_bytes(text)
    problem = ""
    try:
        compare(log, read(file))
    except BadInput as error:
        problem = str(error)
    assert "\n" not in problem
