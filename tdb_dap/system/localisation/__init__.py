"""Our texts in the language of the person, by their English text: of one catalogue for adapter and language server."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from tdb_dap.system.localisation.zh import TEXTS as _SHOWN_TEXTS
from tdb_dap.system.localisation.zh_errors import TEXTS as _ERRORS
from tdb_dap.system.localisation.zh_findings import TEXTS as _FINDINGS

_SIMPLIFIED = ("zh", "zh-cn", "zh-hans", "zh-sg")
_SHOWN = ("label", "description", "conditionDescription")
"""What a client shows of a capability."""

_HOLE = re.compile(r"\{(\d*)[^{}]*\}")
_VALUE = "((?:(?!: |, ).)+?)"
"""Of a hole in the middle: it ends where a sentence goes on."""
_KNOWN = 4096
_DEEPEST = 3
"""Texts within texts: an error names what another one says."""

TEXTS = {**_SHOWN_TEXTS, **_ERRORS, **_FINDINGS}
"""A text has holes ``{}`` where its values are; a number in a hole of the translation says which value it takes."""


def is_translated(locale: str) -> bool:
    """Whether there are texts for a locale such as ``zh-cn``."""
    return locale.lower().replace("_", "-") in _SIMPLIFIED


def localised(text: str, locale: str) -> str:
    """A text in the language of a locale, finished or with its holes; in English what is not known of either.

    A finished text is recognised by what is between its values, wherever it was made; so are the parts of a list.
    """
    if not is_translated(locale):
        return text
    return "\n".join(_translated(line, 0) for line in text.split("\n"))


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
    if text in TEXTS or depth > _DEEPEST:
        return TEXTS.get(text, text)
    parts = text.split(", ")
    chinese_parts = [_translated(part, depth + 1) for part in parts] if len(parts) > 1 else []
    if chinese_parts and all(one != part for one, part in zip(chinese_parts, parts, strict=True)):
        return "，".join(chinese_parts)
    for pattern, chinese in _patterns():
        if match := pattern.fullmatch(text):
            values = [_translated(value, depth + 1) for value in match.groups()]
            return _filled(chinese, values)
    words = text[:1].lower() + text[1:-1]
    if text.endswith(".") and (sentence := _translated(words, depth + 1)) != words:
        return f"{sentence}。"
    parts = text.split(": ", 1)
    if len(parts) > 1 and (chinese_parts := [_translated(part, depth + 1) for part in parts]) != parts:
        return "：".join(chinese_parts)
    return text


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    """Of the texts with holes, those with most letters of their own first."""
    texts = [text for text in TEXTS if _HOLE.search(text)]
    texts.sort(key=lambda text: len(_HOLE.sub("", text)), reverse=True)
    return [(_pattern(text), TEXTS[text]) for text in texts]


def _pattern(text: str) -> re.Pattern[str]:
    *pieces, end = (re.escape(piece) for piece in _HOLE.sub("\0", text).split("\0"))
    # The last value goes on to the end of the text, and may be a sentence itself.
    return re.compile(f"{_VALUE.join(pieces)}{_VALUE if end else '(.+)'}{end}")


def _filled(chinese: str, values: list[str]) -> str:
    rest = iter(values)
    return _HOLE.sub(lambda hole: values[int(hole[1])] if hole[1] else next(rest), chinese)
