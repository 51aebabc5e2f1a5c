"""The frozen program starts modules of its own, and nothing else."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from multiprocessing import resource_tracker, spawn, util
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from scripts.generated import ROOT
from tdb_dap.backends import fetch
from tdb_dap.cli.frozen import run_part_of_a_pool
from tdb_dap.errors import BadInput
from tdb_dap.system.child_processes import command, outside_environment, run_requested_module


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> str:
    """This process believes that it is the frozen program; returns its path."""
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(sys, "executable", "/opt/tdb-dap/tdb-dap")
    return sys.executable


def test_a_child_is_the_program_itself(frozen: str) -> None:
    assert command("tdb_dap.backends.child")[0] == frozen
    assert command("tdb_dap.backends.child")[1:] == ("--run-module", "tdb_dap.backends.child")


def test_the_program_runs_the_module_that_a_command_names(
    frozen: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*command("tdb_dap"), "--version"]
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit) as end:
        run_requested_module(given[1:])
    assert end.value.code == 0
    assert capsys.readouterr().out.startswith("tdb-dap ")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["info", "x"],
        ["--run-module"],
        ["--run-module", "http.server"],
        ["--run-module", "tdb_dap_evil.x"],
        ["x", "--run-module", "tdb_dap"],
    ],
)
def test_it_runs_no_other_module(arguments: list[str]) -> None:
    assert not run_requested_module(arguments)


def test_it_is_the_tracker_of_a_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line is what multiprocessing itself makes of a start, in the version that runs here."""
    started: list[list[str]] = []
    tracked: list[int] = []

    def note(path: str, arguments: list[str], descriptors: object) -> int:
        started.append([os.fsdecode(argument) for argument in arguments])
        return 1

    monkeypatch.setattr(util, "spawnv_passfds", note)
    monkeypatch.setattr(resource_tracker, "main", tracked.append)
    for name in ("stdout", "__stdout__"):
        monkeypatch.setattr(sys, name, getattr(sys, name))  # it is replaced, and comes back after this test
    resource_tracker.ResourceTracker().ensure_running()
    assert run_part_of_a_pool(started[0][1:])
    assert len(tracked) == 1


def test_it_is_a_worker_of_a_pool(frozen: str, monkeypatch: pytest.MonkeyPatch) -> None:
    worked: list[dict[str, int]] = []
    command = spawn.get_command_line(tracker_fd=3, pipe_handle=4)
    assert command[0] == frozen
    monkeypatch.setattr(sys, "argv", command)
    monkeypatch.setattr(spawn, "spawn_main", lambda **given: worked.append(given))
    with pytest.raises(SystemExit):
        run_part_of_a_pool(command[1:])
    assert worked == [{"tracker_fd": 3, "pipe_handle": 4}]


def test_other_programs_do_not_find_its_libraries(frozen: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As the start of the frozen program leaves the variables: its own folder first, what was there before beside."""
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/tdb-dap/lib")
    monkeypatch.setenv("LD_LIBRARY_PATH_ORIG", "/opt/own")
    monkeypatch.setenv("LIBPATH", "/opt/tdb-dap/lib")
    monkeypatch.delenv("LIBPATH_ORIG", raising=False)
    python = tmp_path / "python3"
    python.write_text('#!/bin/sh\necho "ERROR $LD_LIBRARY_PATH,$LIBPATH,$LD_LIBRARY_PATH_ORIG" >&2\nexit 1\n')
    python.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadInput, match=r"pip could not download tpu_mlir: ERROR /opt/own,,"):
        fetch._download(tmp_path)


def test_an_installed_package_hands_its_environment_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/own")
    assert outside_environment() == dict(os.environ)


@pytest.mark.parametrize("arguments", [[], ["info", "-c", "import os"], ["-c", "from os import main;main(1)"]])
def test_it_runs_no_code_of_a_command_line(arguments: list[str]) -> None:
    assert not run_part_of_a_pool(arguments)


def test_without_python_fetching_says_what_it_needs(
    frozen: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path))
    with pytest.raises(BadInput, match="needs pip, and no Python was found on PATH; install Python with pip"):
        fetch._download(tmp_path)


def test_every_module_that_is_started_by_name_is_in_the_program() -> None:
    """The recipe collects all of the package: what is imported by name would be missed otherwise."""
    recipe = (ROOT / "packaging" / "frozen" / "tdb-dap.spec").read_text("utf-8")
    assert 'collect_submodules("tdb_dap")' in recipe
    assert 'collect_data_files("tdb_dap")' in recipe


def test_what_is_frozen_is_what_the_package_requires() -> None:
    """Each dependency is pinned, in a version that pyproject.toml admits."""
    lines = (ROOT / "packaging" / "frozen" / "requirements.txt").read_text("utf-8").splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    versions = {canonicalize_name(name): version for name, version in pinned.items()}
    for requirement in map(Requirement, metadata.requires("tdb-dap") or []):
        if requirement.marker is None or requirement.marker.evaluate({"python_version": "3.11", "extra": ""}):
            assert versions[canonicalize_name(requirement.name)] in requirement.specifier, requirement
