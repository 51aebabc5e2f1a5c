"""Console verbs that move: run, steps of every size in both directions, other moments, and the end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tdb_dap.adapter.console.verbs import count, resume_quietly, verb
from tdb_dap.adapter.requests.stopped_event import end
from tdb_dap.engine.control.breakpoint_specs import COMMAND, command_named
from tdb_dap.engine.control.stepping import Unit
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.stops import Stop
    from tdb_dap.engine.program.program import Program


@verb("s", "start", help="go back to the first command")
def _start(session: Session, rest: str, frame: Frame | None) -> str:
    return resume_quietly(session, lambda d: d.restart())


@verb("r", "run", help="run from the first command to the next stop or the end")
def _run(session: Session, rest: str, frame: Frame | None) -> str:
    def again(debugger: Debugger) -> Stop:
        debugger.restart()
        return debugger.run()

    return resume_quietly(session, again)


@verb("c", "continue", help="run to the next stop or the end")
def _continue(session: Session, rest: str, frame: Frame | None) -> str:
    return resume_quietly(session, lambda d: d.run())


@verb("rc", "reverse-continue", help="run back to the previous stop or the start")
def _reverse(session: Session, rest: str, frame: Frame | None) -> str:
    return resume_quietly(session, lambda d: d.reverse())


@verb(
    "n",
    "next",
    usage="[K|slice|group|launch|token]",
    help="step K ops, or to the end of the slice, group, launch or token",
    takes="one of slice group launch token",
)
def _next(session: Session, rest: str, frame: Frame | None) -> str:
    return _step_ops(session, rest, 1)


def _step_ops(session: Session, rest: str, direction: int) -> str:
    units: dict[str, Unit] = {"slice": "slice", "group": "group", "launch": "launch", "token": "token"}
    launches = session.debugger.program.launches
    if rest in ("launch", "token") and (not launches or (rest == "token" and launches[0].token is None)):
        raise BadExpression(f"this program has no {'launches' if rest == 'launch' else 'tokens'}")
    unit: Unit = units.get(rest, "op")
    steps = direction * (1 if rest in units else count(rest))
    return resume_quietly(session, lambda d: d.step(steps, unit))


@verb(
    "rn",
    "reverse-next",
    usage="[K|slice|group|launch|token]",
    help="do the same, backward",
    takes="one of slice group launch token",
)
def _previous(session: Session, rest: str, frame: Frame | None) -> str:
    return _step_ops(session, rest, -1)


@verb("si", "stepi", usage="[K]", help="step K commands")
def _step(session: Session, rest: str, frame: Frame | None) -> str:
    number = count(rest)
    return resume_quietly(session, lambda d: d.step(number), by_instruction=True)


@verb("sb", "reverse-stepi", usage="[K]", help="step K commands back")
def _back(session: Session, rest: str, frame: Frame | None) -> str:
    number = count(rest)
    return resume_quietly(session, lambda d: d.step(-number), by_instruction=True)


@verb(
    "goto",
    usage="[launch|token] N | B12",
    help="go to the moment when N commands are executed, to a launch, a token or a command",
)
def _goto(session: Session, rest: str, frame: Frame | None) -> str:
    if re.fullmatch(COMMAND, rest):
        named = command_named(session.debugger.program, rest)
        return resume_quietly(session, lambda d: d.travel(named), by_instruction=True)
    word, _, number = rest.rpartition(" ")
    if not number.isdigit() or word.strip() not in ("", "launch", "token"):
        raise BadExpression("goto takes the number or name of a command, or launch or token and its number")
    program = session.debugger.program
    starts = {"": type(program).require_ordinal, "launch": _start_of_launch, "token": _start_of_token}
    ordinal = starts[word.strip()](program, int(number))
    return resume_quietly(session, lambda d: d.travel(ordinal), session.by_instruction)


def _start_of_launch(program: Program, number: int) -> int:
    match = next((launch for launch in program.launches if launch.number == number), None)
    if match is None:
        there = f"there are 0 to {program.launches[-1].number}" if program.launches else "only recordings have launches"
        raise BadExpression(f"there is no launch {number}; {there}")
    return match.start


def _start_of_token(program: Program, number: int) -> int:
    match = next((launch for launch in program.launches if launch.token == number), None)
    if match is None:
        last = program.launches[-1].token if program.launches else None
        there = f"there are 0 to {last}" if last is not None else "only an answer to a prompt has tokens"
        raise BadExpression(f"there is no token {number}; {there}")
    return match.start


@verb("q", "quit", help="end the session")
def _quit(session: Session, rest: str, frame: Frame | None) -> str:
    session.after(lambda: end(session, 0))
    return ""
