"""Finding the vendor's libraries, and saying what to do where they are not."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from tdb_dap.backends import fetch
from tdb_dap.backends.cmodel import VendorBackend
from tdb_dap.backends.discovery import find, library_of, supported
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tests.command_line import tdb_dap
from tests.samples import SAMPLE

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the vendor's libraries are for Linux")

FILE = "libcmodel_bm1684x.so"


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TDB_DAP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TPUC_ROOT", raising=False)
    monkeypatch.setattr("tdb_dap.backends.discovery._package_directory", lambda: None)
    monkeypatch.setattr("platform.machine", lambda: "x86_64")


def put(directory: Path) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / FILE).write_bytes(b"not a library")
    return directory / FILE


def test_the_path_given_counts_before_the_environment_and_that_before_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cached = put(tmp_path / "cache" / "vendor" / "lib")
    assert find(FILE) == (cached, "tdb-dap backends fetch")
    monkeypatch.setenv("TPUC_ROOT", str(tmp_path / "root"))
    rooted = put(tmp_path / "root" / "lib")
    assert find(FILE) == (rooted, "TPUC_ROOT")
    given = put(tmp_path / "given")
    assert find(FILE, tmp_path / "given") == (given, "--cmodel-path")
    assert find(FILE, given) == (given, "--cmodel-path")
    assert find(FILE, tmp_path / "elsewhere") is None


def test_a_missing_library_is_one_line_that_says_where_and_what_to_do(tmp_path: Path) -> None:
    result = tdb_dap("run", SAMPLE, "--backend", "cmodel")
    assert result.returncode == 2
    assert result.stderr.startswith(f"tdb-dap: error: {FILE}, the vendor's simulator of BM1684X, is in none of: ")
    assert str(tmp_path / "cache" / "vendor" / "lib") in result.stderr
    assert result.stderr.endswith("; run: tdb-dap backends fetch\n")
    assert result.stderr.count("\n") == 1


def test_a_file_that_is_no_library_is_named(tmp_path: Path) -> None:
    put(tmp_path)
    result = tdb_dap("run", SAMPLE, "--backend", "lockstep", "--cmodel-path", tmp_path)
    assert result.returncode == 2
    assert f"{tmp_path / FILE}: cannot be loaded: " in result.stderr


def test_a_backend_that_does_not_exist_is_answered_with_those_that_do() -> None:
    result = tdb_dap("run", SAMPLE, "--backend", "verilog")
    assert result.returncode == 2
    assert "backend 'verilog' is not known; there are numpy, cmodel, lockstep" in result.stderr


def test_a_chip_whose_simulator_cannot_be_driven_says_so() -> None:
    unknown = replace(chips()["SG2380"], vendor_library=None)
    with pytest.raises(BadInput, match="simulator of SG2380 is not known; use the backend 'numpy'"):
        library_of(unknown)


def test_the_list_shows_what_is_there_and_what_is_not(tmp_path: Path) -> None:
    path = put(tmp_path / "cache" / "vendor" / "lib")
    lines = tdb_dap("backends").stdout.splitlines()
    assert any(line.startswith("numpy") and "BM1690" in line for line in lines)
    assert any(line.split() == ["BM1684X", str(path), "(tdb-dap", "backends", "fetch)"] for line in lines)
    assert any("libtpuv7_emulator.so not found" in line for line in lines)
    assert "fetch" in lines[-1]


def test_only_the_libraries_of_the_wheel_are_unpacked(tmp_path: Path) -> None:
    wheel = tmp_path / "tpu_mlir-0-py3-none-any.whl"
    wanted = {f"tpu_mlir/lib/{chip.vendor_library.file}" for chip in supported() if chip.vendor_library}
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in (*wanted, "tpu_mlir/lib/libbackend_bm1688.so", "tpu_mlir/lib/third_party/libdnnl.so.3"):
            archive.writestr(name, b"\x7fELF")
        archive.writestr(f"tpu_mlir/../../{FILE}", b"somewhere else")
    fetch.unpack(wheel, tmp_path / "out")
    files = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*") if path.is_file()}
    assert files == {name.removeprefix("tpu_mlir/") for name in wanted} | {"lib/third_party/libdnnl.so.3"}


def test_a_wheel_without_the_libraries_is_refused(tmp_path: Path) -> None:
    wheel = tmp_path / "tpu_mlir-0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("tpu_mlir/__init__.py", b"")
    with pytest.raises(BadInput, match=r"holds no .*libcmodel_bm1684x.so"):
        fetch.unpack(wheel, tmp_path / "out")


def test_more_cores_than_the_simulator_has_lead_to_the_built_in_one(tmp_path: Path) -> None:
    chip = chips()["BM1690E"]
    assert isinstance(chip, Chip)
    with pytest.raises(BadInput, match=r"BM1690E has 4 cores and the model needs 8; run it without a backend"):
        VendorBackend(chip, put(tmp_path)).open_memories(8, [])
