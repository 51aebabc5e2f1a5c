"""Integers that are computed with another sign than they are read with."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

_OTHER_SIGNS = [{f"si{bits}", f"ui{bits}"} for bits in (8, 16, 32)]


def other_sign(program: Program, line: int) -> str:
    """The command that computes an op's integers with the other sign than they are read with; empty if none does.

    What that sign lacks is clipped then: numbers up to 255 to 127, say.
    """
    record = next(reversed(program.source.records_at(line)), None)
    read = next((value.view.dtype for value in record.results if value.view is not None), None) if record else None
    commands = (program.commands[ordinal] for ordinal in reversed(record.ordinals)) if record else ()
    command = next((one for one in commands if one.engine == "tiu" and not one.is_system), None)
    made = next(iter(command.description.results), None) if command is not None else None
    if command is None or made is None or read is None or {made.dtype.name, read.name} not in _OTHER_SIGNS:
        return ""
    return f"{command.token} computes {made.dtype}, which is read as {read}"
