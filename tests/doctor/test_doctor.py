"""``tdb-dap doctor``, as it is typed."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from scripts.generated import ROOT
from tdb_dap.targets import kernel
from tdb_dap.tools.doctor import self_test
from tdb_dap.tools.doctor.cli import session
from tdb_dap.tools.doctor.dependencies import Dependency, needed
from tdb_dap.tools.doctor.examination import examine
from tdb_dap.tools.doctor.findings import Check, anonymous, guarded
from tdb_dap.tools.doctor.installation import Installation
from tdb_dap.version import __version__
from tests.command_line import tdb_dap
from tests.doctor.installations import only
from tests.samples import SAMPLE, case

HERE = Installation.here()

NOT_FOR_RUNNING = ("flatbuffers", "prompt_toolkit", "pydantic", "pygls", "rich", "zstandard")
"""Dependencies that only sessions, reports and recordings need."""

WITHOUT = """
import sys
from importlib import metadata
from importlib.machinery import PathFinder
found, version, package, module = PathFinder.find_spec, metadata.version, {package!r}, {module!r}
def find_spec(name, path=None, target=None):
    return None if name.partition(".")[0] == module else found(name, path, target)
def versions(name):
    if name == package:
        raise metadata.PackageNotFoundError(name)
    return version(name)
