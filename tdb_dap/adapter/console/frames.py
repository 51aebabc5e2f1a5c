"""Console verbs about the call stack: showing it, choosing a frame, and running to where one ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.adapter.console.breakpoints import set_breakpoint
from tdb_dap.adapter.console.inspecting import TOPICS
from tdb_dap.adapter.console.verbs import count, execute, resume_quietly, verb
from tdb_dap.adapter.requests.stack_trace import frames
from tdb_dap.adapter.session.handles import FrameChoice
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.stops import Stop


class _Level(Struct, frozen=True):
    """A frame of the call stack. ``text``: its name and place."""

    frame: Frame
    text: str


def _levels(session: Session) -> list[_Level]:
    """The call stack of the core that has stopped, innermost frame first."""
    levels: list[_Level] = []
    say = session.traits.localised
    for number, frame in enumerate(frames(session, session.debugger.last_stop.core)):
        place = say(" at {}:{}", frame.source.name, frame.line) if frame.source is not None else ""
        levels.append(_Level(session.handles.frame(frame.id), f"#{number}  {frame.name}{place}"))
    return levels


def _place(levels: list[_Level], frame: Frame | None) -> int:
    return next((i for i, level in enumerate(levels) if level.frame == frame), 0)


@verb("bt", "backtrace", help="print the call stack, innermost frame first; => marks the frame of expressions")
def _backtrace(session: Session, rest: str, frame: Frame | None) -> str:
    levels = _levels(session)
    now = _place(levels, frame)
    return "\n".join(f"{'=>' if i == now else '  '} {level.text}" for i, level in enumerate(levels))


@verb("frame", usage="[N]", help="print the frame of expressions, or select another one until the next stop")
def _frame(session: Session, rest: str, frame: Frame | None) -> str:
    levels = _levels(session)
    if not rest:
        return levels[_place(levels, frame)].text
    if not rest.isdigit() or int(rest) >= len(levels):
        raise BadExpression(f"there is no frame {rest}; bt lists 0 to {len(levels) - 1}")
    return _choose(session, levels, int(rest))


@verb("up", usage="[K]", help="select the frame K levels further out")
def _up(session: Session, rest: str, frame: Frame | None) -> str:
    levels = _levels(session)
    return _choose(session, levels, min(_place(levels, frame) + count(rest), len(levels) - 1))


@verb("down", usage="[K]", help="select the frame K levels further in")
def _down(session: Session, rest: str, frame: Frame | None) -> str:
    levels = _levels(session)
    return _choose(session, levels, max(_place(levels, frame) - count(rest), 0))


def _choose(session: Session, levels: list[_Level], number: int) -> str:
    session.feature(FrameChoice).choose(levels[number].frame)
    return levels[number].text


@verb("finish", help="run to the end of the layer group, outside of groups of the subnet")
def _finish(session: Session, rest: str, frame: Frame | None) -> str:
    return resume_quietly(session, lambda d: d.step(1, "group"))


@verb("reverse-finish", help="do the same, backward")
def _reverse_finish(session: Session, rest: str, frame: Frame | None) -> str:
    return resume_quietly(session, lambda d: d.step(-1, "group"))


@verb(
    "until",
    usage="[PLACE [if CONDITION]]",
    help="run to a place, by default to the next op; leaves no breakpoint",
    takes="place",
)
def _until(session: Session, rest: str, frame: Frame | None) -> str:
    if not rest:
        return execute(session, "n", frame)
    added = set_breakpoint(session, rest, temporary=True)
    if not added.stops:
        session.debugger.breakpoints.remove(added)
        raise BadExpression(added.message)

    def go(debugger: Debugger) -> Stop:
        stop = debugger.run()
        debugger.breakpoints.remove(added)
        if stop.reason == "end":
            session.output(session.traits.localised(f"{rest} was not reached from here"))
        return stop

    return resume_quietly(session, go)


def _info_locals(session: Session, rest: str, frame: Frame | None) -> str:
    return "\n".join(execute(session, f"p {kind}", frame) for kind in ("in", "out"))


def _info_threads(session: Session, rest: str, frame: Frame | None) -> str:
    stopped = session.debugger.last_stop.core
    lines = []
    for core in range(session.debugger.program.core_count):
        top = next(iter(frames(session, core)))
        lines.append(f"{'=>' if core == stopped else '  '} core {core}: {top.name}")
    return "\n".join(lines)


TOPICS["locals"] = _info_locals
TOPICS["args"] = lambda session, rest, frame: execute(session, "p in", frame)
TOPICS["stack"] = TOPICS["s"] = _backtrace
TOPICS["frame"] = _frame
TOPICS["threads"] = _info_threads
for _names, _topic in (
    (("registers", "all-registers", "r"), "reg"),
    (("breakpoints", "break"), "b"),
    (("watchpoints",), "watch"),
    (("line", "source"), "mlir"),
    (("symbol",), "loc"),
):
    TOPICS.update(dict.fromkeys(_names, TOPICS[_topic]))
