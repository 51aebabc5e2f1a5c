"""``tdb-dap diff``: compare two compiled models: structure, then values."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdb_dap.cli import reports
from tdb_dap.cli.options import backend_options, tolerance_options
from tdb_dap.cli.progress import Bar
from tdb_dap.errors import BadInput, TdbError


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "a", type=Path, metavar="CONTEXT_A", help="context directory or .bmodel file; or FILE of run --hashes"
    )
    parser.add_argument("b", type=Path, metavar="CONTEXT_B", help="the model to compare with it")
    parser.add_argument(
        "--inputs",
        metavar="X",
        type=Path,
        help=".npz by input name, for both (default: those next to CONTEXT_B, else zeros)",
    )
    tolerance_options(parser)
    parser.add_argument("--structure", action="store_true", help="compare the structure only; run nothing")
    reports.report_option(parser, (".json", ".md"))
    parser.add_argument("--all", action="store_true", help="list all differences")
    backend_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Compare, print, write the reports. 0: same; 1: something differs; 2: could not run."""
    from tdb_dap.engine.reference.tolerance import Tolerances
    from tdb_dap.tools.hashes.log import is_log

    if is_log(arguments.a) or is_log(arguments.b):
        return _hashes(arguments)
    from tdb_dap.tools.diff.comparing import compare_models
    from tdb_dap.tools.diff.text import lines, markdown

    reports.refuse(arguments.report, (".json", ".md"))
    bar = Bar(arguments.quiet)
    report = compare_models(
        arguments.a,
        arguments.b,
        arguments.inputs,
        Tolerances.parse(arguments.tolerance, arguments.excepted),
        bar.update,
        values=not arguments.structure,
        backend=arguments.backend,
        cmodel_path=arguments.cmodel_path,
    )
    bar.clear()
    print("\n".join(lines(report, arguments.all)))
    for path in arguments.report:
        reports.write(path, report, lambda: markdown(report))
    if report.not_compared and not arguments.structure and not report.unlike_inputs:
        raise TdbError(f"{arguments.b}: {report.not_compared}")
    return 0 if report.is_same else 1


def _hashes(arguments: argparse.Namespace) -> int:
    """As ``run``, for two files that `tdb-dap run --hashes` has written."""
    from tdb_dap.tools.hashes.comparing import compare
    from tdb_dap.tools.hashes.log import is_log, read

    for path in (arguments.a, arguments.b):
        if not is_log(path):
            raise BadInput(f"{path}: the other one is a log of hashes; give two of `tdb-dap run --hashes`")
    if arguments.inputs or arguments.tolerance or arguments.excepted or arguments.structure or arguments.report:
        raise BadInput("logs of hashes are the same or not: they take no --inputs, --tolerance, --except or --report")
    lines, same = compare(read(arguments.a), read(arguments.b))
    print("\n".join(lines))
    return 0 if same else 1
