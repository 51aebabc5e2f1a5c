"""Times that a board took, beside those that were expected."""

from __future__ import annotations

import contextlib
import json
import random
import re
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tdb_dap
from tdb_dap.cli.main import main
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.errors import BadInput
from tdb_dap.tools.profile.measured import measured_times
from tdb_dap.tools.profile.profiling import Costs, Profile
from tdb_dap.tools.profile.report import report_of
from tdb_dap.tools.profile.schedule import Span, schedule
from tdb_dap.tools.programs import open_program
from tests.measuring import block, microseconds, write_run
from tests.samples import Case, case, cases, typical

CHIPS = re.compile(r"_(bm1684|bm1684x|bm1688|bm1690|cv184x)_")
MEASURED = [of for of in cases() if not of.is_dynamic and CHIPS.search(of.name)]


def compiled(name: str) -> CompiledProgram:
    program = open_program(case(name).path)
    assert isinstance(program, CompiledProgram)
    return program


def slow(program: CompiledProgram, seed: int = 1) -> list[Span]:
    """Cycles of a run in which every command takes its own time, and begins as soon as it can."""
    chosen = random.Random(seed)
    return schedule(program, [chosen.uniform(20, 4000) for _ in program.commands])


@pytest.mark.parametrize("of", typical(MEASURED), ids=lambda of: of.name)
def test_times_are_those_of_the_board_whatever_its_counters_show(of: Case, tmp_path: Path) -> None:
    program = compiled(of.name)
    spans = slow(program)
    zero = {
        (core, engine): random.Random(f"{core}{engine}").uniform(0, 8e6)  # near the end of a counter for some
        for core in range(program.core_count)
        for engine in ("tiu", "dma", "sdma")
    }
    write_run(tmp_path / "bmprofile_data-1", program, microseconds(program, spans), zero)
    found = measured_times(program, tmp_path)
    taken = {c.ordinal: c for c in program.commands if c.has_descriptor and c.engine in ("tiu", "dma", "sdma")}
    assert set(found.spans) == set(taken)
    clock = program.target.clock
    assert clock is not None
    tick = 3 * clock / 500  # two roundings, and the offset's own
    for ordinal, span in found.spans.items():
        told = spans[ordinal]
        assert span.stop - span.start == pytest.approx(told.stop - told.start, abs=tick), taken[ordinal]
    if program.core_count == 1:  # of several cores only messages tell how far their counters are apart
        shift = found.spans[0].start - spans[0].start
        assert [s.start - shift for s in found.spans.values()] == pytest.approx(
            [spans[o].start for o in found.spans], abs=tick
        )


def test_two_cores_meet_at_their_messages(tmp_path: Path) -> None:
    program = compiled("toy_bm1688_f16c2")
    spans = slow(program)
    zero = {(0, "tiu"): 10.0, (0, "dma"): 77.0, (1, "tiu"): 5000.0, (1, "dma"): 12.5}
    write_run(tmp_path / "a", program, microseconds(program, spans), zero)
    write_run(tmp_path / "b", program, microseconds(program, spans))
    one, other = (measured_times(program, tmp_path / name).spans for name in "ab")
    assert [s.start for s in one.values()] == pytest.approx([s.start for s in other.values()], abs=6)


def test_the_last_iteration_counts(tmp_path: Path) -> None:
    program = compiled("toy_bm1684x_f32")
    for iteration in range(3):
        write_run(
            tmp_path / "d",
            program,
            microseconds(program, slow(program, iteration)),
            {},
            iteration=iteration,
            first=iteration,
        )
    total = max(span.stop for span in slow(program, 2))
    assert Profile(program, costs=Costs(program, measured_times(program, tmp_path / "d"))).total == pytest.approx(
        total, abs=2
    )


def test_what_was_not_measured_takes_no_time_and_is_told(tmp_path: Path) -> None:
    program = compiled("toy_bm1684x_f32")
    write_run(tmp_path / "d", program, microseconds(program, slow(program)), is_lost=lambda ordinal: ordinal % 5 == 3)
    report = report_of(Profile(program, costs=Costs(program, measured_times(program, tmp_path / "d"))))
    lost = sum(ordinal % 5 == 3 for ordinal in range(len(program.commands)))
    assert report.measured == len(program.commands) - lost
    assert report.given == 0
    assert report.remarks == (f"{lost} of the commands were not measured; they count as none",)


