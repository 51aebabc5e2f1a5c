"""A zoo on the workers of a Dask cluster, which have no files of this machine."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tdb_dap.tools.zoo.cases import find_cases
from tdb_dap.tools.zoo.executors import KEEP, DaskExecutor
from tests.command_line import tdb_dap
from tests.zoo.zoos import rows, spoil_reference, zoo

distributed = pytest.importorskip("distributed")


def cluster(tmp_path: Path, workers: int) -> Any:
    os.environ[KEEP] = str(tmp_path / "kept")
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, processes=True)


@pytest.fixture(autouse=True)
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEEP, "")


def test_the_same_results_as_here(tmp_path: Path) -> None:
    folder = zoo(tmp_path / "models", "toy", "pool")
    spoil_reference(folder / "toy")
    here, there = tmp_path / "here", tmp_path / "there"
    assert tdb_dap("zoo", "run", folder, "--store", here, "--quiet").returncode == 1
    with cluster(tmp_path, 1) as running:
        words = ("zoo", "run", folder, "--dask", running.scheduler_address, "--store", there, "--quiet")
        assert tdb_dap(*words).returncode == 1
        sent = {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()}
        assert len(sent) == 2
        assert tdb_dap(*words, "--again").returncode == 0
        assert {path: path.stat().st_mtime_ns for path in (tmp_path / "kept").iterdir()} == sent
    query = "SELECT key, status, text, command, digest FROM cases WHERE run = 1 ORDER BY key"
    assert rows(here, query) == rows(there, query)
    query = "SELECT name, verdict, cosine FROM ops JOIN cases ON cases.id = case_id WHERE run = 1 ORDER BY key, ops.id"
    assert rows(here, query) == rows(there, query)


def test_a_worker_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    folder = zoo(tmp_path / "models")
    cases = find_cases([folder])
    with cluster(tmp_path, 2) as running:
        executor = DaskExecutor(running.scheduler_address)
        assert executor.size == 2
        done: list[tuple[str, str]] = []
        for case, result in executor.work(cases):
            if not done:
                os.kill(next(iter(running.workers.values())).pid, signal.SIGKILL)
            done.append((case.key, result.status))
    assert sorted(done) == [(case.key, "pass") for case in cases]


def test_no_cluster_there() -> None:
    done = tdb_dap("zoo", "run", Path(__file__).parent.parent / "data" / "bm1684x", "--dask", "127.0.0.1:1")
    assert (done.returncode, "no scheduler answers there" in done.stderr) == (2, True)
