"""``tdb-dap sanitize``: what is wrong with a compiled model although no number need show it yet."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from tdb_dap.cli import reports
from tdb_dap.cli.answers import is_asked, open_answer
from tdb_dap.cli.options import data_options, model_arguments, prompt_options
from tdb_dap.cli.progress import Bar
from tdb_dap.engine.files.atomic_files import write_text
from tdb_dap.errors import BadInput, TdbError

_MISMATCH = "mismatch"
_FORMATS = (".json", ".md", *reports.FINDINGS)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    data_options(parser)
    prompt_options(parser)
    parser.add_argument(
        "--sanitizers",
        metavar="NAME",
        nargs="+",
        default=["all"],
        help="all (that is bounds uninitialized hazard decode unused nan), inf, denormal, saturate, or "
        '"saturate: 5%%"; mismatch: compare with the reference, as --reference does',
    )
    parser.add_argument(
        "--except",
        metavar="PLACE",
        nargs="+",
        default=[],
        dest="suppressed",
        help="places not to report: names of locations (* allowed), op names, mlir:31, B23",
    )
    parser.add_argument("--strict", action="store_true", help="warnings count as errors for the exit code")
    reports.options(parser, _FORMATS)


def run(arguments: argparse.Namespace) -> int:
    """Look, print, write the reports. 0: no errors, or known ones; 1: errors; 2: could not run to the end."""
    from tdb_dap.engine.checks.exception_filters import FILTERS
    from tdb_dap.engine.checks.reference_checks import BIRTH
    from tdb_dap.engine.sanitizers import chosen, made
    from tdb_dap.engine.sanitizers.survey import survey
    from tdb_dap.tools.opening import open_debugger, remark_sources
    from tdb_dap.tools.sanitize.findings import findings_of
    from tdb_dap.tools.sanitize.report import report_of
    from tdb_dap.tools.sanitize.text import lines, markdown

    reports.refuse(arguments.report, _FORMATS)
    baseline = reports.read_known(arguments)
    compared, others = _split(arguments.sanitizers)
    if arguments.reference:
        compared.append("")
    wanted = chosen(others)
    observers = made(wanted, arguments.suppressed)
    debugger = (
        open_answer(arguments)
        if is_asked(arguments)
        else open_debugger(
            arguments.context,
            arguments.inputs,
            arguments.reference,
            arguments.backend,
            arguments.static_tables,
            history_limit=0,
            cmodel_path=arguments.cmodel_path,
            net=arguments.net,
            stage=arguments.stage,
            recording=arguments.recording,
        )
    )
    remark_sources(debugger.program)
    if compared:
        if debugger.reference is None:
            raise BadInput(f"{arguments.context}: mismatch: nothing to compare with; give --reference R.npz")
        wanted[_MISMATCH] = ", ".join(filter(None, (BIRTH, *compared, *arguments.suppressed)))
        observers[_MISMATCH] = FILTERS[_MISMATCH].make(wanted[_MISMATCH])
    bar = Bar(len(debugger.program.commands), arguments.quiet)
    try:
        report = report_of(debugger.program, wanted, survey(debugger, observers, bar.update, False))
    finally:
        bar.clear()
        debugger.close()
    findings = findings_of(debugger.program, report, debugger.program.stage_index, arguments.strict)
    if baseline is not None:
        findings = baseline.applied(findings, arguments.baseline)
    print("\n".join(lines(report, [number for number, finding in enumerate(findings.findings) if finding.is_known])))
    reports.remark_known(arguments, baseline, findings)
    for path in arguments.report:
        if path.suffix in reports.FINDINGS:
            text = reports.findings_text(path, findings)
        else:
            text = report.model_dump_json(indent=1) if path.suffix == ".json" else markdown(report)
        write_text(path, text)
    if report.stopped:
        raise TdbError(f"{report.model}: {report.stopped}; findings up to there are listed")
    reports.write_known(arguments, findings)
    return int(findings.is_failure)


def _split(entries: Sequence[str]) -> tuple[list[str], list[str]]:
    """The conditions of ``mismatch``, which needs a reference, and the entries for the other sanitizers."""
    compared: list[str] = []
    others: list[str] = []
    for entry in entries:
        name, _, condition = (part.strip() for part in entry.partition(":"))
        if name == _MISMATCH:
            compared.append(condition)
        else:
            others.append(entry)
    return compared, others