def test_the_console_shows_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = compiled("toy_bm1684x_f32")
    folder = write_run(tmp_path / "bmprofile_data-2", program, microseconds(program, slow(program)))
    path, trace = tmp_path / "report.json", tmp_path / "trace.json"
    code = main(
        [
            "profile",
            str(case("toy_bm1684x_f32").path),
            "--measured",
            str(tmp_path),
            "--report",
            str(path),
            "-o",
            str(trace),
        ]
    )
    said = capsys.readouterr().out
    assert code == 0
    assert f"cycles of commands: {len(program.commands)} measured ({folder})" in said
    assert "expected compared with measured: " in said
    assert re.search(r"GB/s +expected +took$", said, re.MULTILINE)
    ops = json.loads(path.read_text())["ops"]
    assert all(op["expected"] is not None for op in ops)
    commands = [event for event in json.loads(trace.read_text())["traceEvents"] if event.get("cat") == "command"]
    assert {event["args"]["from"] for event in commands} == {"measured"}
    assert all("expected" in event["args"] for event in commands)


def test_without_a_measurement_nothing_of_it_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", str(case("toy_bm1684x_f32").path)]) == 0
    said = capsys.readouterr().out
    assert "measured" not in said
    assert "expected" not in said


def test_what_the_compiler_says_is_not_claimed_where_it_was_not_used() -> None:
    assert report_of(Profile(compiled("toy_bm1684x_f32"), use_compiler=False)).given == 0


WRONG = {
    "none": "no folder; give the bmprofile_data-N",
    "empty": "holds no global.profile; give the bmprofile_data-N",
    "two": "holds bmprofile_data-0, bmprofile_data-1; name one of them",
    "no runs": "holds no iter0.profile",
    "chip": "was measured on BM1688, the model is for BM1684X",
    "net": "was measured on the net other",
    "emulator": "holds no times of commands; the emulator measures nothing",
    "other model": "it was measured on another model",
    "subnet": "is about subnet 9, which the model does not have",
    "cut": "cut off at byte",
    "records": "no multiple of the 32 of one",
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_folder_is_one_clear_error(what: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = compiled("toy_bm1684x_f32")
    folder = tmp_path / "given"
    if what != "none":
        folder.mkdir()
    if what == "two":
        for number in range(2):
            write_run(folder / f"bmprofile_data-{number}", program, [Span(0, 1)] * len(program.commands))
    elif what not in ("none", "empty"):
        write_run(folder, program, [Span(0, 1)] * len(program.commands), name="other" if what == "net" else "")
    text, run = folder / "global.profile", folder / "iter0.profile"
    if what == "no runs":
        run.unlink()
    elif what == "chip":
        text.write_text(text.read_text().replace("BM1684X", "BM1688"))
    elif what == "emulator":
        run.write_bytes(block(1, struct.pack("<III", 0, 0, 0)))
    elif what == "other model":
        counts = struct.pack("<I", 1) + struct.pack("<II", 7, 9)
        run.write_bytes(block(1, struct.pack("<III", 0, 0, 0)) + block(8, bytes(32) + counts))
    elif what == "subnet":
        run.write_bytes(block(1, struct.pack("<III", 0, 9, 0)))
    elif what == "cut":
        run.write_bytes(run.read_bytes()[:-7])
    elif what == "records":
        run.write_bytes(block(1, struct.pack("<III", 0, 0, 0)) + block(3, bytes(33)))
    assert main(["profile", str(case("toy_bm1684x_f32").path), "--measured", str(folder)]) == 2
    said = capsys.readouterr().err
    assert said.startswith("tdb-dap: error: ")
    assert WRONG[what] in said
    assert said.count("\n") == 1
    assert len(said) < 320


def test_a_recording_has_no_measured_times(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    recording = next(Path("tests/data/recordings").glob("*.tdbrec"))
    assert main(["profile", str(recording), "--measured", str(tmp_path)]) == 2
    assert "measured times belong to a compiled model" in capsys.readouterr().err


@given(st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=12), st.integers(0, 1 << 16))
def test_spoiled_files_are_refused_or_give_times(
    tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[int, int]], cut: int
) -> None:
    program = compiled("toy_bm1684x_f32")
    folder = write_run(tmp_path_factory.mktemp("spoiled"), program, microseconds(program, slow(program)))
    for path in folder.iterdir():
        data = bytearray(path.read_bytes())
        for place, value in changes:
            data[place % len(data)] = value
        path.write_bytes(data[: len(data) - cut] if cut < len(data) else data)
    with contextlib.suppress(BadInput):
        found = measured_times(program, folder)
        assert all(0 <= span.start <= span.stop < 1e13 for span in found.spans.values())


def test_the_table_of_a_notebook_has_both(tmp_path: Path) -> None:
    program = compiled("toy_bm1684x_f32")
    folder = write_run(tmp_path / "d", program, microseconds(program, slow(program)))
    with tdb_dap.open(case("toy_bm1684x_f32").path) as debugger:
        rows = list(debugger.profile(folder))
        assert sum(row["tiu"] + row["dma"] for row in rows) > 10 * sum(row["expected"] for row in rows)
        assert "expected" not in next(iter(debugger.profile()))
