"""Expressions of watches, hovers and the clipboard; the console's verbs are in ``console``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.types import EvaluateArguments, EvaluateResponseBody, ValueFormat
from tdb_dap.adapter.registry import request
from tdb_dap.adapter.sources import kind_of
from tdb_dap.adapter.variables import describe

if TYPE_CHECKING:
    from tdb_dap.adapter.handles import Frame
    from tdb_dap.adapter.session import Session

_MOST_COPIED = 1 << 16
"""Elements of a tensor that are copied as text."""


@request("evaluate", capability=("supportsEvaluateForHovers", "supportsClipboardContext", "supportsANSIStyling"))
def evaluate(session: Session, arguments: EvaluateArguments) -> EvaluateResponseBody:
    """Value of an expression in a frame; in the console a verb, or else an expression."""
    from tdb_dap.adapter.console import execute, expression_of_console, is_verb, opened_by, spelled

    frame = session.handles.frame(arguments.frameId) if arguments.frameId else None
    text = arguments.expression.strip()
    if arguments.context == "repl":
        if session.has_program:
            frame = session.frame_choice.at(session.debugger.ordinal, frame)
        text = spelled(text)
        if not is_verb(text) and text:
            with expression_of_console(text):
                return show(session, text, frame, format=arguments.format)
        answer = session.traits.text_out(execute(session, text, frame))
        if expression := opened_by(text):
            return show(session, expression, frame).model_copy(update={"result": answer})
        return EvaluateResponseBody(result=answer, variablesReference=0)
    if arguments.context == "clipboard":
        return EvaluateResponseBody(result=_copied(session, text, frame), variablesReference=0)
    return show(session, text, frame, _pointed_at(session, arguments), arguments.format)


def _pointed_at(session: Session, arguments: EvaluateArguments) -> int | None:
    """The command on the line of the listing that the mouse is over; an address there means that command's tensor."""
    if arguments.context != "hover" or arguments.source is None or arguments.line is None:
        return None
    if kind_of(session, arguments.source) != "asm":
        return None
    return session.debugger.program.listing.ordinal_at(session.traits.line_in(arguments.line))


def show(
    session: Session, text: str, frame: Frame | None, ordinal: int | None = None, format: ValueFormat | None = None
) -> EvaluateResponseBody:
    """An expression's value, to be opened like a variable; names are those at command ``ordinal`` if it is given."""
    from tdb_dap.adapter.contents import names_at
    from tdb_dap.adapter.nodes import tensor

    names = names_at(session, frame) if ordinal is None else session.debugger.scope(ordinal, "command")
    value = session.debugger.evaluate(text, names)
    value.array  # noqa: B018  errors in reading belong to this request
    shown = describe(session, tensor(session, value.title, value, text), format)
    return EvaluateResponseBody.model_validate({**shown, "result": shown["value"]})


def _copied(session: Session, text: str, frame: Frame | None) -> str:
    """All numbers as text that can be pasted into Python."""
    from tdb_dap.adapter.contents import names_at
    from tdb_dap.engine.values import array_text

    value = session.debugger.evaluate(text, names_at(session, frame))
    return array_text(value.array) if value.array.size <= _MOST_COPIED else value.text()
