"""Record how many commands of compiled models are executed without a plan, in tdb_dap/targets/isa/plans.json.

    python -m scripts.record_plans DIRECTORY...       read compilation.bmodel[.xz], model.cvimodel[.xz] below them

Chips of which they have no model keep their rows. ``tdb-dap targets --forms`` shows the shares.

Needs the C kernel: without it nothing has a plan.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from tdb_dap.errors import TdbError
from tdb_dap.targets import kernel
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.tools.programs import open_program

MODELS = ("compilation.bmodel", "model.cvimodel")
FILE = Path(__file__).parent.parent / "tdb_dap" / "targets" / "isa" / "plans.json"


def main() -> int:
    if not kernel.is_active():
        raise SystemExit(kernel.describe())
    shares: dict[str, Any] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for directory in map(Path, sys.argv[1:]):
        for path in sorted(path for name in MODELS for path in directory.rglob(f"{name}*")):
            try:
                program = open_program(path.parent)
            except TdbError as error:
                print(f"left out: {error}")
                continue
            encoded, chip = program.commands.encoded, program.target
            assert isinstance(chip, Chip)
            for kind, counts in (chip.plan_coverage(encoded) if encoded is not None else {}).items():
                instruction = chip.instruction_set.instructions[kind]
                own = shares[chip.name][f"{instruction.register} {instruction.sub}"]
                own[:] = [have + more for have, more in zip(own, counts, strict=True)]
    shares = {**json.loads(FILE.read_text("utf-8")), **shares}
    rows = [(chip, dict(sorted(forms.items()))) for chip, forms in sorted(shares.items())]
    lines = [f" {json.dumps(chip)}: {json.dumps(forms)}" for chip, forms in rows]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
