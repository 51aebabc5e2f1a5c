"""How the package was installed, and what puts it right."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from scripts.generated import ROOT
from tdb_dap.tools.doctor import dependencies
from tdb_dap.tools.doctor.dependencies import Dependency, needed
from tdb_dap.tools.doctor.installation import Installation
from tests.doctor.installations import installed, only

SOMETHING = Dependency("something", "something_tested", "1.2")


def test_each_way_of_installing_has_its_own_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def ways(name: str, origin: dict[str, Any] | None = None, marker: str = "", frozen: bool = False) -> list[str]:
        with monkeypatch.context() as patched:
            found = installed(tmp_path / name, patched, origin, frozen=frozen)
            if marker:
                (tmp_path / name / marker).touch()
            return [found.way, found.again, found.getting("numpy>=2"), found.without("other")]

    pip = "/opt/python -m pip"
    assert ways("registry") == [
        "pip",
        f"{pip} install --force-reinstall WHEEL",
        f"{pip} install --force-reinstall 'numpy>=2'",
        f"{pip} uninstall other",
    ]
    editable = {"url": "file:///src/my%20clone", "dir_info": {"editable": True}}
    assert ways("editable", editable)[:2] == ["editable", f"{pip} install --force-reinstall -e '/src/my clone'"]
    wheel = {"url": "file:///tmp/tdb_dap.whl", "archive_info": {}}
    assert ways("wheel", wheel)[:2] == ["pip", f"{pip} install --force-reinstall /tmp/tdb_dap.whl"]
    secret = {"url": "https://me:token@example.org/x.zip"}
    assert ways("secret", secret)[1] == f"{pip} install --force-reinstall WHEEL"
    assert ways("pipx", marker="pipx_metadata.json") == [
        "pipx",
        "pipx reinstall tdb-dap",
        "pipx inject --force tdb-dap 'numpy>=2'",
        "pipx uninject tdb-dap other",
    ]
    assert ways("uv", marker="uv-receipt.toml") == [
        "uv",
        "uv tool upgrade --reinstall tdb-dap",
        "uv pip install --python /opt/python --reinstall 'numpy>=2'",
        "uv pip uninstall --python /opt/python other",
    ]
    assert set(ways("frozen", frozen=True)) == {"frozen", "download the program of this release again"}


def test_notes_of_an_installer_that_are_damaged_are_no_notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, text in enumerate(("{", "[]", '{"dir_info": 1}', '{"url": 5}', '{"url": "file://["}')):
        with monkeypatch.context() as patched:
            found = installed(tmp_path / str(number), patched, {})
            (file,) = (tmp_path / str(number)).rglob("direct_url.json")
            file.write_text(text)
            assert found.again == "/opt/python -m pip install --force-reinstall WHEEL"


def test_sources_without_an_installation_are_said_to_be_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "distributions", lambda name: [])
    found = Installation(Path("/nowhere"), "/opt/python", False)
    assert [check.text for check in found.checks()][1:] == ["not installed: run from a clone"]
    assert found.again == f"/opt/python -m pip install {ROOT}"


def test_a_frozen_program_is_recognized(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not Installation.here().frozen
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert Installation.here().way == "frozen"


def test_a_mixture_of_two_versions_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = installed(tmp_path, monkeypatch, version="0.0.1")
    version, way = found.checks()
    assert (version.status, version.mend) == ("error", "/opt/python -m pip install --force-reinstall WHEEL")
    assert version.text.endswith("but installed as 0.0.1: parts of two versions are mixed")
    assert (way.status, way.text) == ("ok", "in a Python environment (pip)")


def test_the_dependencies_are_those_that_are_declared() -> None:
    declared = re.search(r"^dependencies = \[\n(.*?)^\]", (ROOT / "pyproject.toml").read_text(), re.M | re.S)
    assert declared is not None
    wanted = [Requirement(line.strip(' ",')) for line in declared[1].splitlines() if line.strip().startswith('"')]
    for python in ((3, 10), (3, 11), (3, 12), (3, 13), (3, 14)):
        environment = {"python_version": ".".join(map(str, python))}
        applying = [entry for entry in wanted if entry.marker is None or entry.marker.evaluate(environment)]
        least = {entry.name: str(entry.specifier) for entry in applying}  # those for later versions stand below
        assert {entry.package: f">={entry.least}" for entry in needed(python)} == least


@pytest.fixture
def something(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Python finds packages in, with the metadata of something 1.3."""
    (tmp_path / "something-1.3.dist-info").mkdir()
    (tmp_path / "something-1.3.dist-info" / "METADATA").write_text("Name: something\nVersion: 1.3\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "something_tested", raising=False)
    return tmp_path


def check_something(least: str = "1.2") -> tuple[str, str]:
    found = only(
        dependencies.checks(
            Installation(Path("/x"), "/py", False), [Dependency("something", "something_tested", least)]
        )
    )
    assert found.name == "dependency:something"
    assert found.mend == ("" if found.status == "ok" else f"/py -m pip install --force-reinstall 'something>={least}'")
    return found.status, found.text


def test_a_dependency_is_there_too_old_broken_or_missing(something: Path) -> None:
    assert check_something() == ("error", "1.3 cannot be loaded: No module named 'something_tested'")
    code = something / "something_tested.py"
    code.write_text("import no_such_thing")
    assert check_something() == ("error", "1.3 cannot be loaded: No module named 'no_such_thing'")
    code.write_text("raise OSError('libx.so: wrong ELF class')  ")
    assert check_something() == ("error", "1.3 cannot be loaded: OSError: libx.so: wrong ELF class")
    code.write_text("__version__ = '1.1'")
    assert check_something() == ("ok", "1.3 (needs 1.2)")
    assert check_something("1.3.0") == ("ok", "1.3 (needs 1.3.0)")
    assert check_something("1.10") == ("error", "1.3 is too old; needs 1.10")


def test_without_metadata_the_module_says_its_version(something: Path) -> None:
    for file in something.rglob("METADATA"):
        file.unlink()
    assert check_something() == ("error", "missing; needs something>=1.2")
    (something / "something_tested.py").write_text("__version__ = '1.1rc2'")
    assert check_something() == ("error", "1.1rc2 is too old; needs 1.2")
    sys.modules.pop("something_tested")
    (something / "something_tested.py").write_text("other = 1234567")
    assert check_something() == ("ok", "installed, version unknown; needs 1.2")
