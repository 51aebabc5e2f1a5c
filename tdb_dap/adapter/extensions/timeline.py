"""Position of a session in time, for clients with a slider: ``tdb/time`` and ``tdb/travel`` of docs/requests.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.console.verbs import resume_quietly
from tdb_dap.adapter.protocol.types import ProtocolModel
from tdb_dap.adapter.session.handlers import request

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.responses import TimePoint
    from tdb_dap.adapter.session.session import Session


class TimeArguments(ProtocolModel):
    """``at``: the moment that is asked about; default: now."""

    at: int | None = None


class TravelArguments(ProtocolModel):
    """``ordinal``: how many commands have been executed at the moment to go to."""

    ordinal: int


@request("tdb/time", while_running="answer")
def time(session: Session, arguments: TimeArguments) -> TimePoint:
    """Number of commands executed, number of all, and the next command."""
    debugger = session.debugger
    commands, source = debugger.program.commands, debugger.program.source
    at = debugger.ordinal if arguments.at is None else arguments.at
    answer: TimePoint = {
        "ordinal": debugger.ordinal,
        "commands": len(commands),
        "at": session.debugger.program.require_ordinal(at),
    }
    if at < len(commands):
        answer["command"] = commands[at].asm
        records = source.records_of(at)
        op = source.op_of(records[0]) if records else None
        if op is not None:
            answer |= {"line": session.traits.line_out(records[0].line), "op": op.name, "location": op.location}
    return answer


@request("tdb/travel")
def travel(session: Session, arguments: TravelArguments) -> None:
    """Go to a moment; the events ``continued`` and ``stopped``, with the reason ``goto``, follow."""
    ordinal = session.debugger.program.require_ordinal(arguments.ordinal)
    resume_quietly(session, lambda debugger: debugger.travel(ordinal), session.by_instruction)
