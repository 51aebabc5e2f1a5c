"""Functions that are called in processes of their own: their results, errors and ends."""

from __future__ import annotations

import math
import os
import shlex
import sys
import time
from pathlib import Path

import pytest

from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.fork_server import ForkServer
from tdb_dap.system.worker_process import Died, WorkerProcess
from tests.test_child_processes import runs

_PATIENCE = 60.0


def test_the_result_comes_back_and_what_is_printed_does_not_spoil_it(tmp_path: Path) -> None:
    with WorkerProcess(os.getcwd, folder=tmp_path) as worker:
        assert worker.wait(_PATIENCE)
        assert Path(worker.result()) == tmp_path.resolve()
    with WorkerProcess(print, "something") as printing:
        assert printing.wait(_PATIENCE)
        assert printing.result() is None


def test_modules_of_the_working_directory_are_not_imported(tmp_path: Path) -> None:
    for name in ("json", "pickle", "traceback", "tempfile"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)")
    with WorkerProcess(math.sqrt, 9.0, folder=tmp_path) as worker:
        assert worker.wait(_PATIENCE)
        assert worker.result() == 3


def test_an_error_is_its_sentence() -> None:
    from tdb_dap.tools.programs import open_program

    with WorkerProcess(open_program, "nowhere") as worker:
        assert worker.wait(_PATIENCE)
        with pytest.raises(TdbError, match="nowhere: no such file"):
            worker.result()
    with WorkerProcess(math.sqrt, -1.0) as worker:
        assert worker.wait(_PATIENCE)
        with pytest.raises(TdbError, match=r"internal error, please report it: ValueError: .*worker_process.py"):
            worker.result()


@pytest.mark.skipif(not ForkServer.is_possible(), reason="forks")
def test_a_fork_server_starts_workers_that_know_its_modules(tmp_path: Path) -> None:
    with ForkServer(["tdb_dap.tools.opening"]) as server:
        with WorkerProcess(os.getpid, folder=tmp_path, server=server) as first:
            assert first.wait(_PATIENCE)
            assert first.result() == first.process.pid
        with WorkerProcess(eval, _STATE, folder=tmp_path, server=server) as worker:
            assert worker.wait(_PATIENCE)
            assert worker.result() == [str(tmp_path.resolve()), True, worker.process.pid]
        assert first.process.pid != worker.process.pid
        with WorkerProcess(math.sqrt, -1.0, server=server) as failing:
            assert failing.wait(_PATIENCE)
            with pytest.raises(TdbError, match="ValueError"):
                failing.result()
        for function, words in ((os.abort, "signal|SIGABRT"), (os._exit, "code 3")):
            with WorkerProcess(function, *((3,) if function is os._exit else ()), server=server) as dying:
                assert dying.wait(_PATIENCE)
                with pytest.raises(Died, match=f"its process ended with ({words})"):
                    dying.result()
        with WorkerProcess(time.sleep, 600, server=server) as endless:
            assert not endless.wait(0.2)
        assert not runs(endless.process.pid)


@pytest.mark.skipif(not ForkServer.is_possible(), reason="forks")
def test_workers_end_with_their_fork_server(tmp_path: Path) -> None:
    server = ForkServer([])
    with WorkerProcess(time.sleep, 600, server=server) as worker:
        assert not worker.wait(0.1)
        server._process.kill()
        assert worker.wait(_PATIENCE)
        with pytest.raises(Died, match="SIGKILL"):
            worker.result()
        assert _ended(worker.process.pid)
    with WorkerProcess(math.sqrt, 9.0, server=server) as alone:  # without it, a new Python does it
        assert alone.wait(_PATIENCE)
        assert alone.result() == 3
    with ForkServer([]) as other, WorkerProcess(time.sleep, 600, server=other) as left:
        other.__exit__()
        assert left.wait(_PATIENCE)
        assert _ended(left.process.pid)


_STATE = """[
    *(os.getcwd() for os in [__import__("os")]),
    "tdb_dap.tools.opening" in __import__("sys").modules,
    __import__("os").getsid(0),
]"""


def _ended(pid: int) -> bool:
    for _ in range(1000):
        if not runs(pid):
            return True
        time.sleep(0.05)
    return False


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_process_that_dies_is_named_by_its_signal_or_code() -> None:
    for function, words in ((os.abort, "signal|SIGABRT"), (os._exit, "code 3")):
        with WorkerProcess(function, *((3,) if function is os._exit else ())) as worker:
            assert worker.wait(_PATIENCE)
            with pytest.raises(Died, match=f"its process ended with ({words})"):
                worker.result()


@pytest.mark.skipif(os.name != "posix", reason="sessions of processes")
def test_it_is_ended_with_what_it_has_started(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with WorkerProcess(os.system, f"echo $$ > {shlex.quote(str(file))}; exec sleep 600") as worker:
        while not (file.exists() and file.read_text().strip()):
            assert not worker.wait(0.05)
    started = int(file.read_text())
    assert _ended(started)


def test_what_cannot_be_sent_is_an_error_here() -> None:
    with pytest.raises((AttributeError, TypeError), match="pickle"):
        WorkerProcess(lambda: sys)
    assert issubclass(Died, TdbError)
    assert not issubclass(Died, BadInput)
