"""Telling the client that the program has stopped or ended."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.types import StoppedEventBody
from tdb_dap.adapter.requests.breakpoints import BreakpointTable
from tdb_dap.adapter.requests.sanitizers import Sanitizing
from tdb_dap.adapter.session.handlers import STOPPED
from tdb_dap.engine.control.stops import BACKEND_FAILED, NOT_SIMULATED
from tdb_dap.engine.expressions.values import Value
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.stops import Reason, Stop
    from tdb_dap.engine.program.program import Launch

_REASONS: dict[Reason, str] = {"end": "step"}
"""Where the protocol has another word."""

_DESCRIPTIONS: dict[Reason, str] = {
    "entry": "At the start",
    "end": "At the end: every command has been executed; reverse works",
}


def thread_id(core: int) -> int:
    """A thread is a core; numbers start at 1 because some clients take 0 for none."""
    return core + 1


def core_of(thread: int) -> int:
    """The core of a thread number."""
    return thread - 1


def focus_of(session: Session, core: int) -> int:
    """Ordinal of the command that a core's stack is about; the program's length after the end."""
    debugger = session.debugger
    stop = debugger.last_stop
    commands = debugger.program.commands
    if stop.core == core or stop.focus >= len(commands):
        return stop.focus
    return next((o for o in range(stop.ordinal, len(commands)) if commands[o].core == core), len(commands))


def report(session: Session, stop: Stop, stay: bool, shows_outputs: bool) -> None:
    """Send what follows from a stop. ``stay``: at the end of the program, stop there.

    At a command that cannot be executed the program stops and stays: memory, edits and the way back are all there.
    """
    if stop.finding:
        session.feature(Sanitizing).note(stop.finding)
    if stop.finding and stop.finding.filter == BACKEND_FAILED:
        session.output(stop.finding.text, "important")
    if stop.finding and stop.finding.filter in (NOT_SIMULATED, "internal error"):
        session.output(stop.finding.text, "important")
        if session.configuration.without_debugging:
            end(session, 1)
            return
    if stop.reason == "end" and shows_outputs:
        _show_outputs(session)
    if stop.reason == "end" and not stay:
        end(session, 0)
    else:
        stopped(session, stop)


def stopped(session: Session, stop: Stop) -> None:
    """The ``stopped`` event."""
    reason = _REASONS.get(stop.reason, stop.reason)
    if stop.reason == "breakpoint" and (kind := session.feature(BreakpointTable).kind_of(stop.breakpoints[0])):
        reason = f"{kind} breakpoint"
    ids = [id for b in stop.breakpoints if (id := session.feature(BreakpointTable).id_of(b)) is not None]
    session.event(
        "stopped",
        StoppedEventBody(
            reason=reason,
            description=_description(session, stop),
            threadId=thread_id(stop.core),
            text=session.traits.localised(stop.text) or None,
            allThreadsStopped=True,
            hitBreakpointIds=ids or None,
        ),
    )
    for act in STOPPED:
        act(session)


class _Launches:
    """The launch of the stop before: a stop in another one names it."""

    def __init__(self) -> None:
        self._number: int | None = None

    def entered(self, launch: Launch | None) -> Launch | None:
        """The launch of this stop if it is another one."""
        number = launch.number if launch is not None else None
        is_other, self._number = number != self._number, number
        return launch if is_other else None


def _description(session: Session, stop: Stop) -> str | None:
    """Text that the client shows instead of the bare reason; a run with edits says so."""
    description = stop.description or _DESCRIPTIONS.get(stop.reason)
    say = session.traits.localised
    launch = session.feature(_Launches).entered(session.debugger.program.launch_at(stop.focus))
    made = say(description) if description else None
    if made is None and launch is not None:
        made = say(f"Paused on {stop.reason}, {launch.title}")
    if not session.debugger.machine.edits:
        return made
    return say("{} (edited run)", made or say("Paused on {}", stop.reason))


def end(session: Session, exit_code: int) -> None:
    """The program is over: events ``exited`` and ``terminated``, once; the client disconnects."""
    if session.ended:
        return
    session.ended = True
    session.unload()
    if session.waiting is not None:
        waiting, session.waiting = session.waiting, None
        session.respond(waiting, error=TdbError("the program was ended before its configuration was done"))
    session.event("exited", {"exitCode": exit_code})
    session.event("terminated")


def _show_outputs(session: Session) -> None:
    """One console line for each output of the net."""
    debugger = session.debugger
    session.output(session.traits.localised("Finished: {:,} commands.", debugger.ordinal))
    for tensor in debugger.program.outputs:
        value = Value(tensor.name, partial(debugger.machine.read, tensor.view), tensor.view)
        session.output(f"  {tensor.name} = {value.text()}")
