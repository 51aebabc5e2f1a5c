"""Text as it may be shown: names in a model are anything, and terminals and Markdown obey some of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TextIO
from unicodedata import east_asian_width

_UNSEEN = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
"""Control characters but tab and line feed, what turns the direction of writing, and what has no width.

Compiled where it is needed: that takes milliseconds, and few texts have any.
"""

_LONGEST_QUOTED = 80

_MARKDOWN = re.compile(r"[\\|`<]|\](?=\()")
"""What would end a cell, begin code or an element, or make a link or a picture."""


def visible(text: str) -> str:
    """The same with characters that are obeyed and not shown as escapes: ``\\x1b``, ``\\u202e``."""
    if all(line.isprintable() for line in text.split("\n")):  # most texts are, and this is quick
        return text
    return re.sub(_UNSEEN, lambda match: ascii(match[0])[1:-1], text)


def elided(name: str, length: int) -> str:
    """A name of at most ``length`` letters; ``…`` replaces what is left out, a third is of its end."""
    if len(name) <= length:
        return name
    tail = (length - 1) // 3
    return f"{name[: length - 1 - tail]}…{name[len(name) - tail :]}"


def quoted(text: str) -> str:
    """Quote of a user's text: in quotes, in one line, and no more than its beginning."""
    return repr(text if len(text) <= _LONGEST_QUOTED else f"{text[: _LONGEST_QUOTED - 3]}...")


_LONGEST_FIELD = 60
_MOST_LISTED = 5


def field_path(parts: Iterable[int | str]) -> str:
    """Names of nested fields with dots between them, each elided, and quoted if it has control characters."""
    names = (elided(str(part), _LONGEST_FIELD) for part in parts)
    return ".".join(name if name.isprintable() else repr(name) for name in names)


def first_of(texts: Iterable[str]) -> str:
    """The first different texts in one line, and how many more there are."""
    different = list(dict.fromkeys(texts))
    more = len(different) - _MOST_LISTED
    return "; ".join([*different[:_MOST_LISTED], *([f"{more} more"] if more > 0 else [])])


def columns_of(text: str) -> int:
    """Columns that a text takes on a terminal: two for a letter of Chinese."""
    return len(text) if text.isascii() else sum(1 + (east_asian_width(letter) in "WF") for letter in text)


_PIECES = r"\s+|[\u2e80-\uffef][，。；：、）]*|[^\s\u2e80-\uffef]+[，。；：、）]*"
"""Between two of these a line may end; compiled where it is needed."""


def wrapped(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most so many columns, those after the first indented.

    A word is never broken, so that a long one has a line for itself.
    """
    lines = [""]
    for piece in re.findall(_PIECES, text):
        if lines[-1].strip() and columns_of(lines[-1] + piece.rstrip()) > width:
            lines[-1] = lines[-1].rstrip()
            lines.append(indent + piece.lstrip())
        else:
            lines[-1] += piece
    return lines


def table_row(*texts: str) -> str:
    """A row of a table in Markdown."""
    cells = (_MARKDOWN.sub(r"\\\g<0>", visible(text).replace("\n", " ")) for text in texts)
    return f"| {' | '.join(cells)} |"


_GAP = 2
"""Spaces between the columns of a table."""


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of a table for a terminal, its columns as wide as they have to be."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (" " * _GAP).join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]


def fitted(
    rows: Sequence[Sequence[str]], width: int | None, names: Sequence[str], spare: Sequence[str]
) -> list[Sequence[str]]:
    """Rows of a table that fit into so many columns, or all of them. The first row has the titles.

    ``names``: titles of columns whose texts lose their middle; ``spare``: columns that are left out for them, in order.
    """
    table = [list(row) for row in rows]
    left_out = iter(spare)
    while width is not None and _width(table, names, _LEAST_NAME) > width and (title := next(left_out, None)):
        if title in table[0]:
            column = table[0].index(title)
            table = [[*row[:column], *row[column + 1 :]] for row in table]
    longest = max((len(row[table[0].index(name)]) for name in names if name in table[0] for row in table), default=0)
    while width is not None and longest > _LEAST_NAME and _width(table, names, longest) > width:
        longest -= 1
    columns = {table[0].index(name) for name in names if name in table[0]}
    if width is None or _width(table, names, longest) == _width(table, names, None):
        return [tuple(row) for row in table]
    return [[elided(text, longest) if i in columns else text for i, text in enumerate(row)] for row in table]


_LEAST_NAME = 24
"""Letters of a name that tell it from others, where it lost its middle."""


def _width(table: Sequence[Sequence[str]], names: Sequence[str], longest: int | None) -> int:
    """Of the lines of a table whose names have at most so many letters."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    taken = (
        min(own, longest) if longest is not None and title in names else own
        for title, own in zip(table[0], widths, strict=True)
    )
    return sum(taken) + _GAP * (len(widths) - 1)


def code(text: str) -> str:
    """Text in a line of Markdown that is shown as it is."""
    text = visible(text).replace("\n", " ")
    fence = _fence(text, 1)
    room = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{room}{text}{room}{fence}"


def code_block(lines: Sequence[str]) -> str:
    """Lines of Markdown that are shown as they are."""
    text = visible("\n".join(lines))
    fence = _fence(text, 3)
    return f"{fence}\n{text}\n{fence}"


def _fence(text: str, least: int) -> str:
    return "`" * max(least, 1 + max(map(len, re.findall("`+", text)), default=0))


def direct(stream: TextIO) -> TextIO:
    """The stream itself, where it is one on which everything is ``visible``."""
    return getattr(stream, "direct", stream)


def ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers, runs of them as their ends: ``0-3,7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ",".join("-".join(map(str, run)) for run in runs)


def counted(count: int, noun: str) -> str:
    """A number with its noun: ``1 core``, ``1,024 cores``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
