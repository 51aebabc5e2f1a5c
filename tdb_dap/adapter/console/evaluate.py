"""Expressions of watches, hovers and the clipboard; the console's verbs are in ``console``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from tdb_dap.adapter.console.verbs import execute, expression_of_console, is_verb, opened_by, spelled
from tdb_dap.adapter.protocol.types import EvaluateArguments, EvaluateResponseBody
from tdb_dap.adapter.requests.expressions import copied, pointed_at, show, shown_as
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.handles import FrameChoice

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session


@request("evaluate", capability=("supportsEvaluateForHovers", "supportsClipboardContext", "supportsANSIStyling"))
def evaluate(session: Session, arguments: EvaluateArguments) -> EvaluateResponseBody:
    """Value of an expression in a frame; in the console a verb, or else an expression."""
    frame = session.handles.frame(arguments.frameId) if arguments.frameId else None
    text = arguments.expression.strip()
    if arguments.context == "repl":
        if session.has_program:
            frame = session.feature(FrameChoice).at(session.debugger.ordinal, frame)
        text = spelled(text)
        if not is_verb(text) and text:
            with expression_of_console(text):
                return show(session, text, frame, format=arguments.format)
        answer = session.traits.answer_out(execute(session, text, frame))
        if expression := opened_by(text):
            return msgspec.structs.replace(show(session, expression, frame), result=answer)
        return EvaluateResponseBody(result=answer, variablesReference=0)
    if arguments.context == "clipboard":
        return EvaluateResponseBody(result=copied(session, text, frame), variablesReference=0)
    names = pointed_at(session, arguments, frame)
    return shown_as(session, text, names or names_at(session, frame), arguments.format)
