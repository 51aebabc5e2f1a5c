"""Accesses kept between processes: they are those of the commands, and a file that is not ours counts for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.program import kept_rows
from tdb_dap.engine.program.access_table import AccessRows
from tdb_dap.system import kept_files
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.programs import open_program
from tests.samples import SAMPLE, Case, cases, of_more_chips

COLUMNS = ("ordinal", "space", "core", "start", "stop", "lane", "lane_stop", "is_write")


@pytest.fixture(autouse=True)
def directories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "state"))
    monkeypatch.setenv(kept_files.SWITCH, "1")


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many commands the accesses of each program were worked out of."""
    sizes: list[int] = []
    of = AccessRows.of

    def noted(commands: Sequence[Command]) -> AccessRows:
        sizes.append(len(commands))
        return of(commands)

    monkeypatch.setattr(AccessRows, "of", noted)
    return sizes


def kept(folder: Path) -> list[Path]:
    return sorted((folder / "cache" / "plans").glob("*.rows"))


def assert_same(first: AccessRows, second: AccessRows) -> None:
    assert all(np.array_equal(getattr(first, name), getattr(second, name)) for name in COLUMNS)
    first_views, second_views = ([rows.views[number] for number in rows.view.tolist()] for rows in (first, second))
    assert first_views == second_views
    assert (first.undefined, first.illegal) == (second.undefined, second.illegal)
    np.testing.assert_array_equal(first.words, second.words)


@pytest.mark.parametrize("case", [*cases(), *of_more_chips()], ids=lambda case: case.name)
def test_what_is_kept_is_what_was_worked_out(case: Case, made: list[int], tmp_path: Path) -> None:
    first = open_program(case.path).access_rows
    again = open_program(case.path).access_rows
    assert_same(first, again)
    assert len(made) == 2 - len(kept(tmp_path))


def test_a_file_that_is_damaged_of_another_build_or_not_wanted_counts_for_nothing(
    made: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_program(SAMPLE).access_rows
    (file,) = kept(tmp_path)
    whole = file.read_bytes()
    for data in (whole[:40] + bytes([whole[40] ^ 1]) + whole[41:], whole[:-1], b"", bytes(len(whole))):
        made.clear()
        file.write_bytes(data)
        assert_same(first, open_program(SAMPLE).access_rows)
        assert_same(first, open_program(SAMPLE).access_rows)
        assert made == [len(open_program(SAMPLE).commands)]  # once: then it was replaced
    monkeypatch.setattr(kept_rows, "_build", lambda: b"another build")
    made.clear()
    assert_same(first, open_program(SAMPLE).access_rows)
    assert made
    monkeypatch.setenv(kept_files.SWITCH, "0")
    made.clear()
    assert_same(first, open_program(SAMPLE).access_rows)
    assert made


def test_plans_of_a_run_that_stops_at_each_command_are_kept(tmp_path: Path) -> None:
    """A run under sanitizers made all of them again each time."""
    debugger = open_debugger(SAMPLE)
    while not debugger.at_end:
        debugger.step(1)
    debugger.close()
    assert [path.suffix for path in (tmp_path / "cache" / "plans").iterdir()] == [".plans"]
