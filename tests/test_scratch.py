"""Directories for a while: they are gone afterwards, also those of processes that were killed, and nobody else's."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tdb_dap.errors import BadInput
from tdb_dap.system.scratch import SOCKET_PATH, scratch_directory

pytestmark = pytest.mark.skipif(os.name != "posix", reason="directories are locked on POSIX")

HOLD = """
import sys
from tdb_dap.system.scratch import scratch_directory
with scratch_directory() as folder:
    (folder / "file").write_text("held")
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holding(temporary: Path) -> tuple[subprocess.Popen[str], Path]:
    """A process with a directory."""
    environment = {**os.environ, "TMPDIR": str(temporary)}
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_it_is_removed_at_the_end_and_after_an_error(temporary: Path) -> None:
    with scratch_directory() as folder:
        (folder / "file").write_text("x")
        assert folder.stat().st_mode & 0o777 == 0o700
    with pytest.raises(KeyError), scratch_directory() as other:
        raise KeyError
    assert not folder.exists()
    assert not other.exists()


def test_what_a_killed_process_has_left_is_removed_by_the_next(temporary: Path) -> None:
    killed, left = holding(temporary)
    alive, held = holding(temporary)
    killed.kill()
    killed.communicate()
    (temporary / "tdb-dap-models").mkdir()
    (temporary / "target").mkdir()
    (temporary / "tdb-dap-scratch-link").symlink_to(temporary / "target")
    assert left.exists()
    with scratch_directory() as own:
        assert {path.name for path in temporary.iterdir()} == {
            own.name,
            held.name,
            "tdb-dap-models",
            "target",
            "tdb-dap-scratch-link",
        }
    assert (held / "file").read_text() == "held"
    alive.communicate()
    assert not held.exists()


def test_a_short_path_where_the_usual_one_is_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path.joinpath(*["long" * 10] * 3)
    long.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    with scratch_directory() as folder:
        assert folder.parent == long
    with scratch_directory(SOCKET_PATH) as folder:
        assert len(str(folder)) + len("/socket") < SOCKET_PATH
    monkeypatch.setattr("tdb_dap.system.scratch._SHORT", ())
    with pytest.raises(BadInput, match="is too long a path for a socket; TMPDIR names another place"):
        scratch_directory(SOCKET_PATH).__enter__()


def test_no_place_is_one_line(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(BadInput, match="cannot be written: No such file or directory"):
        scratch_directory().__enter__()
