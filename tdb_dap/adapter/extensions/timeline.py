"""Position of a session in time, for clients with a slider: ``tdb/time``, ``tdb/marks`` and ``tdb/travel``.

They are described in docs/requests.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.console.checking import compared_rows
from tdb_dap.adapter.console.verbs import resume_quietly
from tdb_dap.adapter.extensions.attached_sessions import AttachedSessions
from tdb_dap.adapter.protocol.model import ProtocolModel
from tdb_dap.adapter.session.handlers import request

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.time_responses import TimeMark, TimeMarks, TimePoint
    from tdb_dap.adapter.session.session import Session


class TimeArguments(ProtocolModel, kw_only=True):
    """``at``: the moment that is asked about; default: now."""

    at: int | None = None


class TravelArguments(ProtocolModel, kw_only=True):
    """``ordinal``: how many commands have been executed at the moment to go to."""

    ordinal: int


class MarksArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/marks`. ``compare``: also ops that differ from the reference, which replays the run."""

    compare: bool = False


_MOST_MARKS = 4096


@request("tdb/time", while_running="answer")
def time(session: Session, arguments: TimeArguments) -> TimePoint:
    """Number of commands executed, number of all, and the command at a moment: now the one that the stop is about."""
    debugger = session.debugger
    commands, source = debugger.program.commands, debugger.program.source
    at = debugger.ordinal if arguments.at is None else arguments.at
    focus = debugger.last_stop.focus if at == debugger.ordinal else at
    answer: TimePoint = {
        "ordinal": debugger.ordinal,
        "commands": len(commands),
        "at": debugger.program.require_ordinal(at),
    }
    if focus < len(commands):
        answer["command"] = commands[focus].asm
        records = source.records_of(focus)
        op = source.op_of(records[0]) if records else None
        if op is not None:
            line = records[0].line
            answer |= {"line": session.traits.line_out(line), "op": op.name, "location": op.location}
            if source.mlir is not None and len(source.mlir.files) > 1:
                answer["place"] = source.place_text(line)
        launch = debugger.program.launch_at(focus)
        if launch is not None:
            answer["launch"] = session.traits.localised(launch.title)
    return answer


@request("tdb/marks")
def marks(session: Session, arguments: MarksArguments) -> TimeMarks:
    """Moments with a breakpoint, an edit, an agent's bookmark, or, if asked for, the first command of a wrong op."""
    debugger = session.debugger
    time_marks: list[TimeMark] = [
        {"ordinal": ordinal, "kind": "breakpoint", "text": breakpoint.text}
        for breakpoint in debugger.breakpoints
        if breakpoint.enabled
        for ordinal in breakpoint.stops
    ]
    time_marks += [{"ordinal": edit.moment, "kind": "edit", "text": edit.text} for edit in debugger.machine.edits]
    if arguments.compare and debugger.reference is not None:
        failing = {row.first: f"{row.opcode} {row.name}" for row in compared_rows(session) if row.verdict == "fail"}
        time_marks += [{"ordinal": ordinal, "kind": "failing", "text": text} for ordinal, text in failing.items()]
    time_marks += [
        {"ordinal": ordinal, "kind": "agent", "text": name}
        for name, ordinal in session.feature(AttachedSessions).bookmarks.items()
    ]
    time_marks.sort(key=lambda mark: (mark["ordinal"], mark["kind"]))
    return {"marks": time_marks[:_MOST_MARKS], "isComplete": len(time_marks) <= _MOST_MARKS}


@request("tdb/travel")
def travel(session: Session, arguments: TravelArguments) -> None:
    """Go to a moment; the events ``continued`` and ``stopped``, with the reason ``goto``, follow."""
    ordinal = session.debugger.program.require_ordinal(arguments.ordinal)
    resume_quietly(session, lambda debugger: debugger.travel(ordinal), session.by_instruction)
