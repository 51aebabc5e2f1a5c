"""Going to another moment: goto, restart of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.types import (
    GotoArguments,
    GotoTarget,
    GotoTargetsArguments,
    GotoTargetsResponseBody,
    RestartFrameArguments,
)
from tdb_dap.adapter.requests.sources import Text, line_in, text_of
from tdb_dap.adapter.requests.stepping import resume
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.references import instruction_reference
from tdb_dap.errors import BadExpression, TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.program.program import Program

_TRAVEL, _SKIP = 0, 1


@request("gotoTargets", capability="supportsGotoTargetsRequest")
def goto_targets(session: Session, arguments: GotoTargetsArguments) -> GotoTargetsResponseBody:
    """Two for a line that has commands: to be there at that moment, or only to go on from there.

    Of a line that is reached several times (slices) the next moment is offered, after the last one that.
    """
    program, text = session.debugger.program, text_of(session, arguments.source)
    ordinal = _moment(session, text, line_in(session, text, arguments.line)) if text is not None else None
    if ordinal is None:
        return GotoTargetsResponseBody(targets=[])
    core = program.commands[ordinal].core
    labels = {
        _TRAVEL: f"travel here: everything is as it is before command {ordinal}",
        _SKIP: f"skip to here: go on with command {ordinal} and the memories as they are now",
    }
    return GotoTargetsResponseBody(
        targets=[
            GotoTarget(
                id=2 * ordinal + kind + 1,
                label=label,
                line=arguments.line,
                instructionPointerReference=instruction_reference(core, ordinal),
            )
            for kind, label in labels.items()
        ]
    )


def _moment(session: Session, text: Text, line: int) -> int | None:
    """The ordinal at which a line is reached next, or was reached last; None if it has no commands."""
    program, now = session.debugger.program, session.debugger.ordinal
    if text.kind == "asm":
        return program.listing.ordinal_at(line)
    moments = sorted(record.first for record in program.source.records_at(line) if record.ordinals)
    return next((moment for moment in moments if moment > now), moments[-1]) if moments else None


@request("goto")
def goto(session: Session, arguments: GotoArguments) -> None:
    """Travel to a target, or skip to it; the run that skips is an edited one."""
    ordinal, kind = divmod(arguments.targetId - 1, 2)
    if not 0 <= ordinal < len(session.debugger.program.commands):
        raise BadExpression(f"there is no target {arguments.targetId}")
    if kind == _SKIP:
        resume(session, lambda d: d.skip_to(ordinal))
    else:
        resume(session, lambda d: d.travel(ordinal))


@request("restartFrame", capability="supportsRestartFrame")
def restart_frame(session: Session, arguments: RestartFrameArguments) -> None:
    """Back to the start of what a frame shows: the command, this slice of the op, of the group, the subnet, all."""
    frame = session.handles.frame(arguments.frameId)
    start = _start_of(session.debugger.program, frame)
    resume(session, lambda d: d.travel(start), by_instruction=frame.level == "command")


def _start_of(program: Program, frame: Frame) -> int:
    if frame.level == "main" or frame.focus >= len(program.commands):
        return 0
    records = program.source.records_of(frame.focus)
    if frame.level == "command":
        return frame.focus
    if frame.level == "op" and records:
        return records[0].first
    if frame.level == "group" and records:
        return _start_of_slice(program, frame.focus)
    if frame.level == "launch" and (launch := program.launch_at(frame.focus)) is not None:
        return launch.start
    if frame.level == "token" and (launch := program.launch_at(frame.focus)) is not None:
        return next(first.start for first in program.launches if first.token == launch.token)
    if frame.level == "subnet":
        number = program.commands[frame.focus].subnet
        return next(subnet.start for subnet in program.subnets if subnet.id == number)
    raise TdbError(f"a frame of level {frame.level!r} cannot be restarted")


def _start_of_slice(program: Program, focus: int) -> int:
    """First command of the group's ops that work on the same slice as the one in focus."""
    here = program.source.records_of(focus)[0]

    def group(line: int) -> int | None:
        op = program.source.op_at(line)
        return op.group_line if op else None

    wanted, subnet = group(here.line), program.commands[focus].subnet
    return min(
        record.first
        for record in program.source.records
        if record.ordinals
        and record.slice_text == here.slice_text
        and program.commands[record.first].subnet == subnet
        and group(record.line) == wanted
    )
