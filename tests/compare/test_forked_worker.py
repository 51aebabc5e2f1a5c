"""Tensors judged in a copy of the process that runs the program: the same results, errors and order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine import npz
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system import forked_worker
from tdb_dap.system.forked_worker import ForkedWorker, InProcess
from tdb_dap.tools.check import worker as worker_module
from tdb_dap.tools.check.results import Walked
from tdb_dap.tools.check.worker import Job, Worker
from tdb_dap.tools.model_options import ModelOptions
from tests.cli.test_workers import expect_end
from tests.compare.test_tdb_profile import RECORDED
from tests.samples import Case, case

pytestmark = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="copies of a process are for Linux")

Numbered = tuple[int, Array]


def arguments(count: int, most: int) -> Iterator[Numbered]:
    random = np.random.default_rng(count)
    for number in range(count):
        yield number, random.integers(0, 255, int(random.integers(0, most)), np.uint8)


def summed(argument: Numbered) -> tuple[int, int]:
    return argument[0], int(argument[1].sum())


def test_results_are_those_of_calls_here_in_their_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many times the memory between the two, and arrays that are larger than it."""
    monkeypatch.setattr(forked_worker, "_ROOM", 4096)
    here, apart = InProcess(summed), ForkedWorker(summed)
    for _ in range(2):
        for argument in arguments(400, 6000):
            here.add(argument)
            apart.add(argument)
        assert apart.results() == here.results()
    apart.close()


def refuses_the_third(argument: Numbered) -> int:
    if argument[0] == 3:
        raise BadInput(f"{argument[1].sum()} in process {os.getpid()}")
    return argument[0]


@pytest.mark.parametrize("count", [4, 2000])
def test_what_a_call_raises_is_raised_in_this_process(count: int) -> None:
    apart = ForkedWorker(refuses_the_third)

    def give_all() -> None:
        for number in range(count):
            apart.add((number, np.ones(number, np.uint8)))
        apart.results()

    with pytest.raises(BadInput, match=f"^3 in process {os.getpid()}$"):
        give_all()
    apart.close()


def test_what_fails_in_the_copy_alone_goes_on_here() -> None:
    this = os.getpid()

    def fails_elsewhere(argument: Numbered) -> tuple[int, int]:
        if argument[0] >= 20 and os.getpid() != this:
            raise MemoryError
        return summed(argument)

    here, apart = InProcess(summed), ForkedWorker(fails_elsewhere)
    for argument in arguments(300, 1000):
        here.add(argument)
        apart.add(argument)
    assert apart.results() == here.results()
    apart.add((1, np.ones(5, np.uint8)))
    assert apart.results() == [(1, 5)]


def test_a_copy_that_was_ended_is_an_error() -> None:
    apart = ForkedWorker(summed)
    os.kill(apart._copy, signal.SIGKILL)
    with pytest.raises(TdbError, match="has ended before its work was done"):
        apart.results()
    apart.close()


def test_a_copy_ends_when_it_is_closed() -> None:
    apart = ForkedWorker(summed)
    apart.add((1, np.ones(5, np.uint8)))
    apart.close()
    expect_end([apart._copy])


SCRIPT = """
import sys
from tdb_dap.system.forked_worker import ForkedWorker

apart = ForkedWorker(len)
print(apart._copy, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_copy_ends_with_the_process_that_made_it(end: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout is not None
        copy = int(parent.stdout.readline())
        parent.send_signal(end)
        expect_end([copy])
        parent.kill()


def walked(job: Job, monkeypatch: pytest.MonkeyPatch, is_apart: bool) -> Walked:
    monkeypatch.setattr(worker_module, "AT_ONCE", 0)
    monkeypatch.setattr(worker_module, "is_possible", lambda: is_apart)
    worker = Worker(job, "cascade")
    worker.is_alone = True
    try:
        found = worker.run((0, len(worker.debugger.program.commands)))
        assert isinstance(worker._judging, ForkedWorker if is_apart else InProcess)
        return found
    finally:
        worker.close()


def job_of(of: Case, reference: Path) -> Job:
    return Job(ModelOptions(of.path, of.inputs, (reference,)), Tolerances.parse([], []))


def written(path: Path, arrays: dict[str, Array]) -> Path:
    np.savez(path, **arrays)  # type: ignore[arg-type]
    return path


@pytest.mark.parametrize("of", RECORDED, ids=lambda of: of.name)
def test_rows_do_not_depend_on_who_judges(of: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With pictures; one tensor is wrong, one holds an infinity and a NaN."""
    with np.load(of.reference) as archive:
        arrays = {name: archive[name] for name in archive.files}
    names = list(arrays)
    wrong, odd = names[len(names) // 2], names[-1]
    arrays[wrong] = arrays[wrong] * np.float32(1.01) + 1
    arrays[odd].reshape(-1)[:2] = np.inf, np.nan
    job = job_of(of, written(tmp_path / "r.npz", arrays))
    found = walked(job, monkeypatch, True)
    assert any(row.verdict == "fail" for row in found.rows)
    assert repr(found) == repr(walked(job, monkeypatch, False))  # NaN differs from itself


@pytest.mark.parametrize("is_apart", [True, False], ids=["apart", "here"])
def test_a_damaged_reference_ends_the_check(is_apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the last of its numbers, which nobody has read when the run begins."""
    of = case("toy_bm1684x_f32")
    monkeypatch.setattr(npz, "AT_ONCE", 0)
    with np.load(of.reference) as archive:
        arrays = {name: archive[name] for name in archive.files}
    path = written(tmp_path / "r.npz", arrays)
    data = bytearray(path.read_bytes())
    data[data.rindex(list(arrays.values())[-1].tobytes()[-64:])] ^= 1
    path.write_bytes(data)
    with pytest.raises(BadInput, match="Bad CRC-32") as found:
        walked(job_of(of, path), monkeypatch, is_apart)
    with pytest.raises(BadInput) as at_once:
        npz.open_npz(path)
    assert str(found.value) == str(at_once.value)
