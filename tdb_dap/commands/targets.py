"""``tdb-dap targets``: the chips known, and a self-check of each."""

from __future__ import annotations

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options: there are none."""


def run(arguments: argparse.Namespace) -> int:
    """Print one line per chip and every contradiction; 1 if there is one that is not known to be the maker's."""
    from tdb_dap.targets.registry import chips
    from tdb_dap.targets.self_check import check

    failed = False
    print(f"{'chip':9} {'lanes':>5} {'local memory':>13} {'instructions':>13} {'simulated':>12}  table")
    for name, chip in chips().items():
        report = check(chip)
        local = f"{chip.geometry.local_bytes >> 10:,} KiB"
        share = f"{report.simulated} of {report.forms}" if chip.rules else "no"
        unknown = [problem for problem in report.problems if problem not in chip.known_problems]
        failed = failed or bool(unknown)
        verdict = "ok" if not report.problems else f"{len(report.problems)} known defect(s)"
        print(
            f"{name:9} {chip.geometry.lanes:>5} {local:>13} {len(chip.instruction_set.instructions):>13} "
            f"{share:>12}  {verdict if not unknown else 'contradictory'}"
        )
        for problem in report.problems:
            print(f"          {'as the maker has it' if problem in chip.known_problems else 'error'}: {problem}")
        if report.undescribed:
            print(f"          decoded without operands: {', '.join(report.undescribed)}")
    return 1 if failed else 0
