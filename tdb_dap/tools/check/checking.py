"""A check from its options to its result: run, compare, blame, tell rounding from faults, sanitize, profile."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.compare.segments import segments
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.system.progress import SILENT, Progress
from tdb_dap.tools.check.findings import findings_of
from tdb_dap.tools.check.journal import Journal
from tdb_dap.tools.check.options import CheckOptions, resolved
from tdb_dap.tools.check.results import Looked, Walked, by_layer, unseen_outputs
from tdb_dap.tools.check.runner import walk
from tdb_dap.tools.check.schema import RULE, Report, is_accumulated
from tdb_dap.tools.check.team import Alone, Dask, Team, processes
from tdb_dap.tools.check.text import no_verdict
from tdb_dap.tools.check.weights import compared_weights, weights_of_op
from tdb_dap.tools.check.worker import Job, Worker
from tdb_dap.tools.findings.baseline import Baseline, read_baseline
from tdb_dap.tools.programs import remark_sources
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from tdb_dap.engine.compare.walk import Mode
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.sanitizers.survey import Companions, Survey
    from tdb_dap.tools.check.schema import Row
    from tdb_dap.tools.findings.findings import Findings
    from tdb_dap.tools.profile.schema import ProfileReport
    from tdb_dap.tools.sanitize.schema import SanitizerReport

_COMPUTED = ".mlir"
"""Ending of a reference that is computed."""


class CheckResult(Struct, frozen=True):
    """``findings``: those of the report, with the known ones marked; ``tensors``: the rows with what was kept of them.

    ``problem``: why the check is not complete; empty if it is.
    """

    report: Report
    findings: Findings
    tensors: Sequence[Looked]
    baseline: Baseline | None

    @property
    def problem(self) -> str:
        report = self.report
        if report.stopped:
            return f"{report.model}: {report.stopped}"
        why = no_verdict(report)
        return f"{report.model}: {why}" if why else ""

    @property
    def is_failure(self) -> bool:
        """Whether something differs that is not known."""
        return self.findings.is_failure or (self.report.weights is not None and self.report.weights.differ > 0)


def check(options: CheckOptions, progress: Progress = SILENT) -> CheckResult:
    """Run the model and compare every op; BadInput for options that exclude each other and what cannot be read."""
    options = resolved(options)
    baseline = read_baseline(options.baseline) if options.baseline is not None else None
    return _Check(options, progress).result(baseline)


class _Check:
    """One check, with its reference resolved."""

    def __init__(self, options: CheckOptions, progress: Progress) -> None:
        self._options = options
        self._progress = progress
        references = options.model.references
        self._is_computed = len(references) == 1 and references[0].suffix == _COMPUTED
        self._job = Job(
            options.model,
            Tolerances.parse(options.tolerance, options.excepted),
            keep="all" if self._is_computed else options.keep,
            # What a journal holds may be asked for with another report the next time.
            pictures=options.resume is not None or options.pictures,
        )

    def result(self, baseline: Baseline | None) -> CheckResult:
        options, job, progress = self._options, self._job, self._progress
        started = time.monotonic()
        worker = Worker(job, options.mode)
        team = self._team(job, worker) if options.mode == "standalone" else Alone()
        program, reference = worker.debugger.program, worker.debugger.reference
        assert reference is not None
        self._program = program
        remark_sources(program)
        if options.model.inputs is None and program.context.inputs is None and not program.brings_inputs:
            progress.note("no --inputs given: all inputs are zero")
        if program.compile_stages.reason:
            progress.note(program.compile_stages.reason)
        progress.start(len(program.commands))
        companions = _companions(worker) if options.sanitize else None
        walked = self._walk(job, options.mode, worker, team)
        rows: Sequence[Row] = walked.rows
        culprit, sign = None, ""
        if self._is_computed or any(row.verdict == "fail" for row in rows):
            # A check that passes is most of all checks, and asks for none of it.
            from tdb_dap.tools.check.causes.blame import first_culprit
            from tdb_dap.tools.check.causes.explaining import Causes
            from tdb_dap.tools.check.causes.signs import other_sign

            rows = Causes(options, job, program, self._walk, self._team).of(walked, self._is_computed)
            culprit = first_culprit(rows)
            sign = other_sign(program, culprit.line) if culprit is not None and culprit.is_own_fault else ""
        progress.clear()
        report = Report(
            tool=f"tdb-dap {__version__}",
            model=str(options.model.context),
            net=program.net.name,
            chip=program.chip,
            mode=options.mode,
            profile="default",
            references=tuple(str(path) for path in reference.paths),
            commands=len(program.commands),
            seconds=round(time.monotonic() - started, 3),
            stopped=walked.stopped,
            culprit=culprit,
            rows=tuple(rows),
            layers=by_layer(program, rows),
            sanitized=None if companions is None else _sanitized(program, companions.survey(walked.stopped)),
            profiled=_profiled(program) if options.profile else None,
            weights=compared_weights(program),
            op_weights=weights_of_op(program, culprit),
            other_sign=sign,
            unseen_outputs=unseen_outputs(program, rows),
        )
        return CheckResult(report, self._findings(report, baseline), walked.results, baseline)

    def _findings(self, report: Report, baseline: Baseline | None) -> Findings:
        """Everything that differs and that sanitizers report: what of it is known, and whether the rest fails."""
        options, program = self._options, self._program
        findings = findings_of(report, Context.find(options.model.context), program.stage_index)
        if report.sanitized is not None:
            # Only that choice of the command needs it.
            from tdb_dap.tools.sanitize.findings import findings_of as sanitizer_findings

            of_sanitizers = sanitizer_findings(program, report.sanitized, program.stage_index, strict=False)
            findings = findings.and_those_of(of_sanitizers)
        if baseline is not None and options.baseline is not None:
            findings = baseline.applied(findings, options.baseline)
        differing = [finding for finding in findings.findings if finding.rule == RULE]
        new = [row for row, finding in zip(report.failures, differing, strict=True) if not finding.is_known]
        return findings.forgiven(RULE) if options.ops_only and is_accumulated(new) else findings

    def _team(self, job: Job, worker: Worker) -> Team:
        options = self._options
        if options.dask:
            return Dask(job, options.dask)
        if options.jobs == 1:
            return Alone()
        pieces = len(segments(worker.debugger.program, worker.debugger.reference, options.jobs))
        count = processes(options.jobs, pieces)
        if count == 1:
            return Alone()
        from tdb_dap.tools.check.process_team import Processes  # only that choice of the command needs it

        return Processes(job, count, worker)

    def _walk(
        self, job: Job, mode: Mode, worker: Worker, team: Team, spans: list[tuple[int, int]] | None = None
    ) -> Walked:
        """One run of the program, or of what ``spans`` need; in a cascade this process is alone."""
        resume = self._options.resume
        journal = Journal(resume / mode, job, mode) if resume else None
        try:
            return walk(worker, mode, team, self._progress.update, journal, spans)
        except KeyboardInterrupt:
            self._progress.clear()
            if journal is not None:
                self._progress.note(f"interrupted; run the same command to resume from {resume} holds")
            raise
        finally:
            team.close()
            worker.close()


def _companions(worker: Worker) -> Companions:
    """All sanitizers, that look at the run of a worker."""
    # Only that choice of the command needs them.
    from tdb_dap.engine.sanitizers import chosen, made
    from tdb_dap.engine.sanitizers.survey import Companions

    companions = Companions(worker.debugger, made(chosen(["all"]), []))
    worker.companions += companions.observers
    return companions


def _sanitized(program: Program, survey: Survey) -> SanitizerReport:
    from tdb_dap.engine.sanitizers import chosen
    from tdb_dap.tools.sanitize.report import report_of

    return report_of(program, chosen(["all"]), survey)


def _profiled(program: Program) -> ProfileReport:
    from tdb_dap.tools.profile.report import profiled

    return profiled(program)[1]
