"""Our texts in the language of the person, by their English text: of one catalogue for adapter and language server.

It is read when the first text is translated, so that sessions in English start without it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from msgspec import Struct, json

from tdb_dap.engine.rendering.printable import columns_of

_SIMPLIFIED = ("zh", "zh-cn", "zh-hans", "zh-sg")
_SHOWN = ("label", "description", "conditionDescription")
"""What a client shows of a capability."""

_HOLE = re.compile(r"\{(\d*)[^{}]*\}")
_VALUE = "((?:(?!: |, ).)+?)"
"""Of a hole in the middle: it ends where a sentence goes on."""
_HOLES = {"{*}": "(.+?)", "{#}": r"([\d,]+)"}
"""Holes whose value may go on over commas and colons, and those of a number; all others are ``_VALUE``."""
_LED = re.compile("[a-z]+ [a-z]+: ")
_WORD = re.compile("[a-z]{2}")
_KNOWN = 4096
_DEEPEST = 6
"""Texts within texts: an error names what another one says."""

_CELLS = re.compile(r"(\S+(?: \S+)*)(\s*)")
"""Of a line of a table: a text, and the room after it. Two spaces part columns."""

CATALOGUE = Path(__file__).with_name("zh-cn.json")
"""``columns``: titles of columns; a line of nothing but these is the head of a table. ``texts``: by topic.

A text has holes ``{}`` where its values are; a number in a hole of the translation says which value it takes.
``{*}``: a value that may have commas and colons; ``{#}``: a number.
"""


@cache
def _read() -> Mapping[str, Any]:
    read: Mapping[str, Any] = json.decode(CATALOGUE.read_bytes())
    return read


@cache
def catalogue() -> Mapping[str, str]:
    """English text -> Chinese text."""
    return {english: chinese for topic in _read()["texts"].values() for english, chinese in topic.items()}


def is_translated(locale: str) -> bool:
    """Whether there are texts for a locale such as ``zh-cn``."""
    return locale.lower().replace("_", "-") in _SIMPLIFIED


def localised(text: str, locale: str) -> str:
    """A text in the language of a locale, finished or with its holes; in English what is not known of either.

    A finished text is recognised by what is between its values, wherever it was made; so are the parts of a list, and
    the titles of a table.
    """
    if not is_translated(locale):
        return text
    if text in catalogue() or not _WORD.search(text):
        return catalogue().get(text, text)
    return "\n".join(map(_line, text.split("\n")))


def _line(text: str) -> str:
    body = text.strip()
    made = _translated(body, 0)
    if made == body and "  " in body:
        made = _row(body)
    return text.replace(body, made, 1) if made != body else text


def _row(body: str) -> str:
    """A line of a table: the titles of its columns, or those cells that are sentences."""
    cells = _CELLS.findall(body)
    columns = _read()["columns"]
    is_head = len(cells) > _LEAST_COLUMNS and all(text in columns for text, _ in cells[:_LEAST_COLUMNS])
    return "".join(
        _padded(columns.get(text, text) if is_head else _translated(text, 0), len(text), room) for text, room in cells
    )


_LEAST_COLUMNS = 2
"""Titles that tell the head of a table from a row: what people call their expressions may follow."""


def _padded(made: str, width: int, room: str) -> str:
    """A cell and the room after it, as wide as before: what is Chinese takes two columns a letter."""
    return made + (" " * max(1, width + len(room) - columns_of(made)) if room else "")


def localised_capabilities(capabilities: Any, locale: str) -> Any:
    """Capabilities with the texts that a client shows in its language."""
    if isinstance(capabilities, dict):
        return {
            name: localised(item, locale)
            if name in _SHOWN and isinstance(item, str)
            else localised_capabilities(item, locale)
            for name, item in capabilities.items()
        }
    if isinstance(capabilities, list):
        return [localised_capabilities(item, locale) for item in capabilities]
    return capabilities


@lru_cache(_KNOWN)
def _translated(text: str, depth: int) -> str:
    if text in catalogue() or depth > _DEEPEST:
        return catalogue().get(text, text)
    words = text[:1].lower() + text[1:-1] if text.endswith(".") else ""
    if (led := _matched((text, words), depth, is_led=True)) is not None:
        return led
    for separator, mark in (("; ", "；"), (", ", "，")):
        parts = text.split(separator)
        made = [_translated(part, depth + 1) for part in parts] if len(parts) > 1 else []
        if made and all(one != part for one, part in zip(made, parts, strict=True)):
            return mark.join(made)
    if (made_whole := _matched((text, words), depth)) is not None:
        return made_whole
    if words and (sentence := _translated(words, depth + 1)) != words:
        return f"{sentence}。"
    for separator, mark in ((" · ", " · "), ("; ", "；"), (": ", "：")):
        parts = text.split(separator, 1)
        if len(parts) > 1 and (made := [_translated(part, depth + 1) for part in parts]) != parts:
            return mark.join(made)
    return text


def _matched(texts: tuple[str, str], depth: int, is_led: bool = False) -> str | None:
    """A text, or as a sentence, by the pattern with most letters that fits; ``is_led``: of those with a heading."""
    for known in _patterns():
        if is_led and not known.is_led:
            continue
        for text, end in zip(texts, ("", "。"), strict=True):
            if known.words in text and (match := known.pattern.fullmatch(text)):
                return _filled(known.chinese, [_translated(value, depth + 1) for value in match.groups()]) + end
    return None


class _Pattern(Struct, frozen=True):
    """A text with holes. ``words``: the longest of what is between them, which costs less to look for.

    ``is_led``: it begins with words and a colon, so that a list may follow, which is not to be taken apart from them.
    """

    words: str
    pattern: re.Pattern[str]
    chinese: str
    is_led: bool


@cache
def _patterns() -> list[_Pattern]:
    """Of the texts with holes, those with most letters of their own first."""
    texts = [text for text in catalogue() if _HOLE.search(text)]
    texts.sort(key=lambda text: len(_HOLE.sub("", text)), reverse=True)
    return [
        _Pattern(max(_pieces(text), key=len), _pattern(text), catalogue()[text], bool(_LED.match(text)))
        for text in texts
    ]


def _pieces(text: str) -> list[str]:
    return _HOLE.sub("\0", text).split("\0")


def _pattern(text: str) -> re.Pattern[str]:
    first, *pieces = map(re.escape, _pieces(text))
    holes = [hole[0] for hole in _HOLE.finditer(text)]
    made = first
    for number, (hole, piece) in enumerate(zip(holes, pieces, strict=True), 1):
        # The last value goes on to the end of the text, and may be a sentence itself.
        value = _HOLES.get(hole, _VALUE)
        made += ("(.+)" if number == len(holes) and not piece and hole != "{#}" else value) + piece
    return re.compile(made)


def _filled(chinese: str, values: list[str]) -> str:
    rest = iter(values)
    return _HOLE.sub(lambda hole: values[int(hole[1])] if hole[1] else next(rest), chinese)
