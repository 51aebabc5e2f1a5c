"""``tdb-dap check``: compare every op with reference data."""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.cli import reports
from tdb_dap.cli.options import data_options, model_arguments
from tdb_dap.cli.progress import Bar
from tdb_dap.engine.files.atomic_files import refuse_unwritable, write_text
from tdb_dap.errors import BadInput, TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.compare.walk import Mode
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.sanitizers.survey import Companions
    from tdb_dap.tools.check.job import Job
    from tdb_dap.tools.check.results import Walked
    from tdb_dap.tools.check.schema import Report, Row
    from tdb_dap.tools.check.team import Team
    from tdb_dap.tools.check.worker import Worker
    from tdb_dap.tools.findings.baseline import Baseline
    from tdb_dap.tools.findings.findings import Findings
    from tdb_dap.tools.profile.schema import ProfileReport

_FORMATS = (".json", ".md", ".html", *reports.FINDINGS)
_PICTURED = (".json", ".html")
"""Reports that show pictures."""
MOST_JOBS = 1024
"""Processes that may be asked for; more is a slip of the fingers."""

_MOST_NOTES = 8
"""Tensors of another shape that are named on the console."""

_TOLD = 3
"""How many wrong results are described in full on the console."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    data_options(parser)
    parser.add_argument(
        "--mode",
        choices=("cascade", "standalone"),
        default="cascade",
        help="each op gets what the ops before it computed (default), or the reference's numbers",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        default=1,
        help="processes, as far as there are processors and work for them; more than one for standalone only",
    )
    parser.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster that runs the standalone part")
    parser.add_argument(
        "--resume", metavar="DIR", type=Path, help="keep there what is done; an interrupted check goes on from it"
    )
    parser.add_argument(
        "--blame", action="store_true", help="run again with the reference's operands to find which op is at fault"
    )
    parser.add_argument(
        "--sanitize",
        action="store_true",
        help="all sanitizers look on in the same run; what they find is reported as by tdb-dap sanitize",
    )
    parser.add_argument(
        "--golden",
        action="store_true",
        help="no reference file is needed: what is expected is computed in float64 from the compiler's ..._tpu.mlir",
    )
    parser.add_argument(
        "--onnx",
        metavar="MODEL.onnx",
        type=Path,
        help="what is expected is what the nodes of the original model compute (extra onnx; ONNX Runtime if installed)",
    )
    parser.add_argument(
        "--perturb",
        action="store_true",
        help="no reference at all: move the inputs by one unit in the last place and find ops that amplify it beyond "
        "their condition number",
    )
    parser.add_argument("--runs", metavar="K", type=int, default=2, help="perturbations of --perturb (default: 2)")
    parser.add_argument("--json", action="store_true", help="with --perturb: the same as JSON")
    parser.add_argument(
        "--fail-on",
        choices=("any", "op"),
        default="any",
        help="what gives exit code 1: any tensor that differs (default), or only one that is not explained by rounding "
        "that adds up; op includes --blame",
    )
    parser.add_argument(
        "--tolerance",
        metavar="[WHERE:]LIMIT=NUMBER,...",
        action="append",
        default=[],
        help="limits (cosine euclidean channel relative maxAbs ulp sqnr badShare) for all tensors, those of a number "
        "format or those whose name fits a pattern; 0.99,0.98 stands for cosine and euclidean",
    )
    parser.add_argument("--except", metavar="GLOB", nargs="+", default=[], dest="excepted", help="names not compared")
    reports.options(parser, _FORMATS)
    parser.add_argument("--dump", choices=("failed", "all"), help="write compared tensors to check_tensors.npz")
    parser.add_argument("--dump-file", metavar="OUT.npz", type=Path, default=Path("check_tensors.npz"))
    parser.add_argument("--all", action="store_true", help="list every tensor, not only those that differ")
    parser.add_argument(
        "--profile",
        nargs="?",
        choices=("time", "tdb", "default"),
        const="time",
        default="default",
        help="alone or with time: also where the time of the chip goes, as by tdb-dap profile; tdb: the verdicts of "
        "the vendor's debugger, with its tables, its timing and its errors",
    )


def run(arguments: argparse.Namespace) -> int:
    """Compare, print the table, write the reports. 0: all pass; 1: something differs; 2: could not run.

    What is found stands first, and where a table follows last, too: that is what a terminal shows.
    """
    if arguments.perturb:
        from tdb_dap.cli.run.check_perturb import run_perturb

        return run_perturb(arguments)
    if arguments.json:
        raise BadInput("--json: only with --perturb; --report FILE.json writes the comparison")
    arguments.blame |= arguments.fail_on == "op" and arguments.mode == "cascade"
    _refuse(arguments)
    baseline = reports.read_known(arguments)
    if arguments.profile == "tdb":
        from tdb_dap.cli.run.check_tdb import run_tdb

        return run_tdb(arguments)
    from tdb_dap.tools.check.findings import RULE
    from tdb_dap.tools.check.results import write_tensors
    from tdb_dap.tools.check.shadows import lines as shadow_lines
    from tdb_dap.tools.check.text import headline, nothing_judged, shape_notes, story, table, weight_notes
    from tdb_dap.tools.profile.text import MOST_OPS
    from tdb_dap.tools.profile.text import lines as profile_lines
    from tdb_dap.tools.sanitize.text import lines as sanitizer_lines

    report, walked, program = _check(arguments)
    shown = report.rows if arguments.all else () if report.has_other_inputs else report.failures
    print(headline(report))
    for note in (*weight_notes(report), *shape_notes(report)[:_MOST_NOTES]):
        print(note)
    if shown:
        print("\n".join(["", *table(shown)]))
    wrong = [row for row in shown if row.verdict == "fail"] if report.has_other_inputs else report.failures
    wrong = [row for row in wrong if row.role != "operand" or row.blame is not None]
    for row in wrong[:_TOLD]:
        print("\n".join(["", *story(row)]))
    shadows = list(shadow_lines(report.rows, arguments.all))
    if shadows:
        print("\n".join(["", *shadows]))
    if report.profiled is not None:
        print("\n".join(["", *profile_lines(report.profiled, limit=None if arguments.all else MOST_OPS)]))
    if shown or report.profiled is not None:
        print(f"\n{headline(report)}")
    found = _findings(arguments, report, program, baseline)
    if report.sanitized is not None:
        told = [finding for finding in found.findings if finding.rule != RULE]
        known = [number for number, finding in enumerate(told) if finding.is_known]
        print("\n".join(["", *sanitizer_lines(report.sanitized, known)]))
    reports.remark_known(arguments, baseline, found)
    for path in arguments.report:
        _write(path, report, found, arguments.context)
    if arguments.dump:
        count = write_tensors(arguments.dump_file, walked.found)
        print(f"{count:,} tensors written to {arguments.dump_file}", file=sys.stderr)
    if report.stopped:
        raise TdbError(f"{arguments.context}: {report.stopped}")
    if not report.judged and not report.failures:
        raise TdbError(f"{arguments.context}: {nothing_judged(report)}")
    reports.write_known(arguments, found)
    return int(found.is_failure or (report.weights is not None and report.weights.differ > 0))


def _findings(arguments: argparse.Namespace, report: Report, program: Program, baseline: Baseline | None) -> Findings:
    """All that differs, and what sanitizers have found: what of it is known, and whether the rest fails."""
    from tdb_dap.engine.files.context import Context
    from tdb_dap.tools.check.findings import RULE, findings_of
    from tdb_dap.tools.check.schema import is_accumulated
    from tdb_dap.tools.sanitize.findings import findings_of as sanitizers_findings

    findings = findings_of(report, Context.find(arguments.context), program.stage_index)
    if report.sanitized is not None:
        findings = findings.and_those_of(
            sanitizers_findings(program, report.sanitized, program.stage_index, strict=False)
        )
    if baseline is not None:
        findings = baseline.applied(findings, arguments.baseline)
    differing = [finding for finding in findings.findings if finding.rule == RULE]
    new = [row for row, finding in zip(report.failures, differing, strict=True) if not finding.is_known]
    return findings.forgiven(RULE) if arguments.fail_on == "op" and is_accumulated(new) else findings


def _refuse(arguments: argparse.Namespace) -> None:
    if arguments.jobs < 1:
        raise BadInput(f"--jobs {arguments.jobs}: give the number of processes, 1 or more")
    if arguments.jobs > MOST_JOBS:
        raise BadInput(f"--jobs {arguments.jobs:,}: give the number of processes, at most {MOST_JOBS:,}")
    several = [option for option, given in (("--jobs", arguments.jobs > 1), ("--dask", arguments.dask)) if given]
    if several and arguments.mode == "cascade" and not arguments.blame:
        raise BadInput(
            f"{several[0]}: in a cascade each op waits for the one before it; use --mode standalone or --blame"
        )
    if len(several) > 1:
        raise BadInput("--jobs and --dask: give one of them")
    if arguments.sanitize and (arguments.mode != "cascade" or arguments.resume):
        other = "--resume" if arguments.resume else "--mode standalone"
        raise BadInput(
            f"--sanitize and {other}: sanitizers look on from the start to the end of one run; leave one out"
        )
    if arguments.onnx is not None:
        if arguments.reference or arguments.golden:
            raise BadInput(f"--onnx and {'--golden' if arguments.golden else '--reference'}: give one of them")
        if arguments.onnx.suffix != ".onnx":
            raise BadInput(f"--onnx {arguments.onnx}: its name must end in .onnx")
        arguments.reference = [arguments.onnx]
    if arguments.golden:
        if arguments.reference:
            raise BadInput("--golden and --reference: give one of them")
        from tdb_dap.tools.golden.reference import text_of

        arguments.reference = [text_of(arguments.context)]
    reports.refuse(arguments.report, _FORMATS)
    if arguments.dump:
        refuse_unwritable(arguments.dump_file)


def _check(arguments: argparse.Namespace) -> tuple[Report, Walked, Program]:
    from tdb_dap.engine.compare.dataflow import Producers
    from tdb_dap.engine.reference.tolerance import Tolerances
    from tdb_dap.tools.check.blame import first_culprit, with_blame, with_other_inputs
    from tdb_dap.tools.check.job import Job
    from tdb_dap.tools.check.layers import by_layer
    from tdb_dap.tools.check.overwriting import Writers
    from tdb_dap.tools.check.schema import Report
    from tdb_dap.tools.check.weights import compared_weights
    from tdb_dap.tools.check.worker import Worker
    from tdb_dap.tools.opening import remark_sources
    from tdb_dap.tools.sanitize.report import report_of
    from tdb_dap.version import __version__

    job = Job(
        arguments.context,
        arguments.inputs,
        tuple(arguments.reference),
        Tolerances.parse(arguments.tolerance, arguments.excepted),
        backend=arguments.backend,
        static_tables=arguments.static_tables,
        cmodel_path=arguments.cmodel_path,
        net=arguments.net,
        stage=arguments.stage,
        keep="all" if _is_computed(arguments) else arguments.dump or "none",
        # What a journal holds may be asked for with another report the next time.
        pictures=arguments.resume is not None or any(path.suffix in _PICTURED for path in arguments.report),
        recording=arguments.recording,
    )
    started = time.monotonic()
    worker = Worker(job, arguments.mode)
    team = _team(arguments, job, worker) if arguments.mode == "standalone" else None
    program, reference = worker.debugger.program, worker.debugger.reference
    assert reference is not None
    remark_sources(program)
    if arguments.inputs is None and program.context.inputs is None and not program.brings_inputs:
        print("tdb-dap: no --inputs given: all inputs are zero", file=sys.stderr)
    if program.compile_stages.reason:
        print(f"tdb-dap: {program.compile_stages.reason}", file=sys.stderr)
    bar = Bar(len(program.commands), arguments.quiet)
    companions, wanted = _companions(worker) if arguments.sanitize else (None, {})
    walked = _walk(arguments, job, arguments.mode, worker, team, bar)
    writers = Writers(program)
    other_inputs = with_other_inputs(walked.rows, program)
    rows = other_inputs or walked.rows
    if other_inputs is None:
        if _may_accumulate(arguments, rows):
            rows = _without_accumulated(arguments, program, job, rows, bar)
        rows = writers.with_overwriters(rows)
    is_blamed = arguments.mode == "cascade" and arguments.blame and other_inputs is None
    if is_blamed and any(row.verdict == "fail" for row in rows):
        if arguments.resume is None:  # what a journal holds may be asked for as a whole the next time
            differing = frozenset(row.key for row in rows if row.verdict == "fail")
            job = replace(job, keep="none", pictures=False, wanted=differing)
        worker = Worker(job, "standalone")
        team = _team(arguments, job, worker)
        # Of the rest nothing is asked. Rows of an op lie between its first and last command.
        spans = [(row.first, row.last + 1) for row in rows if row.verdict == "fail"]
        alone = _walk(arguments, job, "standalone", worker, team, bar, spans)
        rows = with_blame(rows, alone.rows, Producers(program), writers)
    bar.clear()
    if _is_computed(arguments):
        rows = _with_shadows(arguments, program, rows, walked)
    report = Report(
        tool=f"tdb-dap {__version__}",
        model=str(arguments.context),
        net=program.net.name,
        chip=program.chip,
        mode=arguments.mode,
        profile="default",
        references=tuple(str(path) for path in reference.paths),
        commands=len(program.commands),
        seconds=round(time.monotonic() - started, 3),
        stopped=walked.stopped,
        culprit=first_culprit(rows),
        rows=tuple(rows),
        layers=by_layer(program, rows),
        sanitized=report_of(program, wanted, companions.survey(walked.stopped)) if companions is not None else None,
        profiled=_profiled(program) if arguments.profile == "time" else None,
        weights=compared_weights(program),
    )
    return report, walked, program


def _profiled(program: Program) -> ProfileReport:
    """Profile of a program; what other tools have found out about forms of commands is used again."""
    from tdb_dap.tools.profile.profiling import Profile
    from tdb_dap.tools.profile.report import report_of

    return report_of(Profile(program))


def _companions(worker: Worker) -> tuple[Companions, dict[str, str | None]]:
    """All sanitizers, looking on while a worker runs; and their names."""
    from tdb_dap.engine.sanitizers import chosen, made
    from tdb_dap.engine.sanitizers.survey import Companions

    wanted = chosen(["all"])
    companions = Companions(worker.debugger, made(wanted, []))
    worker.companions += companions.observers
    return companions, wanted


def _is_computed(arguments: argparse.Namespace) -> bool:
    """Whether what is expected is computed from the text of the compilation itself."""
    from tdb_dap.tools.golden.reference import SUFFIX

    return len(arguments.reference) == 1 and Path(arguments.reference[0]).suffix == SUFFIX


def _may_accumulate(arguments: argparse.Namespace, rows: list[Row]) -> bool:
    """Whether differences may be roundings that add up, and the limits are not the user's own."""
    is_strict = arguments.tolerance or arguments.blame or arguments.resume or arguments.mode != "cascade"
    return not is_strict and not _is_computed(arguments) and any(row.verdict == "fail" for row in rows)


