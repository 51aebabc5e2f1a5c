"""Rows for notebooks: ``pandas.DataFrame(table)`` takes them as they are, and a notebook shows them as a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tdb_dap.engine.rendering import html

_SHOWN = 200
"""Rows that are shown; all of them are there."""


class Table(list[dict[str, Any]]):
    """A list of rows, each a dict with the same keys. ``heading``: shown above it."""

    def __init__(self, rows: Iterable[dict[str, Any]] = (), heading: str = "") -> None:
        super().__init__(rows)
        self.heading = heading

    @property
    def columns(self) -> tuple[str, ...]:
        """The keys of the rows."""
        return tuple(self[0]) if self else ()

    def column(self, name: str) -> list[Any]:
        """One value of each row; KeyError for a name that is not in ``columns``."""
        return [row[name] for row in self]

    def where(self, **wanted: Any) -> Table:
        """The rows that have these values."""
        rows = (row for row in self if all(row.get(name) == value for name, value in wanted.items()))
        return type(self)(rows)

    def style(self, row: dict[str, Any]) -> html.Style:
        """Style of a row."""
        return {}

    def __repr__(self) -> str:
        lines = [list(self.columns), *([html.text_of(value) for value in row.values()] for row in self[:_SHOWN])]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)] if self else []
        text = ["  ".join(map(str.ljust, line, widths)).rstrip() for line in lines] if self else ["(no rows)"]
        return "\n".join(filter(None, [self.heading, *text, self._rest()]))

    def _rest(self) -> str:
        return f"... and {len(self) - _SHOWN:,} more rows" if len(self) > _SHOWN else ""

    def _repr_html_(self) -> str:
        shown = self[:_SHOWN]
        body = html.table(self.columns, (tuple(row.values()) for row in shown), map(self.style, shown))
        parts = [html.title(self.heading)] if self.heading else []
        rest = [html.element("p", self._rest())] if self._rest() else []
        return html.block(*parts, body if self else html.element("p", "(no rows)"), *rest)
