"""Runners of the segments of a check: this process, several on this machine, or a Dask cluster."""

from __future__ import annotations

import multiprocessing
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.forked_worker import processors
from tdb_dap.system.parent_watchdog import ParentWatchdog, interrupts_blocked
from tdb_dap.tools.check.worker import Segment, Worker, adopt, prepare, run_elsewhere

if TYPE_CHECKING:
    from tdb_dap.tools.check.results import Walked
    from tdb_dap.tools.check.worker import Job

Progress = Callable[[int], None]
"""Told how many commands are done."""


class Team(Protocol):
    """Runs segments. ``size``: how many at a time."""

    @property
    def size(self) -> int: ...

    def run(self, segments: Sequence[Segment], worker: Worker, progress: Progress) -> Iterator[tuple[Segment, Walked]]:
        """Results of each segment, in any order. ``worker``: that of this process."""
        ...

    def close(self) -> None: ...


class Alone:
    """This process only."""

    size = 1

    def run(self, segments: Sequence[Segment], worker: Worker, progress: Progress) -> Iterator[tuple[Segment, Walked]]:
        done, worker.is_alone = 0, True
        for start, stop in segments:
            yield (start, stop), worker.run((start, stop), _shifted(progress, done - start))
            done += stop - start

    def close(self) -> None:
        """Nothing to end."""


def _shifted(progress: Progress, by: int) -> Progress:
    return lambda ordinal: progress(ordinal + by)


def processes(wanted: int, pieces: int) -> int:
    """Number of processes to use: no more than there are pieces of work, or processors that this process may use."""
    return max(1, min(wanted, pieces, max(2, processors())))


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


class Dask:
    """The workers of a running Dask cluster, which must see the files under the same paths."""

    def __init__(self, job: Job, address: str) -> None:
        try:
            self._distributed = import_module("distributed")
        except ImportError:
            raise BadInput("--dask: Dask is not installed; pip install 'dask[distributed]'") from None
        self._job = job
        try:
            self._client = self._distributed.Client(address, timeout="5s")
            self.size = max(1, sum(self._client.nthreads().values()))
        except (OSError, ValueError, TimeoutError) as error:
            raise BadInput(f"--dask {address}: no scheduler answers there: {error}") from None

    def run(self, segments: Sequence[Segment], worker: Worker, progress: Progress) -> Iterator[tuple[Segment, Walked]]:
        futures = {self._client.submit(run_elsewhere, self._job, segment, pure=False): segment for segment in segments}
        done = 0
        for future in self._distributed.as_completed(futures):
            segment = futures[future]
            try:
                walked = future.result()
            except TdbError as error:
                raise TdbError(f"on a worker of the cluster: {error}") from None
            done += segment[1] - segment[0]
            progress(done)
            yield segment, walked

    def close(self) -> None:
        self._client.close()
