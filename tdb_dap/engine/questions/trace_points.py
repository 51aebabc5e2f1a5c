"""Trace points: where in a program expressions are evaluated, and how that is written on one line."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from tdb_dap.engine.expressions.evaluator import require_expression
from tdb_dap.errors import BadExpression

USAGE = "EXPRESSION [, EXPRESSION] [at PLACE] [if CONDITION]"

MOST_EXPRESSIONS = 32
"""Of one trace point."""

_QUOTED = re.compile(r"\"[^\"]*\"|'[^']*'")
_WORDS = re.compile(r"(?:(?<=[\s)\]])|^)(at|if)(?=\s|$)")
_OPENING, _CLOSING = "([{", ")]}"


class TracePoint(Struct, frozen=True):
    """``expressions``: what to evaluate; ``place``: a place of a breakpoint, empty for every op; ``condition``: what
    must be true there, empty for always.
    """

    expressions: tuple[str, ...]
    place: str = ""
    condition: str = ""

    def __post_init__(self) -> None:
        if not self.expressions:
            raise BadExpression(f"name what to trace: {USAGE}")
        if len(self.expressions) > MOST_EXPRESSIONS:
            raise BadExpression(f"{len(self.expressions)} expressions: at most {MOST_EXPRESSIONS} in one trace")
        for expression in (*self.expressions, *filter(None, [self.condition])):
            require_expression(expression)
        if twice := [one for one in self.expressions if self.expressions.count(one) > 1]:
            raise BadExpression(f"{twice[0]} is named twice")

    @property
    def text(self) -> str:
        """As it is written."""
        place = f" at {self.place}" if self.place else ""
        return ", ".join(self.expressions) + place + (f" if {self.condition}" if self.condition else "")


def parse(text: str) -> TracePoint:
    """The trace point of a line such as ``max(in[0]), min(in[0]) at tpu.Conv2D if max(in[0]) > 100``.

    BadExpression if something is missing. ``if`` after ``at`` begins the condition; before it, it is Python's.
    """
    outside = _masked(text)
    words = list(_WORDS.finditer(outside))
    at = next((match for match in words if match[1] == "at"), None)
    conditions = [match for match in words if match[1] == "if" and (at is None or match.start() > at.end())]
    condition = next((m for m in conditions if at is not None or " else " not in outside[m.end() :]), None)
    head_end = next((match.start() for match in (at, condition) if match is not None), len(text))
    place_end = condition.start() if condition is not None else len(text)
    place = text[at.end() : place_end].strip() if at is not None else ""
    wanted = text[condition.end() :].strip() if condition is not None else ""
    if at is not None and not place:
        raise BadExpression(f"name the place after at: {USAGE}")
    if condition is not None and not wanted:
        raise BadExpression(f"name the condition after if: {USAGE}")
    return TracePoint(tuple(_split(text[:head_end])), place, wanted)


def _masked(text: str) -> str:
    """The text with everything in quotes or brackets as dots: what is left is the line's own words."""
    plain = _QUOTED.sub(lambda match: "." * len(match[0]), text)
    depth, letters = 0, []
    for letter in plain:
        depth -= letter in _CLOSING
        letters.append(letter if depth <= 0 else ".")
        depth += letter in _OPENING
    return "".join(letters)


def _split(text: str) -> Iterator[str]:
    """The expressions between the commas that are in no brackets."""
    start = 0
    for position, letter in enumerate([*_masked(text), ","]):
        if letter == ",":
            if part := text[start:position].strip():
                yield part
            elif position < len(text) or start:
                raise BadExpression("there is nothing between two commas")
            start = position + 1
