"""``tdb-dap triage``: find the stage and op of a compilation that went wrong first; tell bugs from quantisation."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdb_dap.engine.files.atomic_files import refuse_unwritable, write_text
from tdb_dap.errors import BadInput
from tdb_dap.system.allocator import keep_large_blocks
from tdb_dap.system.notices import notice
from tdb_dap.tools.report_schema import json_text


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "directory",
        metavar="DIR",
        type=Path,
        nargs="?",
        default=Path(),
        help="directory where model_transform and model_deploy were run, or a context directory (default: here)",
    )
    parser.add_argument(
        "--quantize-table",
        metavar="FILE",
        type=Path,
        help="write a quantize table that keeps just enough ops in float to reach --cosine, and compile with it if the "
        "compiler is installed; no verdict",
    )
    parser.add_argument(
        "--cosine", metavar="NUMBER", type=float, default=0.999, help="least cosine of an output (default: 0.999)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the verdict. 0: nothing is wrong; 1: something is; 2: it could not be found out."""
    keep_large_blocks()
    if arguments.quantize_table is not None:
        return _mixed(arguments)
    from tdb_dap.tools.triage.text import lines
    from tdb_dap.tools.triage.triaging import triage

    result = triage(arguments.directory)
    print(json_text(result, 1) if arguments.json else "\n".join(lines(result)))
    if result.problem:
        raise BadInput(result.problem)
    return int(result.is_wrong)


def _mixed(arguments: argparse.Namespace) -> int:
    """Write the table. 0: the output reaches what was asked for, compiled if the compiler is there; 1: it does not."""
    from tdb_dap.tools.triage.sensitivity import mixed
    from tdb_dap.tools.triage.text import mixed_lines

    if not 0 < arguments.cosine <= 1:
        raise BadInput(f"--cosine {arguments.cosine}: give a number above 0, at most 1")
    refuse_unwritable(arguments.quantize_table)
    made = mixed(arguments.directory, arguments.cosine, notice)
    write_text(arguments.quantize_table, made.table)
    print("\n".join(mixed_lines(made, arguments.quantize_table, arguments.cosine)))
    return int(not made.is_reached(arguments.cosine))