PathFinder.find_spec, metadata.version = find_spec, versions
from tdb_dap.cli.main import main
sys.exit(main(["doctor", *sys.argv[1:]]))
"""
"""A new process in which one package is not installed."""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No editor is asked, and the command is this installation's."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))


def test_a_sound_installation_has_nothing_wrong() -> None:
    done = tdb_dap("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    *lines, last = done.stdout.splitlines()
    assert re.fullmatch(r"nothing is wrong(, \d+ notes?)?", last)
    assert lines[0] == f"ok     tdb-dap: {__version__}"
    assert "ok     port: a port of 127.0.0.1 can be opened and reached" in lines
    assert "ok     sample:numpy: 58 commands run with NumPy; the output equals the known one, bit for bit" in lines
    assert lines[-1].startswith(
        "ok     session: the adapter stops at tpu.Pool2D of the sample and shows f32 1×16×32×32 "
    )
    assert all(re.match(r"(ok   |note |error)  \S+: \S|       fix with: \S", line) for line in lines)


def test_the_report_for_programs_has_the_documented_fields() -> None:
    done = tdb_dap("doctor", "--json")
    report = json.loads(done.stdout)
    assert list(report) == ["version", "tdb_dap", "checks"]
    assert (report["version"], report["tdb_dap"]) == (1, __version__)
    names = [check["name"] for check in report["checks"]]
    assert len(set(names)) == len(names)
    assert {name.partition(":")[0] for name in names} <= documented()
    for check in report["checks"]:
        assert list(check) == ["name", "status", "text", "mend"]
        assert check["status"] in ("ok", "note", "error")
        assert all(isinstance(value, str) for value in check.values())
        assert check["status"] != "ok" or not check["mend"]
        assert check["status"] != "error" or check["mend"]


def documented() -> set[str]:
    """The names of checks in the table of the page."""
    page = (ROOT / "docs" / "install.md").read_text("utf-8").partition("## What is wrong")[2]
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    checks = [row for row in rows if "[]" not in row]
    return {name.partition(":")[0] for row in checks for name in re.findall("`([^`]+)`", row.split("|")[1])}


def test_the_report_names_neither_the_user_nor_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_CACHE_HOME", "TDB_DAP_CACHE"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tdb-dap").symlink_to(Path(sys.executable).parent / "tdb-dap")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{Path(sys.executable).parent}")
    text = tdb_dap("doctor").stdout
    assert str(tmp_path) not in text
    assert "cache: ~" in text
    assert "command: ~/bin/tdb-dap" in text
    secrets = {"TDB_DAP_CACHE": "/secret-1", "TPUC_ROOT": "/secret-2", "TDB_DAP_TOKEN": "secret-3"}
    for name, value in secrets.items():
        monkeypatch.setenv(name, value)
    text = tdb_dap("doctor", "--json").stdout
    assert "secret" not in text
    assert "the directory that the environment names" in text


def test_a_frozen_program_without_metadata_can_be_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    def version(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(sys, "frozen", True, raising=False)
    monkeypatch.setattr(metadata, "version", version)
    monkeypatch.setattr(metadata, "distributions", lambda **_: [])
    done = tdb_dap("doctor", "--json")
    assert done.returncode == 0
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert checks["installation"]["text"] == "a program with its own Python"
    assert sys.executable not in checks["python"]["text"]
    assert all(checks[f"dependency:{dependency.package}"]["status"] == "ok" for dependency in needed())


def test_a_home_is_replaced_as_a_whole_path_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/srv/ada")
    check = Check("x", "note", "/srv/ada /srv/ada/x:/srv/ada,\n/srv/adam /srv/ada-2", "rm '/srv/ada/y'")
    assert anonymous(check) == Check("x", "note", "~ ~/x:~, /srv/adam /srv/ada-2", "rm '~/y'")
    monkeypatch.setenv("USER", "ada")
    check = Check("x", "ok", "/scratch/ada/bin ada /opt/adam /ada.x C:\\Work\\ada", "/scratch/ada/bin/python -m pip")
    hidden = Check(
        "x", "ok", "/scratch/$USER/bin ada /opt/adam /ada.x C:\\Work\\$USER", "/scratch/$USER/bin/python -m pip"
    )
    assert anonymous(check) == hidden
    monkeypatch.setenv("HOME", "/")
    assert anonymous(Check("x", "ok", "/opt/x")).text == "/opt/x"


@pytest.mark.parametrize("dependency", needed(), ids=lambda dependency: dependency.package)
def test_a_missing_dependency_is_a_finding(dependency: Dependency) -> None:
    program = WITHOUT.format(package=dependency.package, module=dependency.module)
    command = [sys.executable, "-c", program, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.returncode, done.stderr) == (1, "")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert [name for name, check in checks.items() if check["status"] == "error"] == [
        f"dependency:{dependency.package}"
    ]
    wrong = checks[f"dependency:{dependency.package}"]
    assert wrong["text"] == f"missing; needs {dependency.requirement}"
    assert wrong["mend"].endswith(f" '{dependency.requirement}'")
    for name in ("sample", "session"):
        if name in checks and checks[name]["status"] == "note":
            assert checks[name]["text"].startswith("skipped: ")
    assert ("sample:numpy" in checks) == (dependency.package in NOT_FOR_RUNNING)


def test_other_commands_send_who_misses_a_dependency_to_the_doctor() -> None:
    program = WITHOUT.format(package="numpy", module="numpy").replace('["doctor", *sys.argv[1:]]', "sys.argv[1:]")
    command = [sys.executable, "-c", program, "info", str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "tdb-dap: error: No module named 'numpy'; run `tdb-dap doctor` for the fix\n"


def test_a_module_of_the_debugger_itself_that_is_missing_is_to_be_reported() -> None:
    """The doctor, whose commands install dependencies, cannot fix a fault in the program."""
    program = (
        "import sys; from tdb_dap.cli.main import main; sys.modules['tdb_dap.tools.info'] = None; "
        "sys.exit(main(sys.argv[1:]))"
    )
    command = [sys.executable, "-c", program, "info", str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("tdb-dap: error: internal error, please report it: ModuleNotFoundError: ")


def test_a_check_that_fails_is_an_error_and_the_others_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing() -> Iterator[Check]:
        yield Check("one", "ok", "fine")
        raise RuntimeError("no")

    assert [check.status for check in guarded("one", failing, [], "repair it")] == ["ok", "error"]
    _, failed = guarded("one", failing, [], "repair it")
    assert failed == Check("one", "error", "RuntimeError: no", "repair it")
    _, noted = guarded("one", failing, ["numpy"], "repair it")
    assert noted == Check("one", "note", "skipped: numpy cannot be used")
    monkeypatch.setattr("tdb_dap.tools.doctor.machine.system", failing)
    found = list(examine(HERE, lambda: [Check("session", "ok", "fine")]))
    assert (found[-1].name, found[-1].status) == ("session", "ok")
    assert [check.name for check in found if check.status == "error"] == ["platform"]


def test_the_known_output_is_the_vendor_s() -> None:
    truth = case("toy_bm1684x_f32").truth[self_test.OUTPUT]
    assert hashlib.sha256(truth.astype("<f4").tobytes()).hexdigest() == self_test.KNOWN


def test_an_output_that_is_not_the_known_one_is_an_error() -> None:
    found = {check.name: check for check in self_test.sample(HERE, known="0")}
    assert len(found) == 1 + kernel.is_built
    assert (found["sample:numpy"].status, found["sample:numpy"].mend) == ("error", HERE.again)
    if kernel.is_built:
        assert (found["sample:c-kernel"].status, found["sample:c-kernel"].mend) == ("error", "export TDB_DAP_KERNEL=0")


def test_a_sample_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    [found] = guarded("sample", lambda: self_test.sample(HERE, tmp_path), [], HERE.again)
    assert (found.status, found.mend) == ("error", HERE.again)


def test_an_adapter_that_breaks_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("tdb_dap.adapter.server.serve", failing)
    [found] = guarded("session", lambda: session(HERE), [], HERE.again)
    assert found == Check("session", "error", "RuntimeError: broken", HERE.again)


def test_an_adapter_that_refuses_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdb_dap.tools.doctor.cli.SAMPLE", tmp_path)
    found = only(session(HERE))
    assert found.status == "error"
    assert "launch: " in found.text


def test_what_is_wrong_gives_exit_code_1(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tdb_dap.tools.doctor.machine.OLDEST_PYTHON", (99,))
    done = tdb_dap("doctor")
    assert (done.returncode, done.stderr) == (1, "")
    assert re.search(r"^error  python: .*; needs 99\n       fix with: uv tool install --python 99", done.stdout, re.M)
    assert done.stdout.splitlines()[-1].startswith("1 error in ")
