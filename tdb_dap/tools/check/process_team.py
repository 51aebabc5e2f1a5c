"""A team of processes on this machine."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TYPE_CHECKING, Any

from tdb_dap.errors import TdbError
from tdb_dap.system.parent_watchdog import ParentWatchdog, interrupts_blocked
from tdb_dap.tools.check.team import Progress
from tdb_dap.tools.check.worker import Segment, Worker, adopt, prepare, run_elsewhere

if TYPE_CHECKING:
    from tdb_dap.tools.check.results import Walked
    from tdb_dap.tools.check.worker import Job


class Processes:
    """This process and ``count`` - 1 others.

    On Linux they are copies of this one, where ``worker`` has the model open already and nothing has been executed;
    elsewhere, and where the backend has its own processes, they are started anew and open it themselves.
    """

    def __init__(self, job: Job, count: int, worker: Worker | None = None) -> None:
        self.size = count
        self._job = job
        copies = worker is not None and job.model.backend == "numpy" and sys.platform == "linux"
        if worker is not None and copies:
            adopt(job, worker)
        context = multiprocessing.get_context("fork" if copies else "spawn")
        self._watchdog = ParentWatchdog(context)
        self._pool = ProcessPoolExecutor(
            count - 1, mp_context=context, initializer=ParentWatchdog.worker, initargs=self._watchdog.arguments
        )
        with interrupts_blocked():
            self._given: list[Future[Any]] = [self._pool.submit(prepare, job) for _ in range(count - 1)]

    def run(self, segments: Sequence[Segment], worker: Worker, progress: Progress) -> Iterator[tuple[Segment, Walked]]:
        """Whatever the others have not begun when this process is free, it does itself."""
        futures = [(segment, self._pool.submit(run_elsewhere, self._job, segment)) for segment in segments]
        self._given += [future for _, future in futures]
        done = 0
        elsewhere = []
        try:
            for segment, future in futures:
                if future.cancel():
                    yield segment, worker.run(segment)
                    done += segment[1] - segment[0]
                    progress(done)
                else:
                    elsewhere.append((segment, future))
            for segment, future in elsewhere:
                yield segment, future.result()
                done += segment[1] - segment[0]
                progress(done)
        except BrokenProcessPool:
            raise TdbError("a process of the check has ended; with --jobs 1 the whole runs in this one") from None

    def close(self) -> None:
        """End the others; what they are still about, after an interrupt or an error, is left undone."""
        if not all(future.done() for future in self._given):
            self._watchdog.end_workers()
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._watchdog.end_workers()
