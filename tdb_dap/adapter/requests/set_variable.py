"""Edits: variables, expressions, registers of the command in focus, memory. Each is recorded and can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.model import validated
from tdb_dap.adapter.protocol.types import (
    SetExpressionArguments,
    SetExpressionResponseBody,
    SetVariableArguments,
    SetVariableResponseBody,
)
from tdb_dap.adapter.requests.expressions import show
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.requests.variables import describe
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.references import memory_reference
from tdb_dap.engine.expressions.assignment import assign, part_named
from tdb_dap.engine.expressions.values import STANDS_FOR
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.expressions.assignment import Part
    from tdb_dap.engine.hardware.byte_ranges import ByteRanges


def announce(session: Session, place: ByteRanges | None = None) -> None:
    """Tell the client what is not what it shows any more. ``place``: memory that was overwritten."""
    session.handles.forget_values()

    def tell() -> None:
        if place is not None and place.size and session.traits.memory_event:
            last = int(place.runs[-1, 1])
            session.event(
                "memory",
                {
                    "memoryReference": memory_reference(place.space, place.core, place.start),
                    "offset": 0,
                    "count": last - place.start,
                },
            )
        if session.traits.invalidated:
            session.event("invalidated", {"areas": ["variables"]})

    session.after(tell)


def set_part(session: Session, part: Part, text: str, frame: Frame | None) -> None:
    """Overwrite a part of memory with the value of an expression."""
    debugger = session.debugger
    assign(debugger.machine, part, debugger.evaluate(stored_of(text), names_at(session, frame)).computed)
    announce(session, part.ranges)


def stored_of(text: str) -> str:
    """The stored number of what is shown as ``200 → 6.08``; clients offer the whole text to be edited."""
    return text.partition(STANDS_FOR)[0]


def _require_stored(shown: str, given: str) -> None:
    """BadExpression if the user has edited what stands after the arrow only: it follows from the stored number."""
    stored, _, real = shown.partition(STANDS_FOR)
    _, arrow, wanted = given.partition(STANDS_FOR)
    if arrow and wanted.strip() != real.strip():
        raise BadExpression(f"give the stored number alone, in place of {stored.strip()}; the real one follows from it")


@request("setVariable", capability="supportsSetVariable")
def set_variable(session: Session, arguments: SetVariableArguments) -> SetVariableResponseBody:
    """A tensor, an element, or a register of a command that has not been executed yet."""
    child = session.handles.child(arguments.variablesReference, arguments.name)
    if child.assign is not None:
        child.assign(arguments.value)
        announce(session)
    elif (part := child.own_part) is not None:
        _require_stored(child.value, arguments.value)
        set_part(session, part, arguments.value, None)
    else:
        raise BadExpression(f"{arguments.name} cannot be set: {child.why_fixed}")
    changed = session.handles.child(arguments.variablesReference, arguments.name)
    shown = describe(session, changed, arguments.format)
    return validated(SetVariableResponseBody, shown)


@request("setExpression", capability="supportsSetExpression")
def set_expression(session: Session, arguments: SetExpressionArguments) -> SetExpressionResponseBody:
    """Overwrite the tensor, slice or element that an expression names."""
    frame = session.handles.frame(arguments.frameId) if arguments.frameId else None
    part = part_named(arguments.expression, names_at(session, frame))
    set_part(session, part, arguments.value, frame)
    shown = show(session, arguments.expression, frame, format=arguments.format)
    return SetExpressionResponseBody(
        value=shown.result,
        type=shown.type,
        variablesReference=shown.variablesReference,
        namedVariables=shown.namedVariables,
        indexedVariables=shown.indexedVariables,
        memoryReference=shown.memoryReference,
        valueLocationReference=shown.valueLocationReference,
    )
