"""The engine for browsers: its wheels are those that Pyodide lists, without what a browser does not need."""

from __future__ import annotations

import hashlib
import json
import zipfile
from pathlib import Path

import pytest

from scripts.release import engine
from scripts.release.archives import contents
from scripts.release.steps import BadBuild
from tdb_dap.tools.share.sharing import ENGINE


def wheel(folder: Path, package: str) -> Path:
    """A wheel of two modules, one of them a test."""
    path = folder / f"{package}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{package}/__init__.py", f"NAME = {package!r}\n")
        archive.writestr(f"{package}/tests/test_it.py", "")
    return path


@pytest.fixture
def pyodide(tmp_path: Path) -> Path:
    """The npm package, whose list has a wheel of each package that the engine needs; they are in ``full``."""
    folder, full = tmp_path / "pyodide", tmp_path / "full"
    folder.mkdir()
    full.mkdir()
    listed = {}
    for package in engine.NEEDED:
        path = wheel(full, package)
        checksum = hashlib.sha256(path.read_bytes()).hexdigest()
        listed[package.replace("_", "-")] = {"file_name": path.name, "sha256": checksum}
    for name in ENGINE:
        (folder / name).write_text(name)
    (folder / "pyodide-lock.json").write_text(json.dumps({"packages": listed}))
    return folder


def test_wheels_that_are_missing_are_downloaded_and_slimmed(tmp_path: Path, pyodide: Path) -> None:
    wheels, made = tmp_path / "wheels", tmp_path / "engine"
    wheels.mkdir()
    wheel(wheels, "tdb_dap").write_bytes((own := wheel(tmp_path, "tdb_dap")).read_bytes())
    (tmp_path / "full" / own.name).unlink()
    engine.fetch(pyodide, wheels, (tmp_path / "full").as_uri())
    assert engine.make(pyodide, wheels, made) == sum(path.stat().st_size for path in made.iterdir())
    assert {path.name for path in made.iterdir()} == {*ENGINE, *(path.name for path in wheels.iterdir())}
    assert list(contents(made / "numpy-1.0-py3-none-any.whl")) == ["numpy/__init__.py"]


def test_a_wheel_that_is_not_the_listed_one_is_refused(tmp_path: Path, pyodide: Path) -> None:
    with (tmp_path / "full" / "numpy-1.0-py3-none-any.whl").open("ab") as file:
        file.write(b"more")
    with pytest.raises(BadBuild, match=r"numpy-1\.0-py3-none-any\.whl: another file than pyodide-lock\.json"):
        engine.fetch(pyodide, tmp_path / "wheels", (tmp_path / "full").as_uri())
    assert not list((tmp_path / "wheels").glob("numpy*"))


def test_a_wheel_that_nobody_has_is_named(tmp_path: Path, pyodide: Path) -> None:
    (tmp_path / "full" / "msgspec-1.0-py3-none-any.whl").unlink()
    with pytest.raises(BadBuild, match=r"full/msgspec-1\.0-py3-none-any\.whl: "):
        engine.fetch(pyodide, tmp_path / "wheels", (tmp_path / "full").as_uri())
    with pytest.raises(BadBuild, match="0 wheels of msgspec; one is needed"):
        engine.make(pyodide, tmp_path / "wheels", tmp_path / "engine")
