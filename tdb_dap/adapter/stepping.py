"""Moving in time: continue, steps of every size, in both directions, and pause."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdb_dap.adapter.protocol.types import (
    ContinueArguments,
    NextArguments,
    PauseArguments,
    ReverseContinueArguments,
    StepBackArguments,
    StepInArguments,
    StepOutArguments,
    SteppingGranularity,
)
from tdb_dap.adapter.registry import request
from tdb_dap.adapter.stopping import core_of

if TYPE_CHECKING:
    from tdb_dap.adapter.session import Session
    from tdb_dap.engine.stepping import Unit


def unit_of(granularity: SteppingGranularity | None) -> Unit:
    """A statement or line is an op, an instruction is a command."""
    return "command" if granularity == "instruction" else "op"


def step(session: Session, count: int, unit: Unit, thread: int) -> None:
    """Step one core by so many units, when the response is out."""
    cores = session.debugger.program.core_count
    core = core_of(thread) if cores > 1 and 0 <= core_of(thread) < cores else None
    session.resume(lambda d: d.step(count, unit, core), by_instruction=unit == "command", stay=True)


@request("continue")
def continue_(session: Session, arguments: ContinueArguments) -> dict[str, Any]:
    """Run to the next stop or the end. All cores run together."""
    session.resume(lambda d: d.run(), stay=session.configuration.stopOnExit)
    return {"allThreadsContinued": True}


@request("next", capability="supportsSteppingGranularity")
def next_(session: Session, arguments: NextArguments) -> None:
    """To the next op or command, by ``granularity``."""
    step(session, 1, unit_of(arguments.granularity), arguments.threadId)


@request("stepIn")
def step_in(session: Session, arguments: StepInArguments) -> None:
    """One command: into the op."""
    step(session, 1, "command", arguments.threadId)


@request("stepOut")
def step_out(session: Session, arguments: StepOutArguments) -> None:
    """To the end of the enclosing group; outside of groups to the end of the subnet."""
    step(session, 1, "group", arguments.threadId)


@request("stepBack", capability="supportsStepBack")
def step_back(session: Session, arguments: StepBackArguments) -> None:
    """One op or one command back, by ``granularity``."""
    step(session, -1, unit_of(arguments.granularity), arguments.threadId)


@request("reverseContinue")
def reverse_continue(session: Session, arguments: ReverseContinueArguments) -> None:
    """Back to the previous stop or the start."""
    session.resume(lambda d: d.reverse())


@request("pause", while_running="answer")
def pause(session: Session, arguments: PauseArguments) -> None:
    """Stop the run in progress; nothing happens to a program that has stopped already."""
    if session.running:
        session.debugger.pause()
