"""Console verbs that set and change breakpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tdb_dap.adapter.console.verbs import verb
from tdb_dap.adapter.requests.sources import has_mlir
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.breakpoints import Breakpoint


@verb(
    "b",
    "break",
    usage="[PLACE [if CONDITION]]",
    help="stop at line 31, conv.normal, tpu.Load, B23, R4.64, %173, asm:7 ...; or list all",
    takes="place",
)
def _break(session: Session, rest: str, frame: Frame | None) -> str:
    if not rest:
        return listed(session) or "no breakpoints"
    return add_breakpoint(session, rest, temporary=False)


@verb("tb", usage="PLACE [if CONDITION]", help="set a breakpoint for one stop only", takes="place")
def _temporary(session: Session, rest: str, frame: Frame | None) -> str:
    return add_breakpoint(session, rest, temporary=True)


def add_breakpoint(session: Session, text: str, temporary: bool) -> str:
    """Set a breakpoint and report its location."""
    added = set_breakpoint(session, text, temporary)
    places = len(added.stops)
    condition = f" if {added.condition}" if added.condition else ""
    where = f"{added.text}{condition} ({places} place{'s' if places != 1 else ''})"
    return added.message or f"breakpoint {added.id}: {where}"


def set_breakpoint(session: Session, text: str, temporary: bool) -> Breakpoint:
    """Set the breakpoint of ``PLACE [if CONDITION]``."""
    place, _, condition = text.partition(" if ")
    if place.strip().isdecimal():  # a line of the text that the user looks at
        shows_listing = session.by_instruction or not has_mlir(session)
        place = f"asm:{place.strip()}" if shows_listing else f"mlir:{line_here(session, int(place))}"
    return session.debugger.breakpoints.add(place.strip(), condition.strip() or None, temporary=temporary)


def line_here(session: Session, line: int) -> int:
    """A line of the final.mlir that the user looks at, as the program counts: it may join a file for each net."""
    debugger = session.debugger
    mlir, lines = debugger.program.source.mlir, debugger.program.source.lines_of(debugger.scope().focus)
    return line + mlir.place_of(lines[0])[0].before if mlir is not None and lines else line


def listed(session: Session, wanted: Callable[[str], bool] = lambda text: True) -> str:
    """One line for each breakpoint whose place is wanted."""
    lines: list[str] = []
    for b in session.debugger.breakpoints:
        if not wanted(b.text):
            continue
        condition = f"  if {b.condition}" if b.condition else ""
        hits = b.hits_until(session.debugger.ordinal)
        lines.append(f"{b.id:3}  {'on ' if b.enabled else 'off'}  {b.text}  hits {hits}{condition}")
    return "\n".join(lines)


def _chosen(session: Session, rest: str) -> list[int]:
    if not rest.replace(",", " ").replace(" ", "").isdigit():
        raise BadExpression("give the numbers of breakpoints; b lists them")
    return [int(number) for number in rest.replace(",", " ").split()]


@verb("delete", usage="N ...", help="remove breakpoints", takes="breakpoint")
def _delete(session: Session, rest: str, frame: Frame | None) -> str:
    for number in _chosen(session, rest):
        session.debugger.breakpoints.remove(session.debugger.breakpoints[number])
    return listed(session) or "no breakpoints"


@verb("enable", usage="N ...", help="enable breakpoints", takes="breakpoint")
def _enable(session: Session, rest: str, frame: Frame | None) -> str:
    for number in _chosen(session, rest):
        session.debugger.breakpoints[number].enabled = True
    return listed(session)


@verb("disable", usage="N ...", help="disable breakpoints", takes="breakpoint")
def _disable(session: Session, rest: str, frame: Frame | None) -> str:
    for number in _chosen(session, rest):
        session.debugger.breakpoints[number].enabled = False
    return listed(session)
