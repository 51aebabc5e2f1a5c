"""Wheels for other systems are copies of the pure one with a kernel, and say so."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from scripts.release import cross
from scripts.release.archives import contents
from scripts.release.steps import BadBuild
from tdb_dap.targets import kernel

PURE = "tdb_dap-1.2.3-py3-none-any.whl"


@pytest.fixture
def pure(tmp_path: Path) -> Path:
    """A wheel of two files without a kernel."""
    path = tmp_path / PURE
    with zipfile.ZipFile(path, "w") as wheel:
        wheel.writestr("tdb_dap/__init__.py", "")
        wheel.writestr(
            "tdb_dap-1.2.3.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n\n"
        )
        wheel.writestr(
            "tdb_dap-1.2.3.dist-info/RECORD",
            "tdb_dap/__init__.py,sha256=x,0\ntdb_dap-1.2.3.dist-info/WHEEL,sha256=y,9\ntdb_dap-1.2.3.dist-info/RECORD,,\n",
        )
    return path


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiler replaced by one that writes a few bytes: ziglang is no package of the tests."""

    def library(system: cross.System, scratch: Path) -> Path:
        path = scratch / system.library
        path.write_bytes(system.target.encode())
        return path

    monkeypatch.setattr(cross, "_kernel", library)
    monkeypatch.setattr(cross, "_recorder", library)


@pytest.mark.usefixtures("compiled")
@pytest.mark.parametrize("name", cross.SYSTEMS)
def test_a_wheel_names_its_system_everywhere(pure: Path, tmp_path: Path, name: str) -> None:
    system = cross.SYSTEMS[name]
    (wheel,) = cross.build(pure, tmp_path, [name])
    assert wheel.name == f"tdb_dap-1.2.3-cp310-abi3-{system.tags}.whl"
    files = contents(wheel)
    assert files[f"tdb_dap/targets/kernel/{system.library}"] == system.target.encode()
    assert ("tdb_dap/backends/recorder/library/librecorder.so" in files) == (name == "linux-x64")
    described = files["tdb_dap-1.2.3.dist-info/WHEEL"].decode().splitlines()
    assert "Root-Is-Purelib: false" in described
    assert {line for line in described if line.startswith("Tag:")} == {
        f"Tag: cp310-abi3-{tag}" for tag in system.tags.split(".")
    }
    record = files["tdb_dap-1.2.3.dist-info/RECORD"].decode().splitlines()
    assert {line.split(",")[0] for line in record} == set(files)
    assert len(record) == len(files)


@pytest.mark.usefixtures("compiled")
def test_a_wheel_with_a_kernel_is_no_base(tmp_path: Path) -> None:
    with pytest.raises(BadBuild, match="a wheel without a kernel is wanted"):
        list(cross.build(tmp_path / "tdb_dap-1.2.3-cp310-abi3-linux_x86_64.whl", tmp_path, ["wasm32"]))


def test_one_system_at_most_is_this_one() -> None:
    assert sum(map(cross.is_here, cross.SYSTEMS.values())) <= 1


@pytest.mark.skipif(sys.platform != "linux" or shutil.which("nm") is None, reason="reads a library of Linux with nm")
@pytest.mark.skipif(not kernel.is_active(), reason=kernel.describe())
def test_the_kernel_takes_nothing_of_python_that_the_library_for_windows_lacks() -> None:
    """Macros of Python's API stand for other names; the linker for Windows finds them after minutes of a release."""
    (built,) = Path(kernel.__file__).parent.glob("_kernel*.so")
    listed = subprocess.run(["nm", "-D", "--undefined-only", built], check=True, capture_output=True, text=True).stdout
    taken = {name for name in listed.split() if name.startswith(("Py", "_Py"))}
    assert "PyErr_Occurred" in taken
    assert taken <= set(cross.python_names())
