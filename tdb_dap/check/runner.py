"""Running a program and comparing as it goes, in this process or in several."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.check.rows import row_of
from tdb_dap.check.schema import Row
from tdb_dap.engine.compare.finding import Checked
from tdb_dap.engine.compare.segments import start_at, stretches
from tdb_dap.engine.compare.tolerance import Tolerances
from tdb_dap.engine.compare.walk import Mode, Walk
from tdb_dap.errors import BadInput, TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.debugger import Debugger
    from tdb_dap.engine.dtypes import Array


@dataclass(frozen=True)
class Job:
    """What is checked, and how; goes to other processes as it is. ``keep``: which tensors come back with the rows."""

    context: Path
    inputs: Path | None
    references: tuple[Path, ...]
    tolerances: Tolerances
    backend: str = "numpy"
    static_tables: str = "firmware"
    cmodel_path: Path | None = None
    net: str | None = None
    stage: int = 0
    keep: str = "none"

    def open(self) -> Debugger:
        """A debugger at the start of the program. BadInput if there is nothing to compare with."""
        from tdb_dap.opening import open_debugger

        debugger = open_debugger(
            self.context,
            self.inputs,
            self.references,
            backend=self.backend,
            static_tables=self.static_tables,
            tolerance=self.tolerances,
            history_limit=0,
            cmodel_path=self.cmodel_path,
            net=self.net,
            stage=self.stage,
        )
        if debugger.reference is None:
            raise BadInput(f"{self.context}: nothing to compare with; give --reference R.npz, the ..._tpu_outputs.npz")
        return debugger


@dataclass(frozen=True)
class Looked:
    """A row and, where they were to be kept, the tensors behind it."""

    row: Row
    actual: Array | None = None
    expected: Array | None = None


@dataclass(frozen=True)
class Walked:
    """What a run has found. ``stopped``: why it did not reach the end, if so."""

    found: tuple[Looked, ...]
    stopped: str = ""

    @property
    def rows(self) -> list[Row]:
        return [looked.row for looked in self.found]


Progress = Callable[[int], None]


def walk(job: Job, mode: Mode, progress: Progress, debugger: Debugger | None = None) -> Walked:
    """One run of the whole program; ``progress`` is told how many commands are done."""
    opened = debugger or job.open()
    return _walk(job, mode, opened, len(opened.program.commands), progress)


def walk_in_processes(job: Job, jobs: int, progress: Progress) -> Walked:
    """Standalone, cut into stretches that run at the same time; the rows are those of one run."""
    opened = job.open()
    assert opened.reference is not None
    ranges = stretches(opened.program, opened.reference, jobs)
    if len(ranges) < 2:
        return walk(job, "standalone", progress, opened)
    opened.close()
    done = 0
    found: list[Looked] = []
    stopped = ""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(jobs, len(ranges)), mp_context=context) as pool:
        try:
            futures = [pool.submit(_stretch, job, start, stop) for start, stop in ranges]
            for future, (start, stop) in zip(futures, ranges, strict=True):
                part = future.result()
                found += part.found
                stopped = stopped or part.stopped
                done += stop - start
                progress(done)
        except BrokenProcessPool:
            raise TdbError("a process of the check has ended; with --jobs 1 the whole runs in this one") from None
    return Walked(_merged(found), stopped)


def _stretch(job: Job, start: int, stop: int) -> Walked:
    debugger = job.open()
    if start:
        start_at(debugger, start)
    return _walk(job, "standalone", debugger, stop, lambda done: None)


def _walk(job: Job, mode: Mode, debugger: Debugger, stop: int, progress: Progress) -> Walked:
    found: list[Looked] = []
    walker = Walk(mode, lambda checked: found.append(_looked(checked, job.keep)), (debugger.ordinal, stop))
    debugger.observers.append(walker)
    debugger.between_commands = lambda: progress(debugger.ordinal)
    start = debugger.ordinal
    is_whole = stop == len(debugger.program.commands)
    ended = debugger.run() if is_whole else debugger.step(stop - start)
    debugger.close()
    return Walked(tuple(found), ended.text if ended.finding is not None else "")


def _looked(checked: Checked, keep: str) -> Looked:
    result = checked.comparison
    if result is None or keep == "none" or (keep == "failed" and checked.verdict != "fail"):
        return Looked(row_of(checked))
    return Looked(row_of(checked), result.actual, result.expected)


def _merged(found: list[Looked]) -> tuple[Looked, ...]:
    """The net's outputs are looked at by the last stretch only where no op of it has named them."""
    named = {looked.row.name for looked in found if looked.row.role == "result"}
    return tuple(looked for looked in found if looked.row.role != "output" or looked.row.name not in named)


def in_order(found: Iterator[Looked] | tuple[Looked, ...]) -> list[Looked]:
    """By time: an op's operands, then its results."""
    return sorted(found, key=lambda looked: (looked.row.last, looked.row.role != "operand"))
