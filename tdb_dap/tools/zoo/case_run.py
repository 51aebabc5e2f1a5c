"""Working on one case: each step in a separate process, within its limits."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import astuple, fields, replace

from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.child_processes import Process, end_with_children, exit_text, outside_environment
from tdb_dap.system.scratch import scratch_directory
from tdb_dap.system.worker_process import Died, Server, WorkerProcess
from tdb_dap.tools.zoo.cases import Ask, Case, described, digest_of
from tdb_dap.tools.zoo.result import CaseFinding, Op, Result, Status, Step
from tdb_dap.tools.zoo.steps import LONGEST_TEXT, Outcome, ask_of
from tdb_dap.version import __version__

_PAUSE = 0.02
"""Seconds between two looks at a process."""

_LOOK = 0.2
"""Seconds between two looks at memory."""

_COMPILING = "compile"
"""The step that comes before all that is asked: compiling, and reading the files."""


class CaseRun:
    """One case, from its files to a result. ``scratch``: an empty folder; ``stop``: whether to give up.

    ``server``: starts the processes of its steps.
    """

    def __init__(self, case: Case, scratch: Path, stop: Callable[[], bool], server: Server | None = None) -> None:
        self._case = case
        self._scratch = scratch
        self._stop = stop
        self._server = server
        self._deadline = time.monotonic() + case.seconds
        self._ops: dict[tuple[int, str], Op] = {}
        self._findings: list[CaseFinding] = []

    def result(self) -> Result:
        """Do everything that is asked; what goes wrong is part of the result."""
        case = self._case
        steps: list[Step] = []
        digest = ""
        try:
            if case.recipe is not None and not case.context.exists():
                steps.append(self._compiled())
            if all(step.status == "pass" for step in steps):
                digest = digest_of(case)
                case = self._case = described(case) if case.recipe is not None else case
        except BadInput as error:
            steps.append(Step(ask=_COMPILING, status="error", text=str(error)))
        if digest:
            steps += [self._step(ask) for ask in case.asks]
        return Result(
            key=case.key,
            digest=digest,
            steps=tuple(steps),
            ops=tuple(self._ops[key] for key in sorted(self._ops)),
            findings=tuple(self._findings),
            worker=platform.node(),
            versions=versions(),
            command=command_line(case, steps),
        )

    def _compiled(self) -> Step:
        """Compile into a neighbouring folder, which takes its name when it is whole."""
        case = self._case
        assert case.recipe is not None
        unfinished = case.context.with_name(f".{case.context.name}-{os.getpid()}-{time.monotonic_ns()}")
        unfinished.mkdir(parents=True)
        environment = outside_environment()
        for name, value in case.recipe.environment:
            path = environment.get("PATH", "")
            environment[name] = f"{value}{os.pathsep}{path}" if name == "PATH" and path else value
        line = case.recipe.command.replace("{out}", shlex.quote(str(unfinished)))
        step = self._run(_COMPILING, ("/bin/sh", "-c", line), environment, unfinished)
        if step.status == "fail":
            step = replace(step, status="error")
        if step.status == "pass":
            try:
                unfinished.rename(case.context)
            except OSError as error:
                step = replace(step, status="error", text=f"{case.context}: {error.strerror}")
        shutil.rmtree(unfinished, ignore_errors=True)
        return step

    def _step(self, ask: Ask) -> Step:
        started = time.monotonic()
        with WorkerProcess(ask_of, self._case, ask, folder=self._scratch, server=self._server) as worker:
            ended, peak = self._watch(worker.process)
            try:
                outcome = Outcome(ended, _beyond(ended, self._case)) if ended else worker.result()
            except Died as error:
                outcome = Outcome("crash", str(error))
            except TdbError as error:
                outcome = Outcome("error", str(error))
        for op in outcome.ops:
            key = (op.line, op.name)
            known = self._ops.get(key, op)
            self._ops[key] = replace(known, **_measured(op))
        self._findings += outcome.findings
        return _done(ask, outcome.status, outcome.text, started, peak)

    def _run(self, ask: str, words: Sequence[str], environment: dict[str, str], folder: Path) -> Step:
        printed, errors = (self._scratch / f"{ask}.{name}" for name in ("printed", "errors"))
        started = time.monotonic()
        with printed.open("wb") as sink, errors.open("wb") as error_sink:
            try:
                child = subprocess.Popen(
                    words,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=error_sink,
                    env=environment,
                    cwd=folder,
                    start_new_session=True,
                )
            except OSError as error:
                return Step(ask=ask, status="error", text=f"{words[0]}: cannot be started: {error.strerror}")
            ended, peak = self._watch(child)
        lines = [
            line
            for path in (printed, errors)
            for line in path.read_text("utf-8", "replace").splitlines()
            if line.strip()
        ]
        status, text = _outcome(child.returncode, ended, lines, self._case)
        return _done(ask, status, text, started, peak)

    def _watch(self, child: Process) -> tuple[Status | None, float]:
        """Wait for the end of a process and what it has started; the limit that it went beyond, and its peak in MB."""
        peak, looked = 0.0, 0.0
        ended: Status | None = None
        while child.poll() is None:
            if time.monotonic() - looked > _LOOK:
                peak, looked = max(peak, _resident(child.pid)), time.monotonic()
            if time.monotonic() > self._deadline:
                ended = "timeout"
            elif 0 < self._case.megabytes < peak:
                ended = "memory"
            if ended is not None or self._stop():
                end_with_children(child)
                if ended is None:
                    raise KeyboardInterrupt
                break
            time.sleep(_PAUSE)
        return ended, peak


def command_line(case: Case, steps: Sequence[Step]) -> str:
    """Command line that shows the first thing that is wrong with a case, or runs it where nothing is."""
    worst = next((step.ask for step in steps if step.status != "pass"), None)
    if worst == _COMPILING and case.recipe is not None:
        return case.recipe.command
    words = ["tdb-dap", worst if worst not in (None, "hashes", _COMPILING) else "run", str(case.context)]
    if case.inputs is not None:
        words += ["--inputs", str(case.inputs)]
    if worst == "check":
        words += ["--reference", str(case.reference)] if case.reference is not None else []
        words.append("--blame")
    return shlex.join(words)


def run_case(case: Case, stop: Callable[[], bool] = lambda: False, server: Server | None = None) -> Result:
    """Work on a case in a folder that is gone afterwards. KeyboardInterrupt when ``stop`` says so."""
    with scratch_directory() as scratch:
        return CaseRun(case, scratch, stop, server).result()


def versions() -> tuple[tuple[str, str], ...]:
    """Versions of what computes: this package, Python, NumPy, machine."""
    return (
        ("tdb-dap", __version__),
        ("python", platform.python_version()),
        ("numpy", np.__version__),
        ("machine", platform.machine()),
    )


def _done(ask: str, status: Status, text: str, started: float, peak: float) -> Step:
    seconds = round(time.monotonic() - started, 3)
    return Step(ask=ask, status=status, text=text[:LONGEST_TEXT], seconds=seconds, megabytes=round(peak, 1))


def _beyond(limit: Status, case: Case) -> str:
    """The limit that a case went beyond, in words."""
    return f"not done within {case.seconds:g} s" if limit == "timeout" else f"took more than {case.megabytes:,} MB"


def _outcome(code: int, ended: Status | None, lines: list[str], case: Case) -> tuple[Status, str]:
    last = lines[-1].removeprefix("tdb-dap: error: ") if lines else ""
    if ended is not None:
        return ended, _beyond(ended, case)
    if code == 0:
        return "pass", ""
    if code == 1:
        return "fail", lines[0].removeprefix("fail: ") if lines else ""
    if code == 2:
        return "error", last
    return "crash", f"its process ended with {exit_text(code)}" + (f": {last}" if last else "")


def _resident(leader: int) -> float:
    """Memory in MB of a process and all that it has started, as the system counts it; 0 where that cannot be asked."""
    if not sys.platform.startswith("linux"):
        return 0.0
    pages = 0
    for place in Path("/proc").glob("[0-9]*"):
        # A process may end between two lines; the name in parentheses may hold anything.
        with suppress(OSError, IndexError, ValueError):
            if int((place / "stat").read_text().rpartition(")")[2].split()[3]) == leader:
                pages += int((place / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _measured(op: Op) -> dict[str, Any]:
    """Fields of an op that a step has measured: those that are not at their defaults."""
    return {field.name: value for field, value in zip(fields(op), astuple(op), strict=True) if value != field.default}