def _without_accumulated(
    arguments: argparse.Namespace, program: Program, job: Job, rows: list[Row], bar: Bar
) -> list[Row]:
    """Rows without differences that no op makes; as they are where the reference is not the compilation's own."""
    from tdb_dap.engine.machine.input_data import load_inputs
    from tdb_dap.tools.check.shadows import without_accumulated
    from tdb_dap.tools.check.worker import Worker
    from tdb_dap.tools.golden.reference import numbers

    data = arguments.inputs or program.context.inputs
    references = [*arguments.reference] or [path for path in (program.context.reference,) if path is not None]
    if data is None or len(references) != 1:
        return rows
    try:
        inputs = numbers(load_inputs(data, program.inputs), program.inputs)
        # The tensors themselves were not kept: most checks do not need them.
        kept = replace(job, keep="all", pictures=False)
        again = _walk(arguments, kept, "cascade", Worker(kept, "cascade"), None, bar)
        outputs = [tensor.name for tensor in program.outputs]
        return without_accumulated(rows, again.found, arguments.context, inputs, Path(references[0]), outputs)
    except BadInput:
        return rows


def _with_shadows(arguments: argparse.Namespace, program: Program, rows: list[Row], walked: Walked) -> list[Row]:
    """Rows with their shadows; as they are where the compilation's own text is not there."""
    from tdb_dap.engine.machine.input_data import load_inputs
    from tdb_dap.tools.check.shadows import with_shadows
    from tdb_dap.tools.golden.reference import numbers

    data = arguments.inputs or program.context.inputs
    if data is None:
        return rows
    try:
        words = load_inputs(data, program.inputs)
        return with_shadows(rows, walked.found, arguments.context, numbers(words, program.inputs))
    except BadInput:
        return rows


