"""``tdb-dap perturb``: find ops that amplify a change in the last place of the inputs too much."""

from __future__ import annotations

import argparse
from pathlib import Path

from tdb_dap.cli.options import model_arguments
from tdb_dap.cli.progress import Bar
from tdb_dap.errors import BadInput
from tdb_dap.system.allocator import keep_large_blocks
from tdb_dap.tools.report_schema import json_text

MOST_RUNS = 1000


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    parser.add_argument(
        "--inputs", metavar="X", type=Path, help="perturb these inputs: .npz by input name, or raw .dat"
    )
    parser.add_argument("--runs", metavar="K", type=int, default=2, help="number of perturbations (default: 2)")
    parser.add_argument("--all", action="store_true", help="list every op, not only the worst")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the ranked table. 0: no op is beyond its condition number; 1: some are."""
    keep_large_blocks()
    if not 1 <= arguments.runs <= MOST_RUNS:
        raise BadInput(f"--runs {arguments.runs:,}: give the number of perturbations, 1 to {MOST_RUNS:,}")
    from tdb_dap.tools.perturb.perturbing import perturbed
    from tdb_dap.tools.perturb.text import lines

    bar = Bar(arguments.quiet)
    bar.start(arguments.runs + 1)
    result = perturbed(
        arguments.context, arguments.inputs, arguments.runs, arguments.net, arguments.stage, progress=bar.update
    )
    bar.clear()
    print(json_text(result, 1) if arguments.json else "\n".join(lines(result, arguments.all)))
    if not any(row.verdict != "unknown" for row in result.rows):
        raise BadInput(f"{arguments.context}: nothing that has a golden moved; give other --inputs")
    return int(bool(result.of("beyond")))
