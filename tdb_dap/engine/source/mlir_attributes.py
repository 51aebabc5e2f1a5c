"""Attribute dictionaries of MLIR text."""

from __future__ import annotations

from typing import Any

from tdb_dap.errors import BadInput
from tdb_dap.system.patterns import pattern

_OPEN, _CLOSE = "([{<", ")]}>"
_NUMBER = pattern(r"-?\d+(\.\d*)?([eE][-+]?\d+)?$")

_MOST_DIGITS = 20
"""Of an integer of 64 bits."""


def integer(text: str) -> int:
    """An integer of at most 64 bits in a text of MLIR; BadInput for one that no compiler writes."""
    digits = text.lstrip("+-")
    if len(digits) > _MOST_DIGITS:
        raise BadInput(f"{text[:8]}... in final.mlir has {len(digits):,} digits; is the file damaged?")
    return int(text)


def closing(text: str, start: int) -> int:
    """Position of the bracket that closes the one at ``start``; the end of the text if there is none.

    Strings are skipped; ``->`` is not a bracket.
    """
    depth, position, length = 0, start, len(text)
    while position < length:
        letter = text[position]
        if letter == '"':
            position = _string_end(text, position)
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSE and not (letter == ">" and text[position - 1] == "-"):
            depth -= 1
            if depth == 0:
                return position
        position += 1
    return length


def _string_end(text: str, start: int) -> int:
    position = start + 1
    while position < len(text) and text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return position


def split_top(text: str, separator: str = ",") -> list[str]:
    """Parts between separators that are outside of brackets and strings."""
    parts: list[str] = []
    position = first = 0
    while position < len(text):
        letter = text[position]
        if letter == '"':
            position = _string_end(text, position)
        elif letter in _OPEN:
            position = closing(text, position)
        elif letter == separator:
            parts.append(text[first:position].strip())
            first = position + 1
        position += 1
    rest = text[first:].strip()
    return [*parts, rest] if rest else parts


def parse_attributes(text: str, start: int) -> dict[str, Any]:
    """The dictionary whose ``{`` is at ``start``."""
    attributes: dict[str, Any] = {}
    for part in split_top(text[start + 1 : closing(text, start)]):
        name, equals, value = part.partition(" = ")
        attributes[name.strip().strip('"')] = attribute_value(value) if equals else True
    return attributes


def attribute_value(text: str) -> Any:
    """A number, string, truth value or list; other attributes (``#tpu.lg<...>``) stay text."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    if text.startswith('"'):
        return text[1 : _string_end(text, 0)]
    plain = text.split(" : ")[0]
    if _NUMBER.match(plain):
        return float(plain) if any(letter in plain for letter in ".eE") else integer(plain)
    if text.startswith("["):
        return [attribute_value(part) for part in split_top(text[1 : closing(text, 0)])]
    return text
