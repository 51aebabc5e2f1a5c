"""Executors of cases: processes of this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
import tempfile
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from tdb_dap.engine.files.atomic_files import whole_path
from tdb_dap.errors import BadInput
from tdb_dap.system.fork_server import ForkServer
from tdb_dap.system.forked_worker import processors
from tdb_dap.tools.zoo.case_run import command_line, run_case
from tdb_dap.tools.zoo.cases import Case, digest_of, files_of
from tdb_dap.tools.zoo.result import Result, Status, Step
from tdb_dap.tools.zoo.steps import NEEDED

_TRIES = 3
"""Workers that a case may lose before their death is taken for its own fault."""

_MOST_JOBS = 1024
"""Cases at a time that may be asked for."""

_AHEAD = 2
"""Cases for each thread of a cluster that are under way, so that no worker waits and no memory fills."""

KEEP = "TDB_DAP_ZOO_CACHE"
"""Environment variable of a worker: the folder in which it keeps contexts."""


class Executor(Protocol):
    """Works on cases. ``size``: how many at a time."""

    @property
    def size(self) -> int: ...

    def work(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Result]]:
        """Results in any order."""
        ...


class LocalExecutor:
    """This machine, ``size`` cases at a time."""

    def __init__(self, size: int) -> None:
        self.size = size

    def work(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Result]]:
        stop = threading.Event()
        with ExitStack() as stack:
            server = stack.enter_context(ForkServer(NEEDED)) if ForkServer.is_possible() else None
            pool = stack.enter_context(ThreadPoolExecutor(self.size, thread_name_prefix="tdb-dap zoo"))
            futures = {pool.submit(run_case, case, stop.is_set, server): case for case in cases}
            waiting: set[Future[Result]] = set(futures)
            try:
                while waiting:
                    # An interrupt gets through between two waits, not in one without end on every system.
                    done, waiting = wait(waiting, 0.5, FIRST_COMPLETED)
                    for future in done:
                        yield futures[future], future.result()
            finally:
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)


def executor_of(jobs: int | None, dask: str | None) -> Executor:
    """The workers of a Dask cluster, or this machine, ``jobs`` cases at a time (None: one for each processor)."""
    if dask and jobs is not None:
        raise BadInput("--jobs and --dask: give one of them")
    if dask:
        return DaskExecutor(dask)
    if jobs is not None and not 1 <= jobs <= _MOST_JOBS:
        raise BadInput(f"--jobs {jobs:,}: give the number of cases at a time, 1 to {_MOST_JOBS:,}")
    return LocalExecutor(jobs or max(2, processors()))


class DaskExecutor:
    """The workers of a Dask cluster that runs already. They need this package, and no files of this machine.

    A context travels once to a worker, which keeps it in a folder under the hash of its files.
    """

    def __init__(self, address: str) -> None:
        try:
            self._distributed = import_module("distributed")
        except ImportError:
            raise BadInput("--dask: Dask is not installed; pip install 'dask[distributed]'") from None
        try:
            self._client = self._distributed.Client(address, timeout="5s")
        except (OSError, ValueError, TimeoutError) as error:
            raise BadInput(f"--dask {address}: no scheduler answers there: {error}") from None
        self.size = max(1, sum(self._client.nthreads().values()))

    def work(self, cases: Sequence[Case]) -> Iterator[tuple[Case, Result]]:
        left = deque((case, 1, False) for case in cases)
        running: dict[Any, tuple[Case, int]] = {}
        try:
            while left or running:
                while left and len(running) < _AHEAD * self.size:
                    case, tries, with_files = left.popleft()
                    try:
                        future = self._given(case, with_files)
                    except BadInput as error:
                        yield case, _lost(case, str(error), "error")
                        continue
                    running[future] = case, tries
                if not running:
                    continue
                for future in self._ended(list(running)):
                    case, tries = running.pop(future)
                    try:
                        result: Result | None = future.result()
                    except Exception as error:  # whatever the death of a worker looks like
                        if tries < _TRIES:
                            left.appendleft((case, tries + 1, True))
                        else:
                            yield case, _lost(case, f"{_TRIES} workers of the cluster died of it: {error}", "crash")
                        continue
                    if result is None:
                        left.appendleft((case, tries, True))
                    else:
                        shown = command_line(case, result.steps)
                        yield case, replace(result, command=shown)
        finally:
            for future in running:
                future.cancel()
            self._client.close()

    def _ended(self, running: list[Any]) -> list[Any]:
        """Those that have ended, of which there is one; so have those whose files went with a worker."""
        with suppress(self._distributed.client.FuturesCancelledError):
            self._distributed.wait(running, return_when="FIRST_COMPLETED")
        return [future for future in running if future.done()]

    def _given(self, case: Case, with_files: bool) -> Any:
        if case.recipe is not None and not case.context.exists():
            raise BadInput(f"{case.key}: is not compiled yet; recipes run on this machine, without --dask")
        digest = digest_of(case)
        content = self._client.scatter(_packed(case), direct=False, hash=True) if with_files else None
        return self._client.submit(run_case_on_cluster, case, _names(case), digest, content, pure=False, retries=0)


def _names(case: Case) -> dict[str, str]:
    """Name in the archive of the context itself, and of the data."""
    names = {path: name for name, path in files_of(case).items()}
    files = {"context": "" if case.context.is_dir() else case.context.name}
    for role in ("inputs", "reference", "outputs"):
        given = getattr(case, role)
        if given is not None:
            files[role] = names[given]
    return files


def _packed(case: Case) -> bytes:
    sink = io.BytesIO()
    with tarfile.open(fileobj=sink, mode="w") as archive:
        for name, path in files_of(case).items():
            archive.add(path.resolve(), name, recursive=False)
    return sink.getvalue()


def _lost(case: Case, text: str, status: Status) -> Result:
    return Result(key=case.key, steps=(Step(ask="run", status=status, text=text),))


def run_case_on_cluster(case: Case, names: dict[str, str], digest: str, content: bytes | None) -> Result | None:
    """Work on a case on a worker of a cluster; None if the worker has not got its files, and was not given them."""
    folder = _kept() / digest
    if not folder.is_dir():
        if content is None:
            return None
        _keep(content, folder)
    local = {name: folder / file for name, file in names.items()}
    here = replace(
        case,
        context=local["context"],
        inputs=local.get("inputs"),
        reference=local.get("reference"),
        outputs=local.get("outputs"),
        recipe=None,
    )
    result = run_case(here)
    return replace(result, worker=f"{result.worker}/{os.getpid()}")


def _keep(content: bytes, folder: Path) -> None:
    """Unpack files into a folder that appears when it is whole; another process may be quicker."""
    folder.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if hasattr(os, "getuid") and folder.parent.stat().st_uid != os.getuid():
        raise BadInput(f"{folder.parent}: belongs to another user; set {KEEP} to a folder of your own")
    try:
        with whole_path(folder) as unfinished:
            unfinished.mkdir()
            _unpack(content, unfinished)
    except BadInput:
        if not folder.is_dir():
            raise


def _unpack(content: bytes, folder: Path) -> None:
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive:
            source = archive.extractfile(member) if member.isfile() else None
            if source is None or Path(member.name).name != member.name:
                raise BadInput(f"{member.name}: is no plain file of a context")
            with source, (folder / member.name).open("wb") as sink:
                shutil.copyfileobj(source, sink)


def _kept() -> Path:
    """Folder of a worker for contexts: one for each user, so that files of other users are not trusted."""
    if given := os.environ.get(KEEP):
        return Path(given)
    owner = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    return Path(tempfile.gettempdir()) / f"tdb-dap-zoo-{owner}"
