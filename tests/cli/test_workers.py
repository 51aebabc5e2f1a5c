"""Processes that a check starts: as many as there is work for, and none that outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tdb_dap.tools.check.team import processes
from tests.command_line import tdb_dap
from tests.conftest import Toy

linux = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks into /proc")

TEAM = """
import multiprocessing, sys
from pathlib import Path
from tdb_dap.tools.check.worker import Job
from tdb_dap.tools.check.process_team import Processes
from tdb_dap.tools.check.worker import Worker
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.tools.model_options import ModelOptions

if __name__ == "__main__":
    sample = Path({sample!r})
    job = Job(ModelOptions(sample, sample / "input.npz", (sample / "ref.npz",)), Tolerances.parse([], []))
    team = Processes(job, 3, Worker(job, "standalone") if {copies} else None)
    for future in team._given:
        future.result()
    print(*(child.pid for child in multiprocessing.active_children()), flush=True)
    sys.stdin.read()
    team.close()
"""


def team(toy: Toy, tmp_path: Path, copies: bool) -> tuple[subprocess.Popen[str], list[int]]:
    """A process with two workers, ready and idle; it ends when its standard input is closed."""
    script = tmp_path / "team.py"
    script.write_text(TEAM.format(sample=str(toy.directory), copies=copies))
    parent = subprocess.Popen([sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    workers = [int(word) for word in parent.stdout.readline().split()]
    assert len(workers) == 2
    return parent, workers


def lives(pid: int) -> bool:
    """Whether a process is there and is not only waiting to be taken notice of."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def expect_end(workers: list[int]) -> None:
    for _ in range(300):
        if not any(map(lives, workers)):
            return
        time.sleep(0.1)
    for pid in filter(lives, workers):
        os.kill(pid, signal.SIGKILL)
    raise AssertionError("workers outlive the process that started them")


@linux
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
@pytest.mark.parametrize("copies", [True, False], ids=["copies", "anew"])
def test_workers_end_with_the_process_that_started_them(
    toy: Toy, tmp_path: Path, copies: bool, end: signal.Signals
) -> None:
    parent, workers = team(toy, tmp_path, copies)
    parent.send_signal(end)
    expect_end(workers)
    parent.communicate(timeout=30)  # nobody holds its pipes


@linux
def test_workers_end_when_the_check_is_over(toy: Toy, tmp_path: Path) -> None:
    parent, workers = team(toy, tmp_path, copies=True)
    parent.communicate("", timeout=30)
    assert parent.returncode == 0
    expect_end(workers)


@linux
def test_ctrl_c_ends_a_check_with_workers_without_a_word(toy: Toy, tmp_path: Path) -> None:
    """It goes to all processes of a terminal; the workers have nothing to say about it."""
    data = ("--inputs", toy.inputs, "--reference", toy.reference, "--quiet")
    command = [sys.executable, "-m", "tdb_dap", "check", toy.directory, *data, "--mode", "standalone", "--jobs", "2"]
    check = subprocess.Popen(
        [*map(str, command)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    children = Path(f"/proc/{check.pid}/task/{check.pid}/children")
    workers: list[int] = []
    while not workers and check.poll() is None:
        workers = [int(word) for word in children.read_text().split()]
    os.killpg(check.pid, signal.SIGINT)
    _, said = check.communicate(timeout=30)
    assert check.returncode in (130, 0)  # it may have been about to end
    assert "Traceback" not in said
    expect_end(workers)


def test_there_are_no_more_processes_than_work_and_processors() -> None:
    processors = max(2, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    assert processes(1000, 1000) == processors
    assert processes(2, 1000) == 2
    assert processes(1000, 1) == 1
    assert processes(1000, 0) == 1


@pytest.mark.parametrize("jobs", [0, -1, 1025, 1_000_000])
def test_an_absurd_number_of_processes_is_refused(toy: Toy, jobs: int) -> None:
    done = tdb_dap("check", toy.directory, "--reference", toy.reference, "--mode", "standalone", "--jobs", jobs)
    assert done.returncode == 2
    assert done.stderr.startswith(f"tdb-dap: error: --jobs {jobs:,}: give the number of processes")
    assert done.stderr.count("\n") == 1
