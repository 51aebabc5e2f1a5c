"""What is published is the same bytes, whenever and wherever it was packed."""

from __future__ import annotations

import os
import tarfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from scripts.release.__main__ import differences
from scripts.release.archives import contents, normalise

EPOCH = 1_700_000_001
FILES = {
    "tdb_dap/cli/main.py": b"print()\n",
    "tdb_dap-0.1.0.dist-info/RECORD": b"tdb_dap/cli/main.py,,\n",
    "tdb_dap-0.1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\n",
    "zoo.py": b"",
    "bin/run": b"#!/bin/sh\n",
}


def packed(path: Path, names: Iterable[str], times: int, umask: int) -> Path:
    """The files, packed in that order; all are of a time, and ``bin/run`` can be executed."""
    folder = path.parent / f"files-{path.name}"
    for name in names:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(FILES[name])
        file.chmod((0o777 if name == "bin/run" else 0o666) & ~umask)
        os.utime(file, (times, times))
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path, "w:gz", format=tarfile.GNU_FORMAT) as tar:
            for name in names:
                tar.add(folder / name, name)
    else:
        with zipfile.ZipFile(path, "w") as archive:
            for name in names:
                archive.write(folder / name, name)
    return path


@pytest.mark.parametrize("suffix", [".tar.gz", ".whl", ".vsix"])
def test_order_time_and_mode_leave_no_trace(tmp_path: Path, suffix: str) -> None:
    first = packed(tmp_path / f"first{suffix}", sorted(FILES), 1_600_000_000, 0o022)
    second = packed(tmp_path / f"second{suffix}", FILES, 1_650_000_000, 0o077)
    assert first.read_bytes() != second.read_bytes()
    for path in (first, second):
        normalise(path, EPOCH)
        assert contents(path) == FILES
    assert first.read_bytes() == second.read_bytes()
    normalise(first, EPOCH)
    assert first.read_bytes() == second.read_bytes()
    normalise(first, EPOCH + 60)
    assert first.read_bytes() != second.read_bytes()


def test_a_wheel_ends_with_the_list_of_its_files_and_keeps_what_can_be_executed(tmp_path: Path) -> None:
    wheel = packed(tmp_path / "x.whl", FILES, 1_600_000_000, 0o022)
    normalise(wheel, EPOCH)
    with zipfile.ZipFile(wheel) as archive:
        modes = {info.filename: info.external_attr >> 16 & 0o777 for info in archive.infolist()}
    assert list(modes)[-2:] == ["tdb_dap-0.1.0.dist-info/WHEEL", "tdb_dap-0.1.0.dist-info/RECORD"]
    assert [name for name, mode in modes.items() if mode == 0o755] == ["bin/run"]
    assert set(modes.values()) == {0o755, 0o644}


def test_what_differs_between_two_builds_is_named(tmp_path: Path) -> None:
    builds = []
    for number, names in enumerate((list(FILES), list(FILES), sorted(FILES), list(FILES)[1:])):
        folder = tmp_path / str(number)
        folder.mkdir()
        builds.append([packed(folder / "x.whl", names, 1_600_000_000, 0o022)])
    built, same, otherwise_packed, less = builds
    assert list(differences(built, same)) == []
    assert list(differences(built, otherwise_packed)) == ["x.whl: the same files, packed differently"]
    assert list(differences(built, less)) == ["x.whl: tdb_dap/cli/main.py"]
    assert list(differences(built, [])) == ["x.whl: in one build only"]
