"""Breakpoints of every kind the protocol has, as texts of the engine's breakpoint forms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.adapter.protocol.model import plain
from tdb_dap.adapter.protocol.types import (
    Breakpoint,
    BreakpointLocation,
    BreakpointLocationsArguments,
    BreakpointLocationsResponseBody,
    BreakpointMode,
    SetBreakpointsArguments,
    SetBreakpointsResponseBody,
    SetFunctionBreakpointsArguments,
    SetInstructionBreakpointsArguments,
    SourceBreakpoint,
)
from tdb_dap.adapter.requests.sources import Text, has_mlir, line_in, lines_of_stage, mlir_place, stage_of, text_of
from tdb_dap.adapter.session.handlers import provides, request
from tdb_dap.adapter.session.references import instruction_ordinal
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control import breakpoints as engine


_AFTER = "after "
"""Begins the name of a function breakpoint that stops when the results of its place are there."""


class Wish(Struct, frozen=True):
    """Breakpoint that the client asked for; equal wishes keep their breakpoint and its hit count.

    ``shown``: its line in a file that is no text of the program itself, as the client counts.
    """

    text: str
    condition: str | None = None
    hit: str | None = None
    log: str | None = None
    mode: str | None = None
    shown: int | None = None


class Placed(Struct):
    """A wish, its number in the protocol, and the engine's breakpoint if it could be set."""

    id: int
    wish: Wish
    breakpoint: engine.Breakpoint | None = None
    problem: str = ""


class BreakpointTable:
    """The client's breakpoints in groups; each request replaces one group (one source, all functions ...).

    Breakpoints that come before the program are kept and placed when it is loaded.
    """

    def __init__(self) -> None:
        self._groups: dict[str, list[Placed]] = {}
        self._early: dict[str, tuple[SetBreakpointsArguments, list[int]]] = {}
        self._next_id = 1

    def replace(self, session: Session, group: str, wishes: Iterable[Wish]) -> list[Placed]:
        """Set exactly these breakpoints in a group."""
        before = self._groups.get(group, [])
        now: list[Placed] = []
        for wish in wishes:
            kept = next((p for p in before if p.wish == wish and p not in now), None)
            if kept is None:
                kept = Placed(self.new_id(), wish)
                self._place(session, kept)
            now.append(kept)
        for old in before:
            if old not in now and old.breakpoint is not None and session.has_program:
                session.debugger.breakpoints.remove(old.breakpoint)
        self._groups[group] = now
        return now

    def keep(self, arguments: SetBreakpointsArguments, count: int) -> list[int]:
        """Put off the lines of a source until there is a program; returns the numbers they will have."""
        ids = [self.new_id() for _ in range(count)]
        self._early[arguments.source.path or arguments.source.name or ""] = (arguments, ids)
        return ids

    def place_all(self, session: Session) -> list[Placed]:
        """Set everything on a newly loaded program; returns what the client has to be told about."""
        early = [placed for group in self._groups.values() for placed in group]
        for placed in early:
            self._place(session, placed)
        for arguments, ids in self._early.values():
            for placed, id in zip(place_lines(session, arguments), ids, strict=False):
                placed.id = id
                early.append(placed)
        self._early.clear()
        return early

    def new_id(self) -> int:
        """A number for a breakpoint, never used again."""
        self._next_id += 1
        return self._next_id - 1

    def id_of(self, breakpoint: engine.Breakpoint) -> int | None:
        """The protocol's number of an engine breakpoint; None if the client did not set it."""
        return next((p.id for group in self._groups.values() for p in group if p.breakpoint is breakpoint), None)

    def kind_of(self, breakpoint: engine.Breakpoint) -> str:
        """``function``, ``instruction`` or ``data`` for the stop reason; empty for a line."""
        for group, placed in self._groups.items():
            if group in ("function", "instruction", "data") and any(p.breakpoint is breakpoint for p in placed):
                return group
        return ""

    def _place(self, session: Session, placed: Placed) -> None:
        wish = placed.wish
        placed.breakpoint, placed.problem = None, ""
        if not session.has_program:
            placed.problem = "waiting for the program"
            return
        try:
            placed.breakpoint = session.debugger.breakpoints.add(
                wish.text, wish.condition, wish.hit, wish.log, "after" if wish.mode == "after" else "before"
            )
        except TdbError as error:
            placed.problem = str(error)


