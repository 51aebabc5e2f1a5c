"""Where a value comes from and where it goes: the last writer of a place, and the readers behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.byte_ranges import Place
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.edits import Edit, MemoryEdit
from tdb_dap.engine.machine.undo_log import Change, OverwrittenBytes, OverwrittenView

if TYPE_CHECKING:
    from tdb_dap.engine.machine.machine import Machine


@dataclass(frozen=True)
class Origin:
    """What gave a place its bytes: a command, or the user's ``edit`` (``ordinal``: the moment at which it was made)."""

    ordinal: int
    edit: Edit | None = None


def origin_of(machine: Machine, place: Place, before: int | None = None) -> Origin | None:
    """The last command or edit that wrote a byte of ``place``; None: its bytes are those of the start.

    ``before``: look at what happened up to this ordinal only; default: up to now.
    """
    before = machine.ordinal if before is None else before
    writer = machine.last_writer(place, before)
    for edit in reversed(machine.edits):
        if edit.moment > before or (writer is not None and edit.moment <= writer):
            continue
        if not isinstance(edit, MemoryEdit):
            continue
        if edit.place.overlaps(place) if edit.place else any(_touches(change, place) for change in edit.after):
            return Origin(edit.moment, edit)
    return None if writer is None else Origin(writer)


def readers_of(machine: Machine, place: Place, since: int) -> list[int]:
    """The commands from ``since`` on that read a byte of ``place``, up to the one that writes to it next, if any."""
    last = next(iter(machine.touching(place, reads=False, writes=True, start=since)), None)
    found = machine.touching(place, reads=True, writes=False, start=since)
    return [ordinal for ordinal in found if last is None or ordinal <= last]


def sources_of(machine: Machine, ordinal: int) -> list[tuple[str, View]]:
    """What a command reads from memory, with its role."""
    command = machine.command_at(ordinal)
    if command.is_system:
        return []
    description = command.description
    named = dict(zip(map(id, description.operands), description.operand_roles, strict=False))
    return [(named.get(id(view), ""), view) for view in description.reads if isinstance(view, View)]


def _touches(change: Change, place: Place) -> bool:
    if isinstance(change, OverwrittenView):
        return Place.of(change.view).overlaps(place)
    if isinstance(change, OverwrittenBytes):
        return Place.range(change.space, change.core, change.start, change.old.size).overlaps(place)
    return False
