"""``tdb-dap check``: compare every op with reference data."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.cli import reports
from tdb_dap.cli.options import data_options, filled, given_model, model_arguments, tolerance_options
from tdb_dap.cli.progress import Bar
from tdb_dap.cli.standard_streams import terminal_width
from tdb_dap.engine.files.atomic_files import refuse_unwritable
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.allocator import keep_large_blocks

if TYPE_CHECKING:
    from tdb_dap.tools.check.options import CheckOptions
    from tdb_dap.tools.check.schema import Report

_FORMATS = (".json", ".md", ".html", *reports.FINDINGS)
_PICTURED = (".json", ".html")
"""Reports that show pictures."""

_NOT_WITH_PERTURB = (
    *("reference", "golden", "onnx", "blame", "sanitize", "profile", "verdicts", "mode", "report", "dump"),
    *("baseline", "write_baseline", "resume", "recording", "backend"),
)
_NOT_GIVEN: tuple[object, ...] = (None, False, [], (), "default", "cascade", "numpy")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    data_options(parser)
    parser.add_argument(
        "--mode",
        choices=("cascade", "standalone"),
        default="cascade",
        help="operands of each op: computed by the ops before it (default), or the reference's values",
    )
    parser.add_argument(
        "--jobs",
        metavar="N",
        type=int,
        default=1,
        help="worker processes (capped by CPUs and work) for --mode standalone and --blame",
    )
    parser.add_argument("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster that runs the standalone part")
    parser.add_argument("--resume", metavar="DIR", type=Path, help="checkpoint directory; the same command resumes")
    parser.add_argument(
        "--blame", action="store_true", help="run again with the reference's operands and find the op at fault"
    )
    parser.add_argument("--sanitize", action="store_true", help="also run all sanitizers, as tdb-dap sanitize does")
    parser.add_argument(
        "--profile",
        nargs="?",
        choices=("time", "tdb", "default"),  # tdb, default: as --verdicts
        metavar="time",
        const="time",
        default="default",
        help="also profile the model, as tdb-dap profile does",
    )
    parser.add_argument(
        "--golden", action="store_true", help="compute expected values in float64 from the compiler's ..._tpu.mlir"
    )
    parser.add_argument(
        "--onnx",
        metavar="MODEL.onnx",
        type=Path,
        help="compute expected values from the nodes of this model (extra onnx; ONNX Runtime if installed)",
    )
    parser.add_argument(
        "--verdicts",
        choices=("default", "tdb"),
        default="default",
        help="tdb: print the verdicts of the vendor's debugger, with its tables, timing and errors",
    )
    parser.add_argument(
        "--fail-on",
        choices=("any", "op"),
        default="any",
        help="exit with 1 for any tensor that differs (default), or only if an op is at fault (includes --blame)",
    )
    tolerance_options(parser)
    reports.options(parser, _FORMATS)
    parser.add_argument("--dump", choices=("failed", "all"), help="write compared tensors to check_tensors.npz")
    parser.add_argument(
        "--dump-file", metavar="OUT.npz", type=Path, default=Path("check_tensors.npz"), help="write them to this file"
    )
    parser.add_argument("--all", action="store_true", help="list every tensor, not only those that differ")
    # Old spelling of the verb perturb.
    parser.add_argument("--perturb", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=2, help=argparse.SUPPRESS)
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)


def run(arguments: argparse.Namespace) -> int:
    """Compare, print the table, write the reports. 0: all pass; 1: something differs; 2: could not run."""
    keep_large_blocks()
    if arguments.perturb:
        return _perturb(arguments)
    if arguments.json:
        raise BadInput("--json: only with --perturb; --report FILE.json writes the comparison")
    reports.refuse(arguments.report, _FORMATS, arguments.write_baseline)
    if arguments.dump:
        refuse_unwritable(arguments.dump_file)
    from tdb_dap.tools.check.checking import check
    from tdb_dap.tools.check.options import CheckOptions
    from tdb_dap.tools.check.results import write_tensors
    from tdb_dap.tools.check.text import console

    options = filled(
        CheckOptions,
        arguments,
        model=given_model(arguments),
        ops_only=arguments.fail_on == "op",
        profile=arguments.profile == "time",
        keep=arguments.dump or "none",
        pictures=any(path.suffix in _PICTURED for path in arguments.report),
    )
    if "tdb" in (arguments.verdicts, arguments.profile):
        return _vendor_verdicts(arguments, options)
    result = check(options, Bar(arguments.quiet))
    print("\n".join(console(result.report, result.findings, arguments.all, terminal_width())))
    reports.print_known(arguments, result.baseline, result.findings)
    for path in arguments.report:
        text = partial(_text, path.suffix, result.report, arguments.context)
        reports.write(path, result.report, text, result.findings)
    if arguments.dump:
        count = write_tensors(arguments.dump_file, result.tensors)
        print(f"{count:,} tensors written to {arguments.dump_file}", file=sys.stderr)
    if result.problem:
        raise TdbError(result.problem)
    reports.write_known(arguments, result.findings)
    return int(result.is_failure)


def _vendor_verdicts(arguments: argparse.Namespace, options: CheckOptions) -> int:
    """Print one line for each value that the vendor compares. 0: no Fail; 1: some."""
    from tdb_dap.tools.check.vendor_verdicts import vendor_verdicts

    if arguments.report or arguments.write_baseline:
        raise BadInput("--verdicts tdb: leave out --report and --write-baseline")
    counts: dict[str, int] = {}
    for line in vendor_verdicts(options, counts, arguments.all):
        print(line)
    print(", ".join(f"{state} {count:,}" for state, count in sorted(counts.items())))
    return int(counts.get("Fail", 0) > 0)


def _perturb(arguments: argparse.Namespace) -> int:
    from tdb_dap.tools.perturb import cli

    given = next((name for name in _NOT_WITH_PERTURB if getattr(arguments, name) not in _NOT_GIVEN), "")
    if given:
        raise BadInput(f"--perturb compares a model with itself; leave --{given.replace('_', '-')} out")
    return cli.run(arguments)


def _text(suffix: str, report: Report, context: Path) -> str:
    from tdb_dap.engine.files.bounded_files import read_file
    from tdb_dap.engine.files.context import Context
    from tdb_dap.tools.check.html import html
    from tdb_dap.tools.check.text import markdown

    if suffix == ".md":
        return markdown(report)
    mlir = Context.find(context).mlir
    return html(report, read_file(mlir).decode("utf-8", "replace") if mlir is not None else "")