def _team(arguments: argparse.Namespace, job: Job, worker: Worker) -> Team:
    from tdb_dap.engine.compare.segments import stretches
    from tdb_dap.tools.check.team import Alone, Dask, Processes, processes

    if arguments.dask:
        return Dask(job, arguments.dask)
    if arguments.jobs == 1:
        return Alone()
    pieces = len(stretches(worker.debugger.program, worker.debugger.reference, arguments.jobs))
    count = processes(arguments.jobs, pieces)
    return Alone() if count == 1 else Processes(job, count, worker)


def _walk(
    arguments: argparse.Namespace,
    job: Job,
    mode: Mode,
    worker: Worker,
    team: Team | None,
    bar: Bar,
    spans: list[tuple[int, int]] | None = None,
) -> Walked:
    """One run of the whole program, or of what ``spans`` need; in a cascade this process is alone."""
    from tdb_dap.tools.check.journal import Journal
    from tdb_dap.tools.check.runner import walk
    from tdb_dap.tools.check.team import Alone

    journal = Journal(arguments.resume / mode, job, mode) if arguments.resume else None
    running = team or Alone()
    try:
        return walk(worker, mode, running, bar.update, journal, spans)
    except KeyboardInterrupt:
        bar.clear()
        if journal is not None:
            print(f"tdb-dap: interrupted; the same command goes on with what {arguments.resume} holds", file=sys.stderr)
        raise
    finally:
        running.close()
        worker.close()


def _write(path: Path, report: Report, found: Findings, context: Path) -> None:
    from tdb_dap.engine.files.bounded_files import read_file
    from tdb_dap.engine.files.context import Context
    from tdb_dap.tools.check.html import html
    from tdb_dap.tools.check.text import markdown

    if path.suffix == ".json":
        text = report.model_dump_json(indent=1)
    elif path.suffix == ".md":
        text = markdown(report)
    elif path.suffix in reports.FINDINGS:
        text = reports.findings_text(path, found)
    else:
        mlir = Context.find(context).mlir
        text = html(report, read_file(mlir).decode("utf-8", "replace") if mlir is not None else "")
    write_text(path, text)
