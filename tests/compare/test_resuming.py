"""Checks that are interrupted and go on, and checks on a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tdb_dap.engine.compare.walk import Mode
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.errors import BadInput
from tdb_dap.tools.check.journal import Journal
from tdb_dap.tools.check.results import Walked
from tdb_dap.tools.check.runner import walk
from tdb_dap.tools.check.team import Alone, Dask, Progress
from tdb_dap.tools.check.worker import Job, Segment, Worker
from tdb_dap.tools.model_options import ModelOptions
from tests.command_line import tdb_dap
from tests.samples import case


class Interrupted(Alone):
    """Somebody presses Ctrl-C when ``after`` segments are done. ``ran``: the segments that were begun."""

    def __init__(self, after: int) -> None:
        self.after = after
        self.ran: list[Segment] = []

    def run(self, segments: Sequence[Segment], worker: Worker, progress: Progress) -> Iterator[tuple[Segment, Walked]]:
        for part in super().run(segments, worker, progress):
            self.ran.append(part[0])
            yield part
            if len(self.ran) == self.after:
                raise KeyboardInterrupt


def job_of(name: str, keep: str = "none") -> Job:
    of = case(name)
    return Job(ModelOptions(of.path, of.inputs, (of.reference,)), Tolerances(), keep=keep)


def check(job: Job, mode: Mode, team: Alone, journal: Journal | None) -> Walked:
    return walk(Worker(job, mode), mode, team, lambda done: None, journal)


@pytest.mark.parametrize("mode", ["cascade", "standalone"])
@pytest.mark.parametrize("name", ["toy_bm1684x_f32", "toy_bm1688_int8c2", "ew_bcast_bm1684_int8"])
def test_an_interrupted_check_goes_on_where_it_was(name: str, mode: Mode, tmp_path: Path) -> None:
    job = job_of(name, keep="all")
    whole = check(job, mode, Alone(), None)
    first, second = Interrupted(3), Interrupted(99)
    with pytest.raises(KeyboardInterrupt):
        check(job, mode, first, Journal(tmp_path / "kept", job, mode, every=0))
    resumed = check(job, mode, second, Journal(tmp_path / "kept", job, mode, every=0))
    assert resumed.rows == whole.rows
    assert all(
        (a.actual == b.actual).all()
        for a, b in zip(resumed.results, whole.results, strict=True)
        if a.actual is not None
    )
    assert len(first.ran) == 3
    # The memories of a cascade are kept behind a segment that has been reported: at most one runs again.
    assert len(set(first.ran) & set(second.ran)) <= 1
    again = Interrupted(99)
    assert check(job, mode, again, Journal(tmp_path / "kept", job, mode)).rows == whole.rows
    assert len(again.ran) <= 1


def test_what_was_begun_with_other_data_is_refused(tmp_path: Path) -> None:
    job = job_of("toy_bm1684x_f32")
    Journal(tmp_path / "kept", job, "cascade")
    with pytest.raises(BadInput, match="was begun with another model, other data or other options"):
        Journal(tmp_path / "kept", job_of("toy_bm1684x_int8"), "cascade")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("dear diary")
    with pytest.raises(BadInput, match="is not empty and holds no check"):
        Journal(tmp_path / "mine", job, "cascade")


def test_damage_is_named(tmp_path: Path) -> None:
    job = job_of("toy_bm1684x_f32")
    check(job, "cascade", Alone(), Journal(tmp_path, job, "cascade", every=0))
    victim = next(tmp_path.glob("*-*.npz"))
    victim.write_bytes(b"nothing")
    with pytest.raises(BadInput, match=victim.name):
        check(job, "cascade", Alone(), Journal(tmp_path, job, "cascade"))


def test_a_cluster_finds_the_same() -> None:
    distributed = pytest.importorskip("distributed")
    job = job_of("toy_bm1684x_f32")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        team = Dask(job, cluster.scheduler_address)
        assert team.size == 2
        found = walk(Worker(job, "standalone"), "standalone", team, lambda done: None)
        team.close()
        of = case("toy_bm1684x_f32")
        options = ["--inputs", of.inputs, "--reference", of.reference, "--mode", "standalone"]
        done = tdb_dap("check", of.path, *options, "--dask", cluster.scheduler_address)
    assert found.rows == check(job, "standalone", Alone(), None).rows
    assert (done.returncode, done.stdout.split(":")[0]) == (0, "pass"), done.stderr


def test_no_cluster_is_one_line() -> None:
    of = case("toy_bm1684x_f32")
    options = ["--inputs", of.inputs, "--reference", of.reference, "--mode", "standalone", "--dask"]
    done = tdb_dap("check", of.path, *options, "tcp://127.0.0.1:1")
    assert done.returncode == 2
    assert done.stderr.startswith("tdb-dap: error: --dask tcp://127.0.0.1:1: no scheduler answers there")
    assert done.stderr.count("\n") == 1
