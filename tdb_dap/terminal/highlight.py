"""Colours of listings, of final.mlir and of what verbs answer."""

from __future__ import annotations

from rich.highlighter import RegexHighlighter
from rich.style import Style
from rich.text import Text
from rich.theme import Theme

from tdb_dap.engine.rendering.printable import visible

_STYLES = {
    "token": "bold cyan",
    "mnemonic": "bold yellow",
    "place": "green",
    "type": "magenta",
    "wait": "blue",
    "location": "dim",
    "here": "bold yellow",
    "good": "green",
    "bad": "bold red",
}
THEME = Theme({f"tdb.{name}": Style.parse(style) for name, style in _STYLES.items()})
"""The styles that the highlighters use."""


class _Listing(RegexHighlighter):
    base_style = "tdb."
    highlights = (
        r"^(?P<here>=>)",
        r"\b(?P<token>[A-Z]\d+):",
        r" = (?P<mnemonic>[a-z]\w*\.[\w.]+)",
        r"(?P<place>%[A-Z][\w.+-]*)",
        r"(?P<type>\b(?:b?f\d+\w*|[su]?i\d+)\[[\d,]*\])",
        r"(?P<wait>\bwait .*$)",
    )


class _Mlir(RegexHighlighter):
    base_style = "tdb."
    highlights = (
        r"(?P<place>%[\w#]+)",
        r"(?P<mnemonic>\"\w+\.\w+\")",
        r"(?P<type>(?:tensor|memref)<[^>]*>)",
        r"(?P<location>\bloc\(.*?\))",
    )


class _Answer(RegexHighlighter):
    base_style = "tdb."
    highlights = (
        r"^(?P<here>=>)",
        r"(?P<good>\bpass\b|√)",
        r"(?P<bad>\bfail\b|\b(?:NaN|Inf) [1-9]\d*)",
        r"(?P<type>^\w+\[[\d,]*\])",
    )


def _with(highlighter: RegexHighlighter, text: str) -> Text:
    styled = Text(visible(text))
    highlighter.highlight(styled)
    return styled


def listing(text: str) -> Text:
    """Lines of the disassembly."""
    return _with(_Listing(), text)


def mlir(text: str) -> Text:
    """Lines of final.mlir."""
    return _with(_Mlir(), text)


def answer(text: str) -> Text:
    """Colour the answer of a verb: a listing where there is one, else values and verdicts."""
    if text.startswith(("=>", "   ")) and "  " in text:
        return listing(text)
    return _with(_Answer(), text)
