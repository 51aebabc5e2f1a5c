"""Integers that are computed with another sign than they are read with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.program.accesses import views_of

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

_OTHER_SIGNS = [{f"si{bits}", f"ui{bits}"} for bits in (8, 16, 32)]


def other_sign(program: Program, line: int) -> str:
    """The command that computes an op's integers with the other sign than they are read with; empty if none does.

    What that sign lacks is clipped then: numbers up to 255 to 127, say. A command without a description tells nothing.
    """
    record = next(iter(program.source.records_at(line)), None)
    if record is None or len(record.results) != 1 or record.results[0].view is None:
        return ""
    commands = (program.commands[ordinal] for ordinal in reversed(record.ordinals))
    command = next((one for one in commands if one.engine == "tiu" and not one.is_system), None)
    made, read = views_of(command, True)[:1] if command is not None else [], record.results[0].view.dtype
    if command is None or not made or {made[0].dtype.name, read.name} not in _OTHER_SIGNS:
        return ""
    return f"{command.token} computes {made[0].dtype}, which is read as {read}"
