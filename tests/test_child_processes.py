"""Programs that are not of this package: what they print is kept, and nothing that they start is left behind."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tdb_dap.system.child_processes import run_logged

pytestmark = pytest.mark.skipif(os.name != "posix", reason="the programs are scripts of the shell")


def test_what_a_program_prints_is_in_the_log_and_its_exit_code_is_returned(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert run_logged(["sh", "-c", "pwd; echo wrong >&2; exit 3"], tmp_path, log, 60) == 3
    assert log.read_text().splitlines() == [str(tmp_path.resolve()), "wrong"]
    assert run_logged(["sh", "-c", "true"], tmp_path, log, 60) == 0


def test_a_program_that_does_not_end_is_ended_with_what_it_has_started(tmp_path: Path) -> None:
    """None, as no program can return it; a process of its own that the program waits for is gone, too."""
    log = tmp_path / "log"
    assert run_logged(["sh", "-c", "sleep 600 & echo $!; wait"], tmp_path, log, 1) is None
    started = int(log.read_text())
    for _ in range(100):
        if not runs(started):
            return
        time.sleep(0.05)
    pytest.fail("the process that it started still runs")


def runs(process: int) -> bool:
    """A process that has ended may be there until its parent has asked for it."""
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_program_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="no-such-program"):
        run_logged(["no-such-program"], tmp_path, tmp_path / "log", 1)