def describe(session: Session, placed: Placed) -> Breakpoint:
    """A breakpoint as the client sees it."""
    breakpoint = placed.breakpoint
    if breakpoint is None:
        waiting = not session.has_program
        return Breakpoint(
            id=placed.id, verified=False, message=placed.problem, reason="pending" if waiting else "failed"
        )
    answer = Breakpoint(
        id=placed.id,
        verified=breakpoint.verified,
        message=breakpoint.message or None,
        reason=None if breakpoint.verified else "failed",
    )
    if placed.wish.shown is not None:
        answer.line = placed.wish.shown
    elif breakpoint.line is not None:
        # VS Code loses a breakpoint whose source has no path; without a source it keeps the one it asked for.
        if breakpoint.text.startswith("mlir:") and has_mlir(session):
            answer.source, answer.line = mlir_place(session, breakpoint.line)
        else:
            answer.line = session.traits.line_out(breakpoint.line)
    return answer


@request(
    "setBreakpoints",
    capability=("supportsConditionalBreakpoints", "supportsHitConditionalBreakpoints", "supportsLogPoints"),
    while_running="answer",
)
def set_breakpoints(session: Session, arguments: SetBreakpointsArguments) -> SetBreakpointsResponseBody:
    """All breakpoints of one source: lines of final.mlir or of the listing."""
    lines = _asked(arguments)
    if not session.has_program:
        message = "waiting for the program"
        return SetBreakpointsResponseBody(
            breakpoints=[
                Breakpoint(id=id, verified=False, message=message, reason="pending")
                for id in session.feature(BreakpointTable).keep(arguments, len(lines))
            ]
        )
    if text_of(session, arguments.source) is None and stage_of(session, arguments.source) is None:
        message = "this file is not part of the program being debugged"
        return SetBreakpointsResponseBody(
            breakpoints=[Breakpoint(verified=False, line=b.line, message=message, reason="failed") for b in lines]
        )
    placed = place_lines(session, arguments)
    return SetBreakpointsResponseBody(breakpoints=[describe(session, p) for p in placed])


def _asked(arguments: SetBreakpointsArguments) -> list[SourceBreakpoint]:
    """The lines asked for, also by clients that use the older field."""
    if arguments.breakpoints is not None:
        return arguments.breakpoints
    return [SourceBreakpoint(line=line) for line in arguments.lines or ()]


def place_lines(session: Session, arguments: SetBreakpointsArguments) -> list[Placed]:
    """Set the lines of one source; none if it is not a source of the program."""
    text = text_of(session, arguments.source)
    if text is None:
        return _place_in_stage(session, arguments)
    wishes = [
        Wish(f"{text.kind}:{line_in(session, text, b.line)}", b.condition, b.hitCondition, b.logMessage, b.mode)
        for b in _asked(arguments)
    ]
    return session.feature(BreakpointTable).replace(session, f"{text.kind} {text.before}", wishes)


def _place_in_stage(session: Session, arguments: SetBreakpointsArguments) -> list[Placed]:
    """Set the lines of a file that final.mlir was made from, at the ops made for them; none if it is no such file."""
    stage = stage_of(session, arguments.source)
    if stage is None:
        return []
    pairs = lines_of_stage(session, stage)
    mlir = session.debugger.program.source.mlir
    beyond = len(mlir.lines) + 1 if mlir is not None else 1
    wishes: list[Wish] = []
    for b in _asked(arguments):
        line = session.traits.line_in(b.line)
        shown, final = next((pair for pair in pairs if pair[0] >= line), (line, beyond))
        wishes.append(
            Wish(f"mlir:{final}", b.condition, b.hitCondition, b.logMessage, b.mode, session.traits.line_out(shown))
        )
    return session.feature(BreakpointTable).replace(session, f"stage {stage.path}", wishes)


