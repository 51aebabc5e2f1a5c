"""Completion in the console: verbs, what they take, and the names of expressions."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from tdb_dap.adapter.console.inspecting import TOPICS
from tdb_dap.adapter.console.verbs import verbs
from tdb_dap.adapter.protocol.types import (
    CompletionItem,
    CompletionItemType,
    CompletionsArguments,
    CompletionsResponseBody,
)
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.session.handlers import provides, request
from tdb_dap.engine.control.breakpoint_specs import FORMS
from tdb_dap.engine.expressions.functions import FUNCTIONS

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.program.program import Program

_MOST = 200
_WORD = re.compile(
    r'\b(?:in|out|ref)\[-?\d*$|\b(?:input|output|weight)\("?[^"()]*$|#?loc\(?"?[^"\s()]*$|%?[\w.:@*-]*$|[\w.:@*#%-]*$'
)
"""What is completed: a name, or one that has been begun with its bracket."""

Choices = Iterable[tuple[str, CompletionItemType, str]]
"""Text, the protocol's kind of item, a few words about it."""


@provides("completionTriggerCharacters")
def trigger_characters() -> list[str]:
    """Characters after which names are offered at once: values, locations, fields of places, elements of lists."""
    return ["%", "#", '"', ":", ".", " "]


@request("completions", capability="supportsCompletionsRequest")
def completions(session: Session, arguments: CompletionsArguments) -> CompletionsResponseBody:
    """Completions at a position of the console's line: those that begin with what is there already."""
    frame = session.handles.frame(arguments.frameId) if arguments.frameId else None
    lines = arguments.text.split("\n")
    number = session.traits.line_in(arguments.line) if arguments.line is not None else 1
    line = lines[max(1, min(number, len(lines))) - 1]
    end = max(0, min(arguments.column - session.traits.first_column, len(line)))
    before = line[:end]
    match = _WORD.search(before)
    word = match[0] if match else ""
    start = end - len(word)
    items: dict[str, CompletionItem] = {}
    for text, kind, detail in _choices(session, before[:start], frame):
        if text.casefold().startswith(word.casefold()) and text not in items and text != word:
            items[text] = CompletionItem(label=text, type=kind, detail=detail or None, start=start, length=len(word))
        if len(items) >= _MOST:
            break
    return CompletionsResponseBody(targets=list(items.values()))


def _choices(session: Session, before: str, frame: Frame | None) -> Choices:
    """Words that fit after those already there."""
    first, _, rest = before.lstrip().partition(" ")
    known = {name: verb for verb in verbs() for name in verb.names}
    if not first:
        yield from ((name, "keyword", verb.help) for name, verb in known.items())
        yield from _expression(session, frame)
        return
    takes = known[first].takes if first in known else "expression"
    if takes == "verb":
        yield from ((name, "keyword", verb.help) for name, verb in known.items())
    elif takes == "topic":
        yield from ((name, "keyword", "") for name in TOPICS)
    elif takes == "place" and " if " not in rest:
        yield from _places(session)
    elif takes == "breakpoint":
        yield from ((str(b.id), "value", b.text) for b in session.debugger.breakpoints)
    elif takes.startswith("one of "):
        yield from ((word, "keyword", "") for word in takes.removeprefix("one of ").split())
    elif takes:
        yield from _expression(session, frame)


def _expression(session: Session, frame: Frame | None) -> Choices:
    if not session.has_program:
        return
    names = names_at(session, frame)
    for kind, values in (("in", names.operands()), ("out", names.results()), ("ref", names.references())):
        for index, value in enumerate(values):
            yield f"{kind}[{index}]", "variable", value.title
            first = value.title.split(" ")[0]
            if first.startswith("%"):
                yield first, "variable", value.title
    yield from ((name, "function", "") for name in sorted(FUNCTIONS))
    program = session.debugger.program
    for kind, tensors in (("input", program.inputs), ("output", program.outputs)):
        yield from ((f'{kind}("{tensor.name}")', "variable", f"{kind} of the net") for tensor in tensors)
    yield from _values(program)
    yield from ((f'#loc("{name}")', "reference", "tensor") for name in _locations(program))


def _places(session: Session) -> Choices:
    """Everything that a breakpoint can name in this program, and how the other forms are written."""
    if not session.has_program:
        return
    program = session.debugger.program
    records = program.source.records
    yield from ((name, "class", "op") for name in sorted({record.opcode for record in records}))
    yield from ((name, "function", "instruction") for name in sorted({command.name for command in program.commands}))
    yield from _values(program)
    yield from ((f'#loc("{name}")', "reference", "location") for name in _locations(program))
    yield from ((f"subnet:{subnet.id}", "module", subnet.function) for subnet in program.subnets)
    yield from ((f"core:{core}", "module", "") for core in range(program.core_count))
    yield from ((f"mlir:{line}", "file", "line of final.mlir") for line in program.source.lines_with_commands)
    yield from ((form.example, "text", f"{form.title}, for example") for form in FORMS)


def _values(program: Program) -> Choices:
    if program.source.mlir is not None:
        for op in program.source.mlir.ops.values():
            yield from ((result, "variable", op.name) for result in op.results)


def _locations(program: Program) -> list[str]:
    names = (value.name for record in program.source.records for value in record.results)
    return list(dict.fromkeys(names))
