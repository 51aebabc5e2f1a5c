"""Token at a position of a line: a value, an op, a location, an address."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

Kind = Literal["value", "op", "location", "alias", "function", "address"]

_TOKEN = re.compile(
    r'loc\("(?P<location>[^"]+)"\)'
    r"|(?P<alias>#loc\d*)\b"
    r"|(?P<value>%[\w.$-]+(?:#\d+)?)"
    r'|"(?P<op>[A-Za-z]\w*\.\w[\w.]*)"'
    r"|(?P<function>@[\w.$-]+)"
    r"|(?P<address>\b\d{8,})(?= : i64)"
)


class Token(Struct, frozen=True):
    """``start``, ``end``: columns, from 0."""

    kind: Kind
    text: str
    start: int
    end: int


def tokens(line: str) -> list[Token]:
    """All tokens of a line."""
    parsed: list[Token] = []
    for match in _TOKEN.finditer(line):
        kind = match.lastgroup
        assert kind is not None
        start, end = match.span(kind)
        parsed.append(Token(kind, match[kind], start, end))  # type: ignore[arg-type]
    return parsed


def token_at(line: str, column: int) -> Token | None:
    """The token that a column is in, or after which it stands."""
    return next((token for token in tokens(line) if token.start <= column <= token.end), None)
