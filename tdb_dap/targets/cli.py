"""``tdb-dap targets``: list supported chips and check their tables."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tdb_dap.engine.rendering.printable import counted, quoted
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.targets.chips.chip import Chip


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("--forms", metavar="CHIP", help="list every instruction form of a chip and its evidence")


def run(arguments: argparse.Namespace) -> int:
    """Print one line per chip and every contradiction; 1 if there is one that is not known to be the maker's."""
    from tdb_dap.targets.chips.registry import chips
    from tdb_dap.targets.validation.evidence import Evidence
    from tdb_dap.targets.validation.self_check import check

    if arguments.forms:
        chosen = chips().get(arguments.forms.upper())
        if chosen is None:
            raise BadInput(f"--forms: there is no chip {quoted(arguments.forms)}; known: {', '.join(chips())}")
        _forms(chosen)
        return 0
    failed = False
    head = ("lanes", "local memory", "instructions", "seen in models", "simulated")
    print("chip      {:>5} {:>13} {:>13} {:>15} {:>12}  table".format(*head))
    for name, chip in chips().items():
        report = check(chip)
        local = f"{chip.geometry.local_bytes >> 10:,} KiB"
        share = f"{report.simulated} of {report.forms}" if chip.rules else "no"
        unknown = [problem for problem in report.problems if problem not in chip.known_problems]
        failed = failed or bool(unknown)
        seen = f"{report.evidence[Evidence.MODELS]} of {report.forms}"
        verdict = (
            "contradictory"
            if unknown
            else "ok"
            if not report.problems
            else counted(len(report.problems), "known defect")
        )
        print(
            f"{name:9} {chip.geometry.lanes:>5} {local:>13} {len(chip.instruction_set.instructions):>13} "
            f"{seen:>15} {share:>12}  {verdict}"
        )
        for problem in report.problems:
            print(f"          {'as the maker has it' if problem in chip.known_problems else 'error'}: {problem}")
        if report.undescribed:
            print(f"          decoded without operands: {', '.join(report.undescribed)}")
    print("Views of forms in no model are read from a sister chip's or from the names of the fields: --forms CHIP.")
    return 1 if failed else 0


def _forms(chip: Chip) -> None:
    """Mnemonic, register, family, what the views rest on, and what the semantics rest on, if the form is simulated."""
    from tdb_dap.targets.families import FAMILIES
    from tdb_dap.targets.validation.evidence import Evidence, evidence, recorded_plans
    from tdb_dap.targets.validation.self_check import is_simulated

    shares = recorded_plans().get(chip.name, {})
    columns = "{:6} {:34} {:24} {:>3} {:18} {:10} {:14} {:>8} {:>12}"
    heads = ("views from", "simulated like", "commands", "without plan")
    print(columns.format("engine", "mnemonic", "register", "sub", "family", *heads))
    for i in sorted(chip.instruction_set.instructions, key=lambda i: (i.engine, i.kind, i.sub, i.register)):
        family = FAMILIES.get(i.register)
        name = family.name if family else "-"
        rests_on = evidence(chip.name, i)
        # Forms that no model of the chip holds are checked against the vendor's simulator alone.
        like = ("models" if rests_on is Evidence.MODELS else "emulator") if is_simulated(chip, i) else "no"
        counts = [f"{count:,}" for count in shares.get(f"{i.register} {i.sub}", ())] or ["", ""]
        print(columns.format(i.engine, i.mnemonic, i.register, i.sub, name, rests_on.value, like, *counts).rstrip())
    if shares:
        total, without = (sum(counts) for counts in zip(*shares.values(), strict=True))
        share = f"{without:,} ({without / total:.1%})"
        print(f"Of {total:,} commands of recorded models {share} have no plan: NumPy executes them one by one.")
