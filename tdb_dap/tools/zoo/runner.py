"""A run of a zoo: what is left to do, by whom it is done, and how far it is."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from tdb_dap.tools.zoo.cases import Case
from tdb_dap.tools.zoo.executors import Executor
from tdb_dap.tools.zoo.result import Result
from tdb_dap.tools.zoo.store import Run, Store
from tdb_dap.version import __version__


class Progress(Struct):
    """Progress of a run. ``known``: cases that an earlier part of the run has done."""

    total: int
    known: int
    done: int = 0
    bad: int = 0
    started: float = 0.0

    def line(self, now: float) -> str:
        """Counts, cases per minute and an estimate of the time left, of what this part of the run has seen."""
        ready = self.known + self.done
        text = f"{ready:,} of {self.total:,} cases, {self.bad:,} not passed"
        passed = now - self.started
        if self.done and passed > 0:
            rate = self.done / passed
            text += f", {60 * rate:.1f} a minute, about {duration((self.total - ready) / rate)} left"
        return text


def duration(seconds: float) -> str:
    """``40 s``, ``12 min``, ``3 h 20 min``."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"


def fingerprint(name: str, cases: Sequence[Case]) -> str:
    """The same for runs that can go on with each other: same zoo, same cases, same questions, same version."""
    total = hashlib.blake2b(digest_size=16)
    for case in cases:
        total.update(repr((name, __version__, case)).encode("utf-8", "surrogateescape"))
    return total.hexdigest()


def run_zoo(
    store: Store,
    name: str,
    cases: Sequence[Case],
    executor: Executor,
    again: bool,
    report: Callable[[Progress, Case | None, Result | None], None],
) -> Run:
    """Do what is left of a run; ``report`` is called for each case, and at the start."""
    run, known = store.begin(name, fingerprint(name, cases), len(cases), again)
    left = [case for case in cases if case.key not in known]
    progress = Progress(len(cases), len(cases) - len(left), started=time.monotonic())
    report(progress, None, None)
    for case, result in executor.work(left):
        store.put(run, case, result)
        progress.done += 1
        progress.bad += result.status != "pass"
        report(progress, case, result)
    store.end(run)
    return store.run(run.id)
