"""What is written is whole or not there, and nothing else is touched."""

from __future__ import annotations

import os
import select
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.files.atomic_files import refuse_unwritable, whole_file, whole_path, write_text
from tdb_dap.engine.machine.npz import read_npz, write_npz
from tdb_dap.errors import BadInput

unix = pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes of Unix")


def write_half_a_file(place: Path) -> None:
    with whole_file(place) as file:
        file.write(b"new and not com")
        raise RuntimeError


def write_half_a_folder(place: Path) -> None:
    with whole_path(place) as unfinished:
        unfinished.mkdir(parents=True)
        (unfinished / "half").write_text("")
        raise RuntimeError


WRITES = """
import os, sys, time
from pathlib import Path
from tdb_dap.engine.files.atomic_files import whole_file
with whole_file(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self/ns/pid").exists(), reason="processes are told apart by /proc")
def test_what_a_killed_process_has_left_goes_with_the_next_of_that_name(tmp_path: Path) -> None:
    def writing(name: str) -> subprocess.Popen[str]:
        process = subprocess.Popen([sys.executable, "-c", WRITES, tmp_path / name], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        assert process.stdout.readline() == "written\n"
        return process

    killed, alive, other = writing("report"), writing("report"), writing("report.other")
    for process in (killed, other):
        process.kill()
        process.communicate()
    elsewhere = tmp_path / f".report.00000000-{killed.pid}-0.part"  # of another machine, that shares the directory
    elsewhere.write_text("")
    write_text(tmp_path / "report", "whole")
    left = {path.name.split("-")[1] for path in tmp_path.iterdir() if path.name.startswith(".") and path != elsewhere}
    assert left == {str(alive.pid), str(other.pid)}
    assert elsewhere.exists()
    assert (tmp_path / "report").read_text() == "whole"
    alive.kill()
    alive.communicate()


def test_after_an_error_the_old_file_is_there_and_nothing_else(tmp_path: Path) -> None:
    place = tmp_path / "report"
    write_text(place, "old")
    with pytest.raises(RuntimeError):
        write_half_a_file(place)
    assert [path.name for path in tmp_path.iterdir()] == ["report"]
    assert place.read_text() == "old"
    write_text(place, "new")
    assert place.read_text() == "new"


def test_arrays_that_cannot_be_written_leave_nothing(tmp_path: Path) -> None:
    class Unreadable:
        def __array__(self, *_: object, **__: object) -> np.ndarray:
            raise OSError(28, "No space left on device")

    with pytest.raises(BadInput, match=r"out\.npz: cannot be written: No space left on device"):
        write_npz(tmp_path / "out.npz", {"a": np.ones(1000), "b": Unreadable()})  # type: ignore[dict-item]
    assert list(tmp_path.iterdir()) == []


@unix
def test_links_and_modes_stay(tmp_path: Path) -> None:
    place, link = tmp_path / "there", tmp_path / "here"
    write_text(place, "old")
    place.chmod(0o640)
    link.symlink_to(place)
    write_text(link, "new")
    assert link.is_symlink()
    assert place.read_text() == "new"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


@unix
def test_a_new_file_has_the_mode_of_any_other(tmp_path: Path) -> None:
    write_text(tmp_path / "ours", "")
    (tmp_path / "other").write_text("")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "other").stat().st_mode


@unix
def test_a_pipe_that_somebody_reads_gets_everything_and_another_is_refused(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    arrays = {"a": np.arange(1 << 16)}
    with pytest.raises(BadInput, match="nobody reads from this pipe"):
        write_npz(pipe, arrays)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    os.set_blocking(reader, True)
    writer = threading.Thread(target=write_npz, args=(pipe, arrays))
    writer.start()
    select.select([reader], [], [], 30)
    with open(reader, "rb") as source:
        (tmp_path / "copy.npz").write_bytes(source.read())
    writer.join(30)
    assert (read_npz(tmp_path / "copy.npz")["a"] == arrays["a"]).all()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_devices_are_written_as_they_are() -> None:
    write_text(Path("/dev/null"), "x")
    with pytest.raises(BadInput, match="/dev/full: cannot be written: No space left on device"):
        write_text(Path("/dev/full"), "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_directory_is_whole_as_well(tmp_path: Path) -> None:
    place = tmp_path / "deep" / "folder"
    for _ in range(2):
        with pytest.raises(RuntimeError):
            write_half_a_folder(place)
        assert list(tmp_path.rglob("half")) == []
    place.mkdir()
    with whole_path(place) as unfinished:
        unfinished.mkdir()
        (unfinished / "all").write_text("")
    assert [path.name for path in place.parent.rglob("*")] == ["folder", "all"]


def test_what_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    for place, why in ((tmp_path, "it is a directory"), (tmp_path / "none" / "x", "there is no directory")):
        with pytest.raises(BadInput, match=why):
            refuse_unwritable(place)


def test_a_name_that_is_no_text_is_written_as_an_escape(tmp_path: Path) -> None:
    write_text(tmp_path / "x", "m\udcff")
    assert (tmp_path / "x").read_text() == "m\\udcff"
