"""``tdb-dap sanitize``: find faults of a compiled model that no value may show yet."""

from __future__ import annotations

import argparse

from tdb_dap.cli import reports
from tdb_dap.cli.options import data_options, filled, given_model, given_prompt, model_arguments, prompt_options
from tdb_dap.cli.progress import Bar
from tdb_dap.errors import TdbError

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
        help="sanitizers to run: all (bounds uninitialized hazard decode legal unused nan), inf, denormal, saturate, "
        'or "saturate: 5%%"; mismatch: compare with the reference, as --reference does',
    )
    parser.add_argument(
        "--except",
        metavar="PLACE",
        nargs="+",
        default=[],
        dest="suppressed",
        help="do not report findings at these locations (* allowed), op names, lines (mlir:31) or commands (B23)",
    )
    parser.add_argument("--strict", action="store_true", help="count warnings as errors for the exit code")
    reports.options(parser, _FORMATS)


def run(arguments: argparse.Namespace) -> int:
    """Run, print, write the reports. 0: no errors, or known ones; 1: errors; 2: could not run to the end."""
    from tdb_dap.tools.sanitize.sanitizing import SanitizeOptions, sanitize
    from tdb_dap.tools.sanitize.text import lines, markdown

    reports.refuse(arguments.report, _FORMATS, arguments.write_baseline)
    options = filled(SanitizeOptions, arguments)
    result = sanitize(given_prompt(arguments) or given_model(arguments), options, Bar(arguments.quiet))
    report = result.report
    print("\n".join(lines(report, result.known)))
    reports.print_known(arguments, result.baseline, result.findings)
    for path in arguments.report:
        reports.write(path, report, lambda: markdown(report), result.findings)
    if result.problem:
        raise TdbError(result.problem)
    reports.write_known(arguments, result.findings)
    return int(result.findings.is_failure)
