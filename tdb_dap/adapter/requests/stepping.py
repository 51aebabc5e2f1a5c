"""Moving in time: continue, steps of every size, in both directions, and pause."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tdb_dap.adapter.protocol.types import (
    ContinueArguments,
    NextArguments,
    PauseArguments,
    ReverseContinueArguments,
    StepBackArguments,
    StepInArguments,
    StepInTarget,
    StepInTargetsArguments,
    StepInTargetsResponseBody,
    StepOutArguments,
    SteppingGranularity,
)
from tdb_dap.adapter.requests.sources import has_mlir
from tdb_dap.adapter.requests.stopped_event import core_of, focus_of, report
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.handles import Frame
from tdb_dap.adapter.session.progress import Progress
from tdb_dap.errors import BadExpression, is_internal

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.stepping import Unit
    from tdb_dap.engine.control.stops import Stop
    from tdb_dap.engine.program.program import Program

_MOST_TARGETS = 100


def unit_of(session: Session, granularity: SteppingGranularity | None) -> Unit:
    """A statement or line is one of the text that the user looks at: an op, or in the listing a command.

    Not every client says that it looks at instructions: VS Code only does in its disassembly view.
    """
    return "command" if granularity == "instruction" or session.by_instruction else "op"


def alone(
    session: Session, thread: int, single: bool | None, go: Callable[[Debugger], Stop]
) -> Callable[[Debugger], Stop]:
    """``go``, stopped by nothing but what concerns this core if the client asks for a single thread.

    The order of all cores' commands is fixed by how they wait for each other, so the others move along as far as they
    come before this core's commands.
    """
    core = core_of(thread) if single else None

    def alone(debugger: Debugger) -> Stop:
        with debugger.watching_only(core):
            return go(debugger)

    return alone


def resume(
    session: Session, go: Callable[[Debugger], Stop], *, by_instruction: bool = False, stay: bool = False
) -> None:
    """Let the program run when the response is out, and report where it stops.

    ``by_instruction``: the user looks at commands, not at ops; ``stay``: stop at the end also in a session that ends
    there.
    """
    debugger = session.debugger
    session.by_instruction = by_instruction
    stay = session.configuration.stopOnExit or (stay and not debugger.at_end)
    session.after(lambda: run(session, debugger, go, stay))


def run(session: Session, debugger: Debugger, go: Callable[[Debugger], Stop], stay: bool = False) -> None:
    """Run now, as ``resume``."""
    session.unreported = False
    _note_outdated(session, debugger)
    debugger.forget_pause()
    session.handles.clear()
    was_over = debugger.at_end
    session.running = True
    try:
        with _progress(session, debugger):
            stop = go(debugger)
    except Exception as error:  # the user keeps the session and sees where it happened
        if is_internal(error):  # a fault of ours
            traceback.print_exc(file=sys.stderr)
        stop = debugger.failed(error)
    finally:
        session.running = False
    if stop.reason == "breakpoint":
        session.by_instruction = stop.level == "command"
    if not session.unreported:
        report(session, stop, stay, shows_outputs=not was_over)


class _Noted(Struct):
    """``program``: the one of which was said that its file has changed."""

    program: Program | None = None


def _note_outdated(session: Session, debugger: Debugger) -> None:
    """Say once that the compiled file is another one now: the session goes on with what it has opened."""
    noted, content = session.feature(_Noted), debugger.program.content
    if content is not None and noted.program is not debugger.program and content.has_changed:
        noted.program = debugger.program
        session.output(
            f"{content.path.name} has changed since it was opened. This session runs the old one; restart it, or type "
            "reload, for the new one.",
            "important",
        )


@contextmanager
def _progress(session: Session, debugger: Debugger) -> Iterator[None]:
    """Report progress of the program to a client that shows it."""
    if not session.traits.progress:
        yield
        return
    progress = Progress(session.event, session.traits.localised("Running"), len(debugger.program.commands))

    def update() -> None:
        progress.update(debugger.ordinal)

    session.between_commands.append(update)
    try:
        yield
    finally:
        session.between_commands.remove(update)
        progress.end()


def step(session: Session, count: int, unit: Unit, thread: int, single: bool | None = None) -> None:
    """Step one core by ``count`` units, when the response is out."""
    cores = session.debugger.program.core_count
    core = core_of(thread) if cores > 1 and 0 <= core_of(thread) < cores else None
    go = alone(session, thread, single, lambda d: d.step(count, unit, core))
    resume(session, go, by_instruction=unit == "command", stay=True)


@request("continue", capability="supportsSingleThreadExecutionRequests")
def continue_(session: Session, arguments: ContinueArguments) -> dict[str, Any]:
    """Run to the next stop or the end; ``singleThread``: stops of other cores do not count."""
    go = alone(session, arguments.threadId, arguments.singleThread, lambda d: d.run())
    resume(session, go)
    return {"allThreadsContinued": True}


@request("next", capability="supportsSteppingGranularity")
def next_(session: Session, arguments: NextArguments) -> None:
    """To the next op or command, by ``granularity``."""
    step(session, 1, unit_of(session, arguments.granularity), arguments.threadId, arguments.singleThread)


@request("stepInTargets", capability="supportsStepInTargetsRequest")
def step_in_targets(session: Session, arguments: StepInTargetsArguments) -> StepInTargetsResponseBody:
    """The commands ahead that the op, its group or its subnet consists of."""
    frame = session.handles.frame(arguments.frameId)
    commands = session.debugger.program.commands
    return StepInTargetsResponseBody(
        targets=[
            StepInTarget(id=ordinal + 1, label=f"{commands[ordinal].token} {commands[ordinal].name}")
            for ordinal in _commands_ahead(session, frame)
        ]
    )


def _commands_ahead(session: Session, frame: Frame) -> list[int]:
    """Ordinals of the next commands of what a frame shows: all of its op, or the first of each op in it."""
    program, now = session.debugger.program, session.debugger.ordinal
    records = program.source.records_of(frame.focus)
    if frame.level in ("command", "op"):
        return [o for o in records[0].ordinals if o > now][:_MOST_TARGETS] if records else []
    if frame.level not in ("group", "subnet") or frame.focus >= len(program.commands):
        return []
    subnet = program.commands[frame.focus].subnet

    def group(line: int) -> int | None:
        op = program.source.op_at(line)
        return op.group_line if op else None

    firsts = [
        record.first
        for record in program.source.records
        if record.ordinals
        and record.first > now
        and program.commands[record.first].subnet == subnet
        and (frame.level == "subnet" or (records and group(record.line) == group(records[0].line)))
    ]
    return sorted(firsts)[:_MOST_TARGETS]


@request("stepIn")
def step_in(session: Session, arguments: StepInArguments) -> None:
    """From an op down to the command about to run, which is not executed; from a command to the next.

    With ``targetId`` to that command of the op.
    """
    if arguments.targetId is None:
        if _is_at_op(session, arguments.threadId) and arguments.granularity != "instruction":
            step(session, 0, "command", arguments.threadId, arguments.singleThread)
        else:
            step(session, 1, "command", arguments.threadId, arguments.singleThread)
        return
    target = arguments.targetId - 1
    if not session.debugger.ordinal < target < len(session.debugger.program.commands):
        raise BadExpression(f"there is no target {arguments.targetId} ahead")
    go = alone(session, arguments.threadId, arguments.singleThread, lambda d: d.run_to(target))
    resume(session, go, by_instruction=True, stay=True)


def _is_at_op(session: Session, thread: int) -> bool:
    """Does the user look at an op, which is above a command?"""
    program = session.debugger.program
    if session.by_instruction or not has_mlir(session):
        return False
    return bool(program.source.records_of(focus_of(session, core_of(thread))))


@request("stepOut")
def step_out(session: Session, arguments: StepOutArguments) -> None:
    """From a command to the end of its op; from an op to the end of its group, outside of groups of the subnet."""
    unit: Unit = "op" if session.by_instruction and session.debugger.program.source.records else "group"
    step(session, 1, unit, arguments.threadId, arguments.singleThread)


@request("stepBack", capability="supportsStepBack")
def step_back(session: Session, arguments: StepBackArguments) -> None:
    """One op or one command back, by ``granularity``."""
    step(session, -1, unit_of(session, arguments.granularity), arguments.threadId, arguments.singleThread)


@request("reverseContinue")
def reverse_continue(session: Session, arguments: ReverseContinueArguments) -> None:
    """Back to the previous stop or the start."""
    resume(session, alone(session, arguments.threadId, arguments.singleThread, lambda d: d.reverse()))


@request("pause", while_running="answer")
def pause(session: Session, arguments: PauseArguments) -> None:
    """Stop the run in progress; nothing happens to a program that has stopped already."""
    if session.running:
        session.debugger.pause()
