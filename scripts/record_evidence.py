"""Record which instruction forms compiled models show, per chip, in tdb_dap/targets/isa/evidence.json.

    python -m scripts.record_evidence DIRECTORY...    read every compilation.bmodel[.xz] below the directories
    python -m scripts.record_evidence --check         check that every recorded form exists in its chip's table

What is recorded already is kept: evidence does not go away when a model is not at hand.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tdb_dap.errors import TdbError
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import chips
from tdb_dap.tools.programs import open_program

FILE = Path(__file__).parent.parent / "tdb_dap" / "targets" / "isa" / "evidence.json"

Forms = dict[str, set[tuple[str, int]]]


def main() -> int:
    recorded = read()
    if "--check" in sys.argv:
        return check(recorded)
    for directory in map(Path, sys.argv[1:]):
        for path in sorted(directory.rglob("compilation.bmodel*")):
            try:
                program = open_program(path.parent)
            except TdbError as error:
                print(f"left out: {error}")
                continue
            assert isinstance(program.target, Chip)
            instructions = program.target.instruction_set.instructions
            found = recorded.setdefault(program.target.name, set())
            kinds = {kind for kind in program.commands.columns.kind.tolist() if kind >= 0}
            found.update((instructions[kind].register, instructions[kind].sub) for kind in kinds)
    write(recorded)
    return 0


def read() -> Forms:
    if not FILE.exists():
        return {}
    data = json.loads(FILE.read_text("utf-8"))
    return {chip: {(register, sub) for register, subs in forms.items() for sub in subs} for chip, forms in data.items()}


def write(recorded: Forms) -> None:
    data: dict[str, dict[str, list[int]]] = {}
    for chip, forms in sorted(recorded.items()):
        for register, sub in sorted(forms):
            data.setdefault(chip, {}).setdefault(register, []).append(sub)
    lines = [
        f" {json.dumps(chip)}: {{\n"
        + ",\n".join(f"  {json.dumps(register)}: {json.dumps(subs)}" for register, subs in forms.items())
        + "\n }"
        for chip, forms in data.items()
    ]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


def check(recorded: Forms) -> int:
    problems = 0
    for name, forms in recorded.items():
        known = {(i.register, i.sub) for i in chips()[name].instruction_set.instructions}
        for form in sorted(forms - known):
            print(f"{name}: evidence of {form[0]} {form[1]}, which its table does not hold")
            problems += 1
    return int(problems > 0)


if __name__ == "__main__":
    sys.exit(main())
