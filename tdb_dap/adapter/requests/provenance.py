"""Writers of a value: a tree that grows while it is opened, and a location to go to."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.types import LocationsArguments, LocationsResponseBody
from tdb_dap.adapter.requests.sources import listing_source
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.handles import Node, leaf, tree
from tdb_dap.adapter.session.references import view_reference
from tdb_dap.engine.expressions.assignment import Part
from tdb_dap.engine.machine.provenance import provenance_of, readers_of, sources_of
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.expressions.assignment import Part
    from tdb_dap.engine.hardware.byte_ranges import ByteRanges
    from tdb_dap.engine.machine.provenance import Provenance

_AS_AT_THE_START = "nobody: as it was at the start"


@request("locations")
def locations(session: Session, arguments: LocationsArguments) -> LocationsResponseBody:
    """The line of the listing of a value's last writer."""
    part = session.handles.location(arguments.locationReference)
    origin = provenance_of(session.debugger.machine, part.ranges)
    if origin is None:
        raise TdbError(f"{part.title} is as it was at the start; no command has written it")
    if origin.edit is not None:
        raise TdbError(f"{part.title} was edited: {origin.edit.text}")
    line = session.debugger.program.listing.line_of(origin.ordinal)
    return LocationsResponseBody(
        source=listing_source(session), line=session.traits.line_out(line), column=session.traits.first_column
    )


def writer_text(session: Session, origin: Provenance | None) -> str:
    """``ordinal 12, line 31: %B5 = ...``."""
    if origin is None:
        return _AS_AT_THE_START
    if origin.edit is not None:
        return f"command {origin.ordinal}: edited: {origin.edit.text}"
    debugger = session.debugger
    command = debugger.machine.command_at(origin.ordinal)
    line = f", {debugger.program.source.place_text(command.mlir_lines[0])}" if command.mlir_lines else ""
    return f"command {origin.ordinal}{line}: {command.asm}"


def written_by(session: Session, part: Part, before: int | None = None) -> Node:
    """The last writer of a part of memory; below it what that command read, and who wrote that.

    Lazy: to find it, what all commands access has to be known, and that takes seconds for a large program.
    """
    return Node("written by", named=lambda: [_written_by(session, part, before)], is_lazy=True)


def _written_by(session: Session, part: Part, before: int | None) -> Node:
    origin = provenance_of(session.debugger.machine, part.ranges, before)
    text = writer_text(session, origin)
    if origin is None or origin.edit is not None:
        return leaf("written by", text)
    return tree("written by", text, lambda: _sources(session, origin.ordinal))


def _sources(session: Session, ordinal: int) -> list[Node]:
    nodes: list[Node] = []
    for role, view in sources_of(session.debugger.machine, ordinal):
        part = Part(f"{role} %{view.name}".strip(), view)
        node = tree(part.title, view.memref, partial(_only_writer, session, part, ordinal))
        node.memory_reference = view_reference(view)
        nodes.append(node)
    return nodes


def _only_writer(session: Session, part: Part, before: int) -> list[Node]:
    return [written_by(session, part, before)]


def read_by(session: Session, part: Part) -> Node:
    """The commands that read the value after its last writer, up to the next one that writes there."""
    place = part.ranges
    return tree("read by", "commands after the writer", lambda: _readers(session, place))


def readers(session: Session, place: ByteRanges) -> list[int]:
    """Ordinals of the commands that read what is there now."""
    machine = session.debugger.machine
    origin = provenance_of(machine, place)
    since = 0 if origin is None else origin.ordinal + (origin.edit is None)
    return readers_of(machine, place, since)


def _readers(session: Session, place: ByteRanges) -> list[Node]:
    ordinals = readers(session, place)
    commands = session.debugger.program.commands
    return [leaf(f"command {ordinal}", commands[ordinal].asm) for ordinal in ordinals] or [leaf("none", "")]
