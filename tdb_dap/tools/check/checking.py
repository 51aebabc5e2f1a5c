"""A check from its options to its result: run, compare, blame, tell rounding from faults, sanitize, profile."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.compare.dataflow import Producers
from tdb_dap.engine.compare.segments import segments
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.reference.tolerance import Tolerances
from tdb_dap.engine.sanitizers import chosen, made
from tdb_dap.engine.sanitizers.survey import Companions
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.progress import SILENT, Progress
from tdb_dap.tools.check.blame import first_culprit, with_blame, with_other_inputs
from tdb_dap.tools.check.findings import findings_of
from tdb_dap.tools.check.journal import Journal
from tdb_dap.tools.check.overwriting import Writers
from tdb_dap.tools.check.races import with_race
from tdb_dap.tools.check.results import Looked, Walked, by_layer
from tdb_dap.tools.check.runner import walk
from tdb_dap.tools.check.schema import RULE, Blame, Report, is_accumulated
from tdb_dap.tools.check.shadows import is_near, is_of_float_model, is_own, passed, with_shadows, without_accumulated
from tdb_dap.tools.check.team import Alone, Dask, Team, processes
from tdb_dap.tools.check.text import nothing_judged
from tdb_dap.tools.check.weights import compared_weights, weights_of_op
from tdb_dap.tools.check.worker import Job, Worker
from tdb_dap.tools.findings.baseline import Baseline, read_baseline
from tdb_dap.tools.golden.reference import SUFFIX, numbers, text_of
from tdb_dap.tools.model_options import ModelOptions
from tdb_dap.tools.programs import remark_sources
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from tdb_dap.engine.compare.walk import Mode
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.sanitizers.survey import Survey
    from tdb_dap.tools.check.schema import Key, Row
    from tdb_dap.tools.findings.findings import Findings
    from tdb_dap.tools.profile.schema import ProfileReport
    from tdb_dap.tools.sanitize.schema import SanitizerReport

MOST_JOBS = 1024
"""Processes that may be asked for; more is a slip of the fingers."""


class CheckOptions(Struct, frozen=True):
    """Options of a check.

    ``golden``, ``onnx``: compute the expected values in float64 from ``..._tpu.mlir``, or from the nodes of an ONNX
    model, in place of ``model.references``. ``tolerance``, ``excepted``: as for ``Tolerances.parse``. ``ops_only``:
    only what is not explained by accumulated rounding fails. ``sanitize``, ``profile``: also run all sanitizers, also
    profile. ``jobs``, ``dask``: worker processes, or the scheduler of a cluster. ``resume``: checkpoint directory.
    ``keep``: tensors to return: ``none``, ``failed``, ``all``. ``baseline``: file of known findings.
    """

    model: ModelOptions
    mode: Mode = "cascade"
    golden: bool = False
    onnx: Path | None = None
    tolerance: Sequence[str] = ()
    excepted: Sequence[str] = ()
    blame: bool = False
    ops_only: bool = False
    sanitize: bool = False
    profile: bool = False
    jobs: int = 1
    dask: str | None = None
    resume: Path | None = None
    keep: str = "none"
    pictures: bool = False
    baseline: Path | None = None


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
        return "" if report.judged or report.failures else f"{report.model}: {nothing_judged(report)}"

    @property
    def is_failure(self) -> bool:
        """Whether something differs that is not known."""
        return self.findings.is_failure or (self.report.weights is not None and self.report.weights.differ > 0)


def check(options: CheckOptions, progress: Progress = SILENT) -> CheckResult:
    """Run the model and compare every op; BadInput for options that exclude each other and what cannot be read."""
    options = resolved(options)
    baseline = read_baseline(options.baseline) if options.baseline is not None else None
    return _Check(options, progress).result(baseline)


def resolved(options: CheckOptions) -> CheckOptions:
    """The options with the reference that they name; BadInput where they exclude each other."""
    if options.jobs < 1:
        raise BadInput(f"--jobs {options.jobs}: give the number of processes, 1 or more")
    if options.jobs > MOST_JOBS:
        raise BadInput(f"--jobs {options.jobs:,}: give the number of processes, at most {MOST_JOBS:,}")
    blame = options.blame or (options.ops_only and options.mode == "cascade")
    several = [option for option, given in (("--jobs", options.jobs > 1), ("--dask", options.dask)) if given]
    if several and options.mode == "cascade" and not blame:
        raise BadInput(
            f"{several[0]}: in a cascade each op waits for the one before it; use --mode standalone or --blame"
        )
    if len(several) > 1:
        raise BadInput("--jobs and --dask: give one of them")
    if options.sanitize and (options.mode != "cascade" or options.resume):
        other = "--resume" if options.resume else "--mode standalone"
        raise BadInput(f"--sanitize and {other}: sanitizers need one run from start to end; leave one out")
    references = options.model.references
    if options.onnx is not None:
        if references or options.golden:
            raise BadInput(f"--onnx and {'--golden' if options.golden else '--reference'}: give one of them")
        if options.onnx.suffix != ".onnx":
            raise BadInput(f"--onnx {options.onnx}: its name must end in .onnx")
        references = (options.onnx,)
    if options.golden:
        if references:
            raise BadInput("--golden and --reference: give one of them")
        references = (text_of(options.model.context),)
    return replace(options, blame=blame, model=replace(options.model, references=references))


class _Check:
    """One check, with its reference resolved."""

    def __init__(self, options: CheckOptions, progress: Progress) -> None:
        self._options = options
        self._progress = progress
        references = options.model.references
        self._is_computed = len(references) == 1 and references[0].suffix == SUFFIX
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
        wanted = chosen(["all"]) if options.sanitize else {}
        companions = Companions(worker.debugger, made(wanted, []))
        worker.companions += companions.observers
        walked = self._walk(job, options.mode, worker, team)
        rows = self._explained(walked)
        progress.clear()
        if self._is_computed:
            rows = self._with_shadows(rows, walked)
        culprit = first_culprit(rows)
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
            sanitized=_sanitized(program, wanted, companions.survey(walked.stopped)) if options.sanitize else None,
            profiled=_profiled(program) if options.profile else None,
            weights=compared_weights(program),
            op_weights=weights_of_op(program, culprit),
            unseen_outputs=_unseen_outputs(program, rows),
        )
        return CheckResult(report, self._findings(report, baseline), walked.results, baseline)

    def _explained(self, walked: Walked) -> list[Row]:
        """The rows without differences that no op makes, and with what is to blame for the others."""
        options, program = self._options, self._program
        if (other_inputs := with_other_inputs(walked.rows, program)) is not None:
            return other_inputs
        writers = Writers(program)
        rows = self._with_race(walked.rows)
        if self._may_accumulate(rows):
            rows = self._with_right_outputs(self._without_accumulated(rows))
        rows = writers.with_overwriters(self._with_cost_of_formats(rows))
        if any(row.blame is not None and row.blame.kind == "accumulates" for row in rows):
            return rows
        failed = [row for row in rows if row.verdict == "fail"]
        if not failed or options.mode != "cascade" or not options.blame:
            return rows
        return with_blame(rows, self._alone(failed).rows, Producers(program), writers)

    def _with_race(self, rows: list[Row]) -> list[Row]:
        """The rows, where another order of the commands is right with that; see ``races``."""

        def outputs_in(ordinals: Sequence[int]) -> list[Row]:
            worker = Worker(replace(self._job, keep="none", pictures=False), "cascade")
            try:
                return worker.outputs_in(ordinals)
            except TdbError:
                return []
            finally:
                worker.close()

        return with_race(rows, self._program, outputs_in) if self._options.mode == "cascade" else rows

    def _may_accumulate(self, rows: list[Row]) -> bool:
        """Whether differences may be roundings that add up, and the limits are not the user's own."""
        options = self._options
        is_strict = options.tolerance or options.blame or options.resume or options.mode != "cascade"
        return not is_strict and not self._is_computed and any(row.verdict == "fail" for row in rows)

    def _without_accumulated(self, rows: list[Row]) -> list[Row]:
        """Rows without differences that no op makes; unchanged where the reference is not the compilation's own."""
        model, program = self._options.model, self._program
        data = model.inputs or program.context.inputs
        references = [*model.references] or [path for path in (program.context.reference,) if path is not None]
        if data is None or len(references) != 1:
            return rows
        try:
            inputs = numbers(load_inputs(data, program.inputs), program.inputs)
            # The tensors themselves were not kept: most checks do not need them.
            kept = replace(self._job, keep="all", pictures=False)
            again = self._walk(kept, "cascade", Worker(kept, "cascade"), Alone())
            outputs = [tensor.name for tensor in program.outputs]
            return without_accumulated(
                rows, again.results, model.context, inputs, references[0], outputs, self._right_alone
            )
        except BadInput:
            return rows

    def _with_right_outputs(self, rows: list[Row]) -> list[Row]:
        """The rows, where outputs pass that are near the compilation's own, if no op of the chip is wrong.

        Its file may hold nothing but outputs: then no other tensor tells roundings that add up from a fault.
        """
        model, outputs = self._options.model, [tensor.name for tensor in self._program.outputs]
        reference = next(iter(model.references), self._program.context.reference)
        failed = [row for row in rows if row.verdict == "fail"]
        if not failed or len(model.references) > 1 or not all(row.name in outputs and is_near(row) for row in failed):
            return rows
        if not is_own(model.context, reference):
            return rows
        return [passed(row) if row.verdict == "fail" else row for row in rows] if self._is_right_by_golden() else rows

    def _with_cost_of_formats(self, rows: list[Row]) -> list[Row]:
        """The rows, where what differs from the float model blames no op, if no op of the chip is wrong."""
        model = self._options.model
        failed = any(row.verdict == "fail" for row in rows)
        if not failed or len(model.references) != 1 or not is_of_float_model(model.context, model.references[0]):
            return rows
        if not self._is_right_by_golden():
            return rows
        blame = Blame(kind="accumulates", line=0, text="no op is wrong by itself: the formats cost it")
        return [replace(row, blame=blame) if row.verdict == "fail" else row for row in rows]

    def _is_right_by_golden(self) -> bool:
        """Whether a check of the same run with goldens reaches its outputs and finds no op wrong."""
        model = replace(self._options.model, references=())
        golden = CheckOptions(model, golden=True, excepted=self._options.excepted)
        try:
            report = check(golden).report
        except TdbError:
            return False
        return not (report.failures or report.unseen_outputs or report.stopped)

    def _right_alone(self, rows: Sequence[Row]) -> frozenset[Key]:
        """Keys of the rows that pass with the reference's operands."""
        return frozenset(row.key for row in self._alone(rows).rows if row.verdict == "pass")

    def _alone(self, rows: Sequence[Row]) -> Walked:
        """The ops of some rows with the reference's operands."""
        job = self._job
        if self._options.resume is None:  # what a journal holds may be asked for as a whole the next time
            job = replace(job, keep="none", pictures=False, wanted=frozenset(row.key for row in rows))
        worker = Worker(job, "standalone")
        # Of the rest nothing is asked. Rows of an op are between its first and last command.
        spans = [(row.first, row.last + 1) for row in rows]
        return self._walk(job, "standalone", worker, self._team(job, worker), spans)

    def _with_shadows(self, rows: list[Row], walked: Walked) -> list[Row]:
        """Rows with their shadows; unchanged where the compilation's own text is not there."""
        model, program = self._options.model, self._program
        data = model.inputs or program.context.inputs
        if data is None:
            return rows
        try:
            words = load_inputs(data, program.inputs)
            outputs = [tensor.name for tensor in program.outputs]
            return with_shadows(rows, walked.results, model.context, numbers(words, program.inputs), outputs)
        except BadInput:
            return rows

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


def _unseen_outputs(program: Program, rows: Sequence[Row]) -> tuple[str, ...]:
    """Names of the net's outputs that no row compares, nor leaves out on purpose."""
    seen = {row.name for row in rows if row.verdict != "unknown" and row.role != "operand"}
    return tuple(tensor.name for tensor in program.outputs if tensor.name not in seen)


def _sanitized(program: Program, wanted: Mapping[str, str | None], survey: Survey) -> SanitizerReport:
    from tdb_dap.tools.sanitize.report import report_of

    return report_of(program, wanted, survey)


def _profiled(program: Program) -> ProfileReport:
    from tdb_dap.tools.profile.report import profiled

    return profiled(program)[1]
