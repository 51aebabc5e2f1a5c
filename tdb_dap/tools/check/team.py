"""Runners of the segments of a check: this process, several on this machine, or a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.forked_worker import processors
from tdb_dap.tools.check.worker import Segment, Worker, run_elsewhere

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
