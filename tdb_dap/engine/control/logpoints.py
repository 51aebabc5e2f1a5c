"""Messages of log points: text with expressions in braces, each with a format of Python or NumPy after a colon."""

from __future__ import annotations

import re

import numpy as np
from msgspec import Struct

from tdb_dap.engine.expressions.evaluator import evaluate, require_expression
from tdb_dap.engine.expressions.scope import Scope
from tdb_dap.engine.expressions.values import Value
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadExpression, TdbError
from tdb_dap.system.patterns import pattern

_BRACES = pattern(r"\{((?:[^{}\"']|\"[^\"]*\"|'[^']*')+)\}")
_FORMAT = pattern(r"(?:.?[<>=^])?[-+ ]?#?0?\d{0,3}[,_]?(?:\.\d{1,3})?[bcdeEfFgGnoxX%]?")
_MOST_ELEMENTS = 1000
"""NumPy shortens longer arrays."""


class Message(Struct, frozen=True):
    """Message of a log point: a text, and the values in it as they are at this moment."""

    text: str
    values: tuple[Value, ...] = ()


def parts(inside: str) -> tuple[str, str]:
    """Expression and format of what stands in braces: ``max(in[0]):.3f`` but not the type of ``R0:f32[4]``."""
    head, colon, tail = inside.rpartition(":")
    depth = sum(head.count(opening) - head.count(closing) for opening, closing in ("()", "[]"))
    if colon and head.strip() and depth == 0 and tail and _FORMAT.fullmatch(tail):
        return head, tail
    return inside, ""


def require_message(text: str) -> None:
    """BadExpression if some expression in braces can never be evaluated."""
    for match in _BRACES.finditer(text):
        require_expression(parts(match[1])[0])


def expressions_in(text: str) -> list[str]:
    """The expressions in braces of a message, without their formats."""
    return [parts(match[1])[0].strip() for match in _BRACES.finditer(text)]


def message(text: str, scope: Scope) -> Message:
    """The message at one moment; an expression that fails is replaced by why."""
    values: list[Value] = []

    def shown(match: re.Match[str]) -> str:
        expression, format_ = parts(match[1])
        try:
            value = evaluate(expression, scope)
            value.array  # noqa: B018  read it now, not when it is shown
            values.append(value)
            return _formatted(value, format_) if format_ and not value.absence else value.text()
        except TdbError as error:
            return f"<{error}>"

    return Message(_BRACES.sub(shown, text), tuple(values))


def _formatted(value: Value, format_: str) -> str:
    """Every element in the format; long arrays shortened as NumPy does it."""
    try:
        if not value.shape:
            return format(value.array.tolist(), format_)
        return np.array2string(
            value.array,
            threshold=_MOST_ELEMENTS,
            separator=", ",
            formatter={"all": lambda number: format(number, format_)},
        )
    except (ValueError, TypeError) as error:
        raise BadExpression(f"format {quoted(format_)}: {error}") from None
