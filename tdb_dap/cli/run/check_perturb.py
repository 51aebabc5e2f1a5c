"""``tdb-dap check --perturb``: which ops make more of the last place of the inputs than they must."""

from __future__ import annotations

import argparse

from tdb_dap.cli.progress import Bar
from tdb_dap.errors import BadInput

MOST_RUNS = 1000


def run_perturb(arguments: argparse.Namespace) -> int:
    """Print the ranked table. 0: no op is beyond its condition number; 1: some are."""
    others = {
        "--reference": bool(arguments.reference),
        "--golden": arguments.golden,
        "--onnx": arguments.onnx is not None,
        "--blame": arguments.blame,
        "--sanitize": arguments.sanitize,
        "--profile": arguments.profile == "time",
        "--mode standalone": arguments.mode != "cascade",
        "--report": bool(arguments.report),
        "--dump": bool(arguments.dump),
        "--baseline": bool(arguments.baseline or arguments.write_baseline),
        "--resume": bool(arguments.resume),
        "--recording": bool(arguments.recording),
        "--backend": arguments.backend != "numpy",
    }
    given = next((name for name, is_given in others.items() if is_given), "")
    if given:
        raise BadInput(f"--perturb compares a model with itself; leave {given} out")
    if not 1 <= arguments.runs <= MOST_RUNS:
        raise BadInput(f"--runs {arguments.runs:,}: give the number of perturbations, 1 to {MOST_RUNS:,}")
    from tdb_dap.tools.perturb.perturbing import perturbed
    from tdb_dap.tools.perturb.text import lines

    bar = Bar(arguments.runs + 1, arguments.quiet)
    found = perturbed(
        arguments.context, arguments.inputs, arguments.runs, arguments.net, arguments.stage, progress=bar.update
    )
    bar.clear()
    if arguments.json:
        print(found.model_dump_json(indent=1))
    else:
        print("\n".join(lines(found, arguments.all)))
    if not any(row.verdict != "unknown" for row in found.rows):
        raise BadInput(f"{arguments.context}: nothing that has a golden moved; give other --inputs")
    return int(bool(found.of("beyond")))
