"""Values of expressions, to be opened like variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from tdb_dap.adapter.protocol.model import validated
from tdb_dap.adapter.protocol.types import EvaluateArguments, EvaluateResponseBody, ValueFormat
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.requests.sources import line_in, text_of
from tdb_dap.adapter.requests.variable_nodes import tensor
from tdb_dap.adapter.requests.variables import describe
from tdb_dap.engine.expressions.evaluator import pinned
from tdb_dap.engine.expressions.values import array_text

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.expressions.scope import Scope

_MOST_COPIED = 1 << 16
"""Elements of a tensor that are copied as text."""


def pointed_at(session: Session, arguments: EvaluateArguments, frame: Frame | None) -> Scope | None:
    """The names on the line that the mouse is over; None if that is not known.

    In the listing an address means that command's tensor; in final.mlir a value id means that of the line's region.
    """
    if arguments.context != "hover" or arguments.source is None or arguments.line is None:
        return None
    source = text_of(session, arguments.source)
    if source is None:
        return None
    line = line_in(session, source, arguments.line)
    if source.kind == "asm":
        ordinal = session.debugger.program.listing.ordinal_at(line)
        return session.debugger.scope(ordinal, "command") if ordinal is not None else None
    return replace(names_at(session, frame), line=line)


def show(session: Session, text: str, frame: Frame | None, format: ValueFormat | None = None) -> EvaluateResponseBody:
    """An expression's value as a frame sees it, to be opened like a variable."""
    return shown_as(session, text, names_at(session, frame), format)


def shown_as(session: Session, text: str, names: Scope, format: ValueFormat | None) -> EvaluateResponseBody:
    value = session.debugger.evaluate(text, names)
    if not value.is_overwritten:
        value.array  # noqa: B018  errors in reading belong to this request
    name = pinned(text, names.moment, names.command.core if names.command else 0)
    if value.view is None:  # computed: an index has to follow all of it
        name = f"({name})"
    shown = describe(session, tensor(session, value.title, value, name), format)
    return validated(EvaluateResponseBody, {**shown, "result": shown["value"]})


def copied(session: Session, text: str, frame: Frame | None) -> str:
    """All numbers as text that can be pasted into Python; of what is not there now that it is not."""
    value = session.debugger.evaluate(text, names_at(session, frame))
    if value.absence:
        return f"{value.title} {value.absence}"
    return array_text(value.array) if value.array.size <= _MOST_COPIED else value.text()
