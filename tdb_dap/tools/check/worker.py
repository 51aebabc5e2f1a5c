"""Running segments of a program and comparing as it goes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.compare.judging import Gathered, Judge
from tdb_dap.engine.compare.segments import start_at
from tdb_dap.engine.compare.walk import Mode, Walk
from tdb_dap.engine.control.listener import Listener
from tdb_dap.engine.machine.npz import AT_ONCE
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.errors import BadInput
from tdb_dap.system.forked_worker import Calls, ForkedWorker, InProcess, is_possible
from tdb_dap.tools.check.results import Looked, Walked
from tdb_dap.tools.check.rows import Shown, row_of
from tdb_dap.tools.model_options import ModelOptions

if TYPE_CHECKING:
    from tdb_dap.engine.compare.finding import Checked
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.observers import Observer
    from tdb_dap.tools.check.schema import Key, Row

Segment = tuple[int, int]
"""First ordinal, and the one after the last."""


class Job(Struct, frozen=True):
    """One model, its inputs and what it is compared with; goes to other processes as it is.

    ``keep``: which tensors come back with the rows: ``none``, ``failed`` or ``all``; ``measures``: whether operands and
    results are compared: they come back with rows without a verdict else; ``pictures``: whether rows of what differs
    have pictures, which only some reports show; ``wanted``: keys of the tensors that are compared, None: all.
    """

    model: ModelOptions
    tolerances: Tolerances
    keep: str = "none"
    measures: bool = True
    pictures: bool = True
    wanted: frozenset[Key] | None = None

    def open(self) -> Debugger:
        """A debugger at the start of the program. BadInput if there is nothing to compare with."""
        model = self.model
        debugger = model.open(self.tolerances)
        if debugger.reference is None:
            own = debugger.program.context.reference
            of_own = model.inputs is not None and own is not None and not model.references
            hint = f"; {debugger.withheld}: give --inputs" if debugger.withheld else ""
            hint += f"; {own.name} is for the inputs next to it: leave --inputs out to use it" if of_own and own else ""
            raise BadInput(
                f"{model.context}: nothing to compare with; give --reference R.npz, the ..._tpu_outputs.npz{hint}"
            )
        return debugger


class Worker:
    """One debugger that runs segments, each after the one before; not necessarily all of them.

    ``companions``: observers that never stop a run; ``is_alone``: no other worker runs, so
    that a processor is free to judge what this one computes.
    """

    def __init__(self, job: Job, mode: Mode, debugger: Debugger | None = None) -> None:
        self._job = job
        self._mode = mode
        self.companions: list[Observer] = []
        self._shown = Shown(job.pictures)
        self._judging: Calls[Gathered | None, Looked | None] | None = None
        self.is_alone = False
        self.debugger = debugger or job.open()

    def run(self, segment: Segment, progress: Callable[[int], None] = lambda ordinal: None) -> Walked:
        """Run one segment; ``progress`` receives the ordinal now and then."""
        start, stop = segment
        debugger = self.debugger
        if start < debugger.ordinal:
            self.close()
            debugger = self.debugger = self._job.open()
        if self._judging is None:
            self._judging = self._judges()
        if start > debugger.ordinal:
            start_at(debugger, start)
        walk = Walk(self._mode, self._judging.add, segment, self._job.wanted)
        debugger.observers += [*self.companions, walk]
        debugger.listener = _Progress(lambda: progress(debugger.ordinal))
        is_last = stop == len(debugger.program.commands)
        try:
            ended = debugger.run() if is_last else debugger.step(stop - start)
        except Exception:
            self._judging.results()  # an error of a tensor before it comes first
            raise
        for observer in (*self.companions, walk):
            debugger.observers.remove(observer)
        results = tuple(looked for looked in self._judging.results() if looked is not None)
        return Walked(results, ended.text if ended.finding is not None else "")

    def outputs_in(self, ordinals: Sequence[int]) -> list[Row]:
        """The outputs of the net after its commands in another order; the debugger is at the end then."""
        debugger = self.debugger
        debugger.machine.run_in_order(ordinals)
        assert debugger.reference is not None
        debugger.reference.verify()
        rows: list[Row] = []
        judge = Judge(debugger.reference)
        Walk("cascade", lambda gathered: rows.append(row_of(judge(gathered), self._shown))).finished(debugger.inspector)
        return rows

    def close(self) -> None:
        """End what runs elsewhere."""
        if self._judging is not None:
            self._judging.close()
            self._judging = None
        self.debugger.close()

    def _judges(self) -> Calls[Gathered | None, Looked | None]:
        """The judge of tensors: a copy of this process where that is worth it and nothing large comes back."""
        reference = self.debugger.reference
        assert reference is not None
        judge = Judge(reference)

        def looked(gathered: Gathered | None) -> Looked | None:
            if gathered is not None:
                # Of an output that an op has given before, ``merged`` keeps what differs.
                is_judged = self._job.measures or gathered.checked.role == "output"
                return self._looked(judge(gathered)) if is_judged else self._unjudged(judge, gathered)
            reference.verify()  # before all tensors
            return None

        is_apart = self.is_alone and reference.nbytes >= AT_ONCE and self._job.keep == "none" and is_possible()
        judging = ForkedWorker(looked) if is_apart else InProcess(looked)
        judging.add(None)
        reference.read_unverified()
        return judging

    def _unjudged(self, judge: Judge, gathered: Gathered) -> Looked:
        return Looked(row_of(gathered.checked, self._shown), *(judge.sides(gathered) or ()))

    def _looked(self, checked: Checked) -> Looked:
        result, keep = checked.comparison, self._job.keep
        row = row_of(checked, self._shown)
        if result is None or keep == "none" or (keep == "failed" and checked.verdict != "fail"):
            return Looked(row)
        return Looked(row, result.actual, result.expected)


class _Progress(Listener):
    """Tells how far a run is."""

    def __init__(self, between_commands: Callable[[], None]) -> None:
        self._between_commands = between_commands

    def between_commands(self) -> None:
        self._between_commands()


_OF_THIS_THREAD = threading.local()


def run_elsewhere(job: Job, segment: Segment) -> Walked:
    """Run a segment standalone, in a process or thread that is given several of a job, one after another."""
    known = getattr(_OF_THIS_THREAD, "known", None)
    if known is None or known[0] != job:
        known = _OF_THIS_THREAD.known = (job, Worker(job, "standalone"))
    return known[1].run(segment)


def prepare(job: Job) -> None:
    """Open the model in advance, in the process that is going to run segments of it."""
    known = getattr(_OF_THIS_THREAD, "known", None)
    if known is None or known[0] != job:
        adopt(job, Worker(job, "standalone"))


def adopt(job: Job, worker: Worker) -> None:
    """Let a worker run the segments of a job in this thread, and in copies that are made of this process."""
    _OF_THIS_THREAD.known = (job, worker)
