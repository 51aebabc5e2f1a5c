"""A zoo on two workers beside one, a store of 100,000 cases, and a cluster of 32 workers that only sleep.

    python benchmarks/zoo.py workers DIR [--cases N] [--dask]    one process beside two, on N cases of DIR, in one run
    python benchmarks/zoo.py report [--cases N] [--keep DIR]     a store of N cases (default 100,000), and its page
    python benchmarks/zoo.py cluster [--tasks N] [--seconds S]   a real scheduler, 32 worker processes, tasks that sleep

``workers`` prints the ratio of the wall times; ``--dask``: two worker processes and a scheduler, started here.
``report``: wall time and largest resident size of ``tdb-dap zoo report`` in a separate process. ``cluster``: the
share of the time in which a worker was busy, and what the scheduler took of a processor.
"""

from __future__ import annotations

import argparse
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tdb_dap.tools.zoo.cases import Case, find_cases
from tdb_dap.tools.zoo.executors import DaskExecutor, LocalExecutor
from tdb_dap.tools.zoo.result import CaseFinding, Op, Result, Step
from tdb_dap.tools.zoo.runner import run_zoo
from tdb_dap.tools.zoo.store import Store

CHIPS = ("BM1684", "BM1684X", "BM1688", "BM1690", "BM1690E", "BM1684X2", "CV184X", "SGTPUV8", "SG2380")
PRECISIONS = ("F32", "F16", "INT8", "W4F16")


def workers(folder: Path, count: int, dask: bool) -> None:
    """Wall time of the same cases with one worker and with two."""
    cases = [case for case in find_cases([folder]) if "check" in case.asks][:count]
    times = {}
    for size in (1, 2):
        with tempfile.TemporaryDirectory() as scratch, Store(Path(scratch) / "zoo.sqlite", create=True) as store:
            if dask:
                from distributed import LocalCluster

                cluster = LocalCluster(n_workers=size, threads_per_worker=1, dashboard_address=None)
                executor: DaskExecutor | LocalExecutor = DaskExecutor(cluster.scheduler_address)
            else:
                executor = LocalExecutor(size)
            started = time.perf_counter()
            run_zoo(store, "zoo", cases, executor, True, lambda progress, case, result: None)
            times[size] = time.perf_counter() - started
            if dask:
                cluster.close()
        print(f"{size} at a time: {times[size]:.1f} s for {len(cases)} cases")
    print(f"ratio {times[1] / times[2]:.2f}")


def fill(path: Path, count: int, broken: float, seed: int) -> None:
    """Add a run with invented results to a store."""
    chance = random.Random(seed)
    with Store(path, create=True) as store:
        run, _ = store.begin("zoo", str(seed), count, again=True)
        for number in range(count):
            chip, precision = CHIPS[number % 9], PRECISIONS[number // 9 % 4]
            network = f"network{number // 36:04}"
            case = Case(f"{network}/{chip}/{precision}", Path("x"), ("check",), network, chip, precision)
            bad = chance.random() < broken
            ops = tuple(
                Op(line=line, opcode="tpu.Conv2D", name=f"conv{line}", verdict="fail" if bad else "pass", cosine=0.5)
                for line in range(20 if bad else 2)
            )
            differs = CaseFinding(ask="check", fingerprint=f"check:{number}", rule="cosine", text="conv3 differs")
            step = Step(ask="check", status="fail" if bad else "pass", text="conv3 differs" if bad else "", seconds=1.5)
            result = Result(
                key=case.key,
                digest=f"{number:032x}",
                steps=(step,),
                ops=ops,
                findings=(differs,) * bad,
                command="tdb-dap",
            )
            store.put(run, case, result)
        store.end(run)


def report(count: int, keep: Path) -> None:
    """Time and memory of the report of a store of that many cases."""
    path = keep / "zoo.sqlite"
    if not path.exists():
        started = time.perf_counter()
        for seed in (1, 2):
            fill(path, count, 0.01, seed)
        size, seconds = path.stat().st_size, time.perf_counter() - started
        print(f"two runs of {count:,} cases written in {seconds:.0f} s, {size:,} bytes")
    page = keep / "zoo.html"
    started = time.perf_counter()
    words = [sys.executable, "-m", "tdb_dap", "zoo", "report", "--store", str(path), "-o", str(page)]
    subprocess.run(words, stdout=subprocess.DEVNULL, check=False)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"report: {time.perf_counter() - started:.1f} s, {peak:.0f} MB; page of {page.stat().st_size / 1e6:.1f} MB")


def cluster(tasks: int, seconds: float) -> None:
    """Sleeping tasks on 32 worker processes."""
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=32, threads_per_worker=1, dashboard_address=None, memory_limit=0) as running:
        client = Client(running)
        chance = random.Random(1)
        naps = [chance.uniform(0.2, 1.8) * seconds for _ in range(tasks)]
        used, started = time.process_time(), time.perf_counter()
        client.gather(client.map(time.sleep, naps, pure=False))
        wall, processor = time.perf_counter() - started, time.process_time() - used
        print(f"{tasks:,} tasks of {seconds:g} s on 32 workers: {wall:.1f} s, busy {sum(naps) / (32 * wall):.0%} of it")
        print(f"scheduler and client: {1000 * processor / tasks:.2f} ms of a processor for each task")


def main() -> None:
    """Do one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("workers", "report", "cluster"))
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--cases", type=int)
    parser.add_argument("--dask", action="store_true")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--tasks", type=int, default=2000)
    parser.add_argument("--seconds", type=float, default=0.5)
    given = parser.parse_args()
    if given.what == "workers":
        workers(given.folder, given.cases or 40, given.dask)
    elif given.what == "report":
        with tempfile.TemporaryDirectory() as scratch:
            report(given.cases or 100_000, given.keep or Path(scratch))
    else:
        cluster(given.tasks, given.seconds)


if __name__ == "__main__":
    main()
