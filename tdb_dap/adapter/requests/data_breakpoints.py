"""Data breakpoints: stop after the command that reads or writes a place. A place is its bytes, so it outlives the
session and the tensor's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.types import (
    DataBreakpointInfoArguments,
    DataBreakpointInfoResponseBody,
    SetBreakpointsResponseBody,
    SetDataBreakpointsArguments,
)
from tdb_dap.adapter.requests.breakpoints import BreakpointTable, Wish, describe
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.references import parse_memory_reference
from tdb_dap.adapter.session.session import Body
from tdb_dap.engine.expressions.assignment import part_named
from tdb_dap.engine.hardware.byte_ranges import ByteRanges, ranges_name
from tdb_dap.errors import BadExpression, TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.source.mapped_tensor import MappedTensor

_CHANGE = "!change"
"""Behind a data id: only writes that change something count."""


@request("dataBreakpointInfo", capability=("supportsDataBreakpoints", "supportsDataBreakpointBytes"))
def data_breakpoint_info(session: Session, arguments: DataBreakpointInfoArguments) -> Body:
    """Find the bytes to watch: of a variable, an expression, or bytes from an address on."""
    try:
        place = _place(session, arguments)
    except TdbError as error:
        return {"dataId": None, "description": str(error)}
    if not place.size:
        return {"dataId": None, "description": f"{arguments.name} has no bytes to watch"}
    life = _life(session, place, arguments) if arguments.mode == "lives" else ""
    return DataBreakpointInfoResponseBody(
        dataId=place.text + life + (_CHANGE if arguments.mode == "change" else ""),
        description=f"{arguments.name} ({ranges_name(place, session.debugger.program.target.geometry)})",
        accessTypes=["write"] if arguments.mode == "change" else ["write", "read", "readWrite"],
        canPersist=True,
    )


def _place(session: Session, arguments: DataBreakpointInfoArguments) -> ByteRanges:
    if arguments.asAddress:
        space, core, start = parse_memory_reference(session, arguments.name)
        size = arguments.bytes if arguments.bytes is not None else 1
        session.debugger.machine.memory.region(space, start, start + max(size, 1), core)
        return ByteRanges.range(space, core, start, size)
    if arguments.variablesReference:
        child = session.handles.child(arguments.variablesReference, arguments.name)
        if (part := child.own_part) is None:
            raise BadExpression(f"{arguments.name} is not in memory")
        return part.ranges
    frame = session.handles.frame(arguments.frameId) if arguments.frameId else None
    return part_named(arguments.name, names_at(session, frame)).ranges


def _life(session: Session, place: ByteRanges, arguments: DataBreakpointInfoArguments) -> str:
    """``!3-17``: the commands from the first write of the tensor that is there now to its last read."""
    program, now = session.debugger.program, session.debugger.last_stop.focus
    if arguments.frameId:
        now = session.handles.frame(arguments.frameId).focus
    records = sorted((record for record in program.source.records if record.ordinals), key=lambda record: record.first)
    written = [record for record in records if _touches(record.results, place)]
    born = max((record.first for record in written if record.first <= now), default=0)
    stop = min((record.first for record in written if record.first > now), default=len(program.commands))
    reads = (record.last for record in records if born <= record.first < stop and _touches(record.operands, place))
    return f"!{born}-{max(reads, default=now)}"


def _touches(values: tuple[MappedTensor, ...], place: ByteRanges) -> bool:
    return any(value.view is not None and ByteRanges.of(value.view).overlaps(place) for value in values)


@request("setDataBreakpoints", while_running="answer")
def set_data_breakpoints(session: Session, arguments: SetDataBreakpointsArguments) -> SetBreakpointsResponseBody:
    """Exactly these data breakpoints, in both directions of time."""
    wishes: list[Wish] = []
    for wanted in arguments.breakpoints:
        place, change, _ = wanted.dataId.partition(_CHANGE)
        access = "change" if change else wanted.accessType or "write"
        wishes.append(Wish(f"data:{place}:{access}", wanted.condition, wanted.hitCondition))
    placed = session.feature(BreakpointTable).replace(session, "data", wishes)
    return SetBreakpointsResponseBody(breakpoints=[describe(session, p) for p in placed])
