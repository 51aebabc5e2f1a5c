"""Provenance of a value: the last writer of a place, and the readers after it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.edits import Edit, MemoryEdit

if TYPE_CHECKING:
    from tdb_dap.engine.machine.machine import Machine


class Provenance(Struct, frozen=True):
    """Writer of a byte range: a command, or the user's ``edit`` (``ordinal``: the moment at which it was made)."""

    ordinal: int
    edit: Edit | None = None


def provenance_of(machine: Machine, place: ByteRanges, before: int | None = None) -> Provenance | None:
    """The last command or edit that wrote a byte of ``place``; None: its bytes are those of the start.

    ``before``: look at what happened up to this ordinal only; default: up to now.
    """
    before = machine.ordinal if before is None else before
    writer = machine.accesses.last_writer(place, before)
    while writer is not None and machine.program.may_keep(writer) and not _changes(machine, writer, place):
        writer = machine.accesses.last_writer(place, writer)
    for edit in reversed(machine.edits):
        if edit.moment > before or (writer is not None and edit.moment <= writer):
            continue
        if isinstance(edit, MemoryEdit) and edit.touches(place):
            return Provenance(edit.moment, edit)
    return None if writer is None else Provenance(writer)


def _changes(machine: Machine, ordinal: int, place: ByteRanges) -> bool:
    """Whether a command leaves other bytes in a place than were there; the machine comes back from looking."""
    with machine.excursion():
        machine.travel(ordinal)
        before = _content(machine, place)
        machine.travel(ordinal + 1)
        return _content(machine, place) != before


def _content(machine: Machine, place: ByteRanges) -> list[bytes]:
    return [
        machine.memory.read_bytes(place.space, start, stop - start, place.core) for start, stop in place.runs.tolist()
    ]


def readers_of(machine: Machine, place: ByteRanges, since: int) -> list[int]:
    """The commands from ``since`` on that read a byte of ``place``, up to the one that writes to it next, if any."""
    last = next(machine.accesses.touching(place, reads=False, writes=True, start=since), None)
    ordinals = machine.accesses.touching(place, reads=True, writes=False, start=since)
    return [ordinal for ordinal in ordinals if last is None or ordinal <= last]


def sources_of(machine: Machine, ordinal: int) -> list[tuple[str, View]]:
    """Operands of a command in memory, with their roles."""
    command = machine.command_at(ordinal)
    if command.is_system:
        return []
    description = command.description
    named = dict(zip(map(id, description.operands), description.operand_roles, strict=False))
    return [(named.get(id(view), ""), view) for view in description.reads if isinstance(view, View)]
