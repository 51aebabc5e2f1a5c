"""Expressions of watches, hovers and the clipboard; the console's verbs are in ``console``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.types import EvaluateArguments, EvaluateResponseBody, ValueFormat
from tdb_dap.adapter.requests.sources import kind_of
from tdb_dap.adapter.requests.variables import describe
from tdb_dap.adapter.session.handlers import request

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.expressions.scope import Scope

_MOST_COPIED = 1 << 16
"""Elements of a tensor that are copied as text."""


@request("evaluate", capability=("supportsEvaluateForHovers", "supportsClipboardContext", "supportsANSIStyling"))
def evaluate(session: Session, arguments: EvaluateArguments) -> EvaluateResponseBody:
    """Value of an expression in a frame; in the console a verb, or else an expression."""
    from tdb_dap.adapter.console.verbs import execute, expression_of_console, is_verb, opened_by, spelled
    from tdb_dap.adapter.requests.scopes import names_at

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
    names = _pointed_at(session, arguments, frame)
    return _shown(session, text, names or names_at(session, frame), arguments.format)


def _pointed_at(session: Session, arguments: EvaluateArguments, frame: Frame | None) -> Scope | None:
    """The names on the line that the mouse is over; None if that is not known.

    In the listing an address means that command's tensor; in final.mlir a value id means that of the line's region.
    """
    from tdb_dap.adapter.requests.scopes import names_at

    if arguments.context != "hover" or arguments.source is None or arguments.line is None:
        return None
    kind, line = kind_of(session, arguments.source), session.traits.line_in(arguments.line)
    if kind == "asm":
        ordinal = session.debugger.program.listing.ordinal_at(line)
        return session.debugger.scope(ordinal, "command") if ordinal is not None else None
    return replace(names_at(session, frame), line=line) if kind == "mlir" else None


def show(session: Session, text: str, frame: Frame | None, format: ValueFormat | None = None) -> EvaluateResponseBody:
    """An expression's value as a frame sees it, to be opened like a variable."""
    from tdb_dap.adapter.requests.scopes import names_at

    return _shown(session, text, names_at(session, frame), format)


def _shown(session: Session, text: str, names: Scope, format: ValueFormat | None) -> EvaluateResponseBody:
    from tdb_dap.adapter.requests.variable_nodes import tensor
    from tdb_dap.engine.expressions.evaluator import pinned

    value = session.debugger.evaluate(text, names)
    value.array  # noqa: B018  errors in reading belong to this request
    name = pinned(text, names.moment, names.command.core if names.command else 0)
    if value.view is None:  # computed: an index has to follow all of it
        name = f"({name})"
    shown = describe(session, tensor(session, value.title, value, name), format)
    return EvaluateResponseBody.model_validate({**shown, "result": shown["value"]})


def _copied(session: Session, text: str, frame: Frame | None) -> str:
    """All numbers as text that can be pasted into Python."""
    from tdb_dap.adapter.requests.scopes import names_at
    from tdb_dap.engine.expressions.values import array_text

    value = session.debugger.evaluate(text, names_at(session, frame))
    return array_text(value.array) if value.array.size <= _MOST_COPIED else value.text()