@request("setFunctionBreakpoints", capability="supportsFunctionBreakpoints", while_running="answer")
def set_function_breakpoints(
    session: Session, arguments: SetFunctionBreakpointsArguments
) -> SetBreakpointsResponseBody:
    """Every other form of breakpoint, by its text: mnemonics, op names, ids, addresses, values, locations.

    ``after`` before the text is the mode of the breakpoint, a field that the protocol has for lines only.
    """
    wishes = [
        Wish(
            b.name.removeprefix(_AFTER),
            b.condition,
            b.hitCondition,
            mode="after" if b.name.startswith(_AFTER) else None,
        )
        for b in arguments.breakpoints
    ]
    placed = session.feature(BreakpointTable).replace(session, "function", wishes)
    return SetBreakpointsResponseBody(breakpoints=[describe(session, p) for p in placed])


@request("setInstructionBreakpoints", capability="supportsInstructionBreakpoints")
def set_instruction_breakpoints(
    session: Session, arguments: SetInstructionBreakpointsArguments
) -> SetBreakpointsResponseBody:
    """Breakpoints of the disassembly view."""
    listing = session.debugger.program.listing
    wishes: list[Wish] = []
    for b in arguments.breakpoints:
        ordinal = instruction_ordinal(session, b.instructionReference, b.offset or 0)
        wishes.append(Wish(f"asm:{listing.line_of(ordinal)}", b.condition, b.hitCondition, None, b.mode))
    placed = session.feature(BreakpointTable).replace(session, "instruction", wishes)
    return SetBreakpointsResponseBody(breakpoints=[describe(session, p) for p in placed])


@request("breakpointLocations", capability="supportsBreakpointLocationsRequest", while_running="answer")
def breakpoint_locations(session: Session, arguments: BreakpointLocationsArguments) -> BreakpointLocationsResponseBody:
    """The lines of a range that own commands."""
    text = text_of(session, arguments.source)
    first, last = arguments.line, arguments.endLine or arguments.line
    stage = stage_of(session, arguments.source) if text is None else None
    if stage is not None:
        all_lines = (session.traits.line_out(line) for line, _ in lines_of_stage(session, stage))
        return BreakpointLocationsResponseBody(
            breakpoints=[BreakpointLocation(line=line) for line in all_lines if first <= line <= last]
        )
    lines = _lines_between(session, text, first, last) if text is not None else ()
    return BreakpointLocationsResponseBody(breakpoints=[BreakpointLocation(line=line) for line in lines])


def _lines_between(session: Session, text: Text, first: int, last: int) -> Iterator[int]:
    """Lines with commands, as the client counts."""
    program = session.debugger.program
    search = {"mlir": program.source.next_line_with_commands, "asm": program.listing.next_line_with_command}[text.kind]
    line, stop = line_in(session, text, first), line_in(session, text, last)
    while (following := search(line)) is not None and following <= stop:
        yield session.traits.line_out(following - text.before)
        line = following + 1


@provides("breakpointModes")
def breakpoint_modes() -> list[dict[str, object]]:
    """Stop before the place, or after it; for data, at writes that change nothing or not."""
    everywhere = ["source", "instruction"]
    return [
        plain(
            BreakpointMode(mode="before", label="Before", description="Stop before the command", appliesTo=everywhere)
        ),
        plain(
            BreakpointMode(
                mode="after", label="After", description="Stop when its results are there", appliesTo=everywhere
            )
        ),
        plain(
            BreakpointMode(mode="change", label="Change", description="Writes that change a byte", appliesTo=["data"])
        ),
        plain(
            BreakpointMode(
                mode="lives",
                label="While It Lives",
                description="From the first write of the tensor to its last read, not what is there later",
                appliesTo=["data"],
            )
        ),
    ]
