"""Command streams that the vendor's library has written down, as recordings that can be read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tdb_dap.engine.program.program import Program
from tdb_dap.tools.programs import open_program
from tests.command_line import tdb_dap
from tests.samples import DATA

STREAMS = DATA / "streams"
"""Of one run each of the models whose recordings are in ``recordings``; of BM1690 three of the eight cores."""


def imported(folder: Path, chip: str, tmp_path: Path) -> Program:
    path = tmp_path / "it.tdbrec"
    said = tdb_dap("import", folder / "ins", "--chip", chip, "-o", path)
    assert said.returncode == 0, said.stderr
    return open_program(path)


def by_engine(program: Program, cores: set[int]) -> dict[tuple[int, str], list[bytes]]:
    """Descriptors; of a message only the kind: its number is another one in each run."""
    found: dict[tuple[int, str], list[bytes]] = {}
    for command in program.commands:
        if command.has_descriptor and command.core in cores:
            found.setdefault((command.core, command.engine), []).append(
                command.name.encode() if command.is_system else command.descriptor
            )
    return found


@pytest.mark.parametrize(("chip", "cores"), [("bm1688", {0}), ("bm1690", {0, 1, 7})])
def test_the_commands_are_those_that_the_recorder_saw(chip: str, cores: set[int], tmp_path: Path) -> None:
    found = by_engine(imported(STREAMS / chip, chip, tmp_path), cores)
    seen = by_engine(open_program(DATA / "recordings" / f"toy_{chip}.tdbrec"), cores)
    assert found == seen


@pytest.mark.parametrize("chip", ["bm1688", "bm1690"])
def test_a_command_comes_after_what_it_waits_for(chip: str, tmp_path: Path) -> None:
    """The result of the first move into local memory is converted next, whatever else the DMA fetches ahead."""
    names = [c.name for c in imported(STREAMS / chip, chip, tmp_path).commands if c.core == 0 and not c.is_system]
    assert names[:2] == ["dma.tensor", "arith.cast"]
    assert names[-2:] == ["arith.cast", "dma.matrix"]


def test_the_old_spelling_writes_the_same_recording(tmp_path: Path) -> None:
    imported(STREAMS / "bm1688", "BM1688", tmp_path)
    old = tmp_path / "old.tdbrec"
    said = tdb_dap("record", "--streams", STREAMS / "bm1688" / "ins", "--chip", "bm1688", "-o", old)
    assert said.returncode == 0, said.stderr
    assert [c.descriptor for c in open_program(old).commands] == [
        c.descriptor for c in open_program(tmp_path / "it.tdbrec").commands
    ]


def test_it_can_be_read_and_says_why_it_cannot_be_executed(tmp_path: Path) -> None:
    imported(STREAMS / "bm1688", "BM1688", tmp_path)
    path = tmp_path / "it.tdbrec"
    listing = tdb_dap("dis", path)
    assert (listing.returncode, listing.stdout.count("conv.normal")) == (0, 2)
    assert "68" in tdb_dap("info", path).stdout
    assert "problem" not in tdb_dap("info", path).stdout
    assert tdb_dap("profile", path).returncode == 0
    for verb in ("run", "check", "sanitize", "debug"):
        said = tdb_dap(verb, path)
        assert said.returncode == 2
        assert (
            "holds command streams and no memory, so nothing can be executed; dis, info and profile can" in said.stderr
        )


def test_runs_in_numbered_files_follow_each_other(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir()
    for engine in ("BD", "GDMA"):
        for number in (9, 10):
            shutil.copy(STREAMS / "bm1688" / f"ins.{engine}.0", tmp_path / "s" / f"ins-{number}-0.{engine}.0")
    both = [c.descriptor for c in imported(tmp_path / "s", "bm1688", tmp_path).commands]
    assert both == 2 * [c.descriptor for c in imported(STREAMS / "bm1688", "bm1688", tmp_path).commands]


@pytest.mark.parametrize("engines", [("BD", "GDMA"), ("BD",), ("GDMA",)])
def test_several_runs_in_one_file_have_no_certain_order(engines: tuple[str, ...], tmp_path: Path) -> None:
    shutil.copytree(STREAMS / "bm1688", tmp_path / "s")
    for engine in engines:
        stream = tmp_path / "s" / f"ins.{engine}.0"
        stream.write_bytes(2 * stream.read_bytes())
    program = imported(tmp_path / "s", "bm1688", tmp_path)
    assert len(program.commands) == 82 + sum({"BD": 68, "GDMA": 14}[engine] for engine in engines)
    said = tdb_dap("info", tmp_path / "it.tdbrec")
    assert "in which order its engines worked is not certain" in said.stdout + said.stderr


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--streams", "nowhere/ins", "--chip", "BM1688"), "no file begins so"),
        (("--streams", STREAMS / "bm1688" / "ins"), "--streams and --chip: give both of them"),
        (("--chip", "BM1688", "--", "true"), "--streams and --chip: give both of them"),
        (("--streams", STREAMS / "bm1688" / "ins", "--chip", "BM1"), "--chip: the model is for the chip 'BM1'"),
        (("--streams", STREAMS / "bm1688" / "ins", "--chip", "BM1688", "--", "true"), "nothing is run"),
        (("--streams", STREAMS / "bm1690" / "ins", "--chip", "BM1688"), "stream"),
    ],
)
def test_wrong_words_are_one_error(words: tuple[object, ...], why: str, tmp_path: Path) -> None:
    said = tdb_dap("record", "-o", tmp_path / "it.tdbrec", *words)
    assert said.returncode == 2
    assert why in said.stderr
    assert said.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("engine", ["BD", "GDMA"])
@pytest.mark.parametrize("cut", [0, 1, 7, 33])
def test_an_engine_that_did_nothing_is_none_and_a_cut_file_one_line(engine: str, cut: int, tmp_path: Path) -> None:
    """The libraries make an empty file for an engine without commands."""
    copy = tmp_path / "streams"
    shutil.copytree(STREAMS / "bm1688", copy)
    path = copy / f"ins.{engine}.0"
    path.write_bytes(path.read_bytes()[:cut])
    if cut == 0:
        program = imported(copy, "bm1688", tmp_path)
        assert {command.engine for command in program.commands} == {"dma" if engine == "BD" else "tiu"}
        return
    ran = tdb_dap("import", copy / "ins", "--chip", "bm1688", "-o", tmp_path / "a.tdbrec")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "internal error" not in ran.stderr
