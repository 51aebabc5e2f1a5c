"""``legal``: commands that the chip does not have, whatever is in memory.

Misaligned addresses, formats that do not go together, tensors that leave their lanes, windows that do not give the
shape of the result: see ``Ruling`` of ``engine.hardware.target``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.sanitizers.finding_text import title_of

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

NAME = "legal"


def legality(program: Program) -> Iterator[Finding]:
    """One finding for each illegal command, in the order of execution."""
    for ordinal, text in program.access_rows.illegal:
        command = program.commands[ordinal]
        yield Finding(NAME, "The chip has no such command", f"{title_of(command)}: {text}", ordinal, (command.asm,))
