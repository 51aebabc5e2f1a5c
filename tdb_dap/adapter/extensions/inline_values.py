"""Values of the lines of a text, for editors that show them inline at a stop: ``tdb/inlineValues``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.adapter.protocol.model import ProtocolModel
from tdb_dap.adapter.protocol.types import Source
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.requests.sources import line_in, text_of
from tdb_dap.adapter.requests.variable_nodes import mark, remembered
from tdb_dap.adapter.session.handlers import request
from tdb_dap.engine.expressions.values import Value, brief_text
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.edits import MovedBack
from tdb_dap.errors import NotSimulated, TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.tensor_responses import InlineValue, InlineValues
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.expressions.lexer import Level
    from tdb_dap.engine.expressions.scope import Scope
    from tdb_dap.engine.program.program import Program

_MOST_COMMANDS = 256
"""Commands before now whose results are looked at: further back little of what was computed is still there."""


class InlineArguments(ProtocolModel, kw_only=True):
    """``frameId``: the frame that is shown; ``line`` to ``endLine``: what is visible of ``source``."""

    frameId: int
    source: Source
    line: int
    endLine: int


class _Text(Struct, frozen=True):
    """One of the two texts of a program.

    ``line_of``: the line of a command if it ends the thing of that line; ``commands_of``: all commands of the thing
    that a command ends; ``name_of``: the word in the line that a value belongs to.
    """

    level: Level
    line_of: Callable[[int], int | None]
    commands_of: Callable[[int], Sequence[int]]
    name_of: Callable[[Value], str]


@request("tdb/inlineValues")
def inline_values(session: Session, arguments: InlineArguments) -> InlineValues:
    """Operands of the line about to run, and results of the lines before it that nothing has overwritten since."""
    source = text_of(session, arguments.source)
    if source is None:
        return {"values": []}
    frame, program = session.handles.frame(arguments.frameId), session.debugger.program
    text = _listing(program) if source.kind == "asm" else _mlir(program)
    first, last = (line_in(session, source, line) for line in (arguments.line, arguments.endLine))
    values: list[InlineValue] = []
    line = _line(program, text, frame.focus) if frame.level in ("op", "command") else None
    if line is not None and first <= line <= last and frame.focus >= session.debugger.ordinal:
        values += _described(session, text, line - source.before, names_at(session, frame).operands)
    for line, names in _results(session, text, first, last):
        values += _described(session, text, line - source.before, names.results)
    return {"values": values}


def _listing(program: Program) -> _Text:
    return _Text("command", program.listing.line_of, lambda ordinal: (ordinal,), _address)


def _mlir(program: Program) -> _Text:
    def line_of(ordinal: int) -> int | None:
        records = program.source.records_of(ordinal)
        return records[0].line if records and records[0].last == ordinal else None

    def commands_of(ordinal: int) -> Sequence[int]:
        return program.source.records_of(ordinal)[0].ordinals

    return _Text("op", line_of, commands_of, lambda value: value.title.partition(" ")[0])


def _line(program: Program, text: _Text, ordinal: int) -> int | None:
    """The line of a command, wherever in its op it stands."""
    if ordinal >= len(program.commands):
        return None
    records = program.source.records_of(ordinal)
    return text.line_of(records[0].last) if text.level == "op" and records else text.line_of(ordinal)


def _address(value: Value) -> str:
    return f"%{value.view.name}" if value.view is not None else ""


def _results(session: Session, text: _Text, first: int, last: int) -> Iterator[tuple[int, Scope]]:
    """Lines whose results are still there, the last one first, with the names that their command sees."""
    debugger = session.debugger
    machine = debugger.machine
    overwritten: list[ByteRanges] = []
    moves = [edit for edit in machine.edits if isinstance(edit, MovedBack)]
    done: set[int] = set()
    for ordinal in range(debugger.ordinal - 1, max(0, debugger.ordinal - _MOST_COMMANDS) - 1, -1):
        try:
            written = machine.accesses.written_by(ordinal)
        except NotSimulated:
            return  # what a command without a description writes is not known
        while moves and moves[-1].moment > ordinal:
            overwritten += moves.pop().changed
        line = text.line_of(ordinal)
        if line is not None and first <= line <= last and line not in done:
            done.add(line)
            names = debugger.scope(ordinal, text.level)
            places = [ByteRanges.of(value.view) for value in names.results() if isinstance(value.view, View)]
            is_there = not any(place.overlaps(later) for place in places for later in overwritten)
            if is_there and not any(map(machine.passes_over, text.commands_of(ordinal))):
                yield line, names
        overwritten += written


def _described(session: Session, text: _Text, line: int, values: Callable[[], list[Value]]) -> Iterator[InlineValue]:
    try:
        listed = values()
    except TdbError:
        return
    for value in listed:
        if value.pending or not isinstance(value.view, View) or not (name := text.name_of(value)):
            continue
        value = remembered(session, value)
        try:
            numbers = brief_text(value.array, value.named if value.is_quantised else None, value.statistics)
            shown = " ".join(filter(None, (mark(session, value), numbers)))
        except TdbError:
            continue
        yield {"line": session.traits.line_out(line), "name": name, "text": shown}
