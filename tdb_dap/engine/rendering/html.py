"""HTML for notebooks. Whatever comes from a model is text: it is escaped here and nowhere else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Style = Mapping[str, str]

_CELL: Style = {"padding": "2px 8px", "text-align": "left", "white-space": "pre", "font-family": "monospace"}


def element(tag: str, content: str | Iterable[str], style: Style | None = None) -> str:
    """``content``: one string is text and is escaped; several are elements that are HTML already."""
    from html import escape  # takes a millisecond, and only notebooks need it

    inner = escape(content) if isinstance(content, str) else "".join(content)
    css = "; ".join(f"{name}: {value}" for name, value in (style or {}).items())
    return f"<{tag}{f' style={chr(34)}{escape(css)}{chr(34)}' if css else ''}>{inner}</{tag}>"


def text_of(value: Any) -> str:
    """A number, name or tuple as it stands in a table; nothing for None."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.5g}" if math.isfinite(value) else str(value)
    if isinstance(value, tuple):
        return ", ".join(map(text_of, value))
    return str(value)


def table(heads: Sequence[str], rows: Iterable[Sequence[Any]], styles: Iterable[Style] = ()) -> str:
    """A table. ``styles``: of the rows, as far as they reach; numbers stand at the right."""
    given = iter(styles)
    body = [element("tr", [_cell(value) for value in row], next(given, {})) for row in rows]
    head = element("tr", [element("th", head, _CELL) for head in heads])
    return element("table", [element("thead", [head]), element("tbody", body)], {"border-collapse": "collapse"})


def _cell(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return element("td", text_of(value), {**_CELL, "text-align": "right"} if is_number else _CELL)


def fields(pairs: Mapping[str, Any]) -> str:
    """Names and what they stand for, one a line; what is empty is left out."""
    return table_without_head([(name, value) for name, value in pairs.items() if text_of(value)])


def table_without_head(rows: Iterable[tuple[str, Any]]) -> str:
    """Names at the left, values at the right of them."""
    name_style = {**_CELL, "font-weight": "bold"}
    body = [
        element("tr", [element("td", name, name_style), element("td", text_of(value), _CELL)]) for name, value in rows
    ]
    return element("table", [element("tbody", body)], {"border-collapse": "collapse"})


def block(*parts: str) -> str:
    """Elements below each other."""
    return element("div", parts)


def title(text: str) -> str:
    """A line above a table."""
    return element("p", [element("b", text)])
