"""The report as one HTML page that needs nothing else: the verdict, error over depth, ranked list, tables, the source.

Numbers and names of tables and pictures stand in the page once, as data; its script shows them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from html import escape

from tdb_dap.tools.check.depth import depth_plot
from tdb_dap.tools.check.page import LEVELS, STYLE, embedded, script
from tdb_dap.tools.check.schema import ORIGINS, Picture, Report, Row
from tdb_dap.tools.check.text import COLUMNS, LAYER_COLUMNS, cells, headline, layer_cells, story
from tdb_dap.tools.profile import text as profiles
from tdb_dap.tools.sanitize import text as sanitizers

_BINS = ("0", *(f"1e{power}" for power in range(-8, 1)), ">1")
_NUMBER = re.compile(r"[-+.\deE%]+")
_SHORT = 4
_MOST_ARTICLES = 200
"""Results that are described in full; the table has all of them."""

_LONGEST_SOURCE = 1 << 21
_LONGEST_LINE = 400
"""Characters of a line of a source that is too long to be shown whole."""


def html(report: Report, source: str) -> str:
    """The page. ``source``: text of final.mlir, empty if there is none."""
    ranked = sorted((row for row in report.failures if row.role != "operand" or row.blame), key=_rank)
    title = f"Check of {report.model}"
    kind = "drift" if report.is_accumulated else "fail" if report.failures or report.stopped else "pass"
    body = [
        f'<p class="head {kind}">{escape(headline(report))}</p>',
        depth_plot(report.rows, report.culprit),
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(report.chip)}, net {escape(report.net)}, {report.commands:,} commands, {report.mode}, "
        f"{report.seconds:.1f} s, {escape(report.tool)}. Reference: {escape(', '.join(report.references))}</p>",
    ]
    pictures: list[object] = []
    if ranked:
        body.append("<h2>Results that differ, those at fault first</h2>")
        body += [_article(row, row == report.culprit, pictures) for row in ranked[:_MOST_ARTICLES]]
        if len(ranked) > _MOST_ARTICLES:
            body.append(f"<p>{len(ranked) - _MOST_ARTICLES:,} more: in the table of all tensors.</p>")
    if report.sanitized is not None:
        body.append(f"<h2>Sanitizers</h2><pre>{escape(chr(10).join(sanitizers.lines(report.sanitized)))}</pre>")
    texts = _Texts()
    tables: dict[str, object] = {}
    if report.layers:
        body.append('<h2>By layer of the original model</h2><div id="layers"></div>')
        rows = (layer_cells(layer) for layer in report.layers)
        tables["layers"] = _table(LAYER_COLUMNS, rows, texts, links=4, wide=2, verdict=5)
    if report.profiled is not None:
        above, below = (
            f"<pre>{escape(chr(10).join(lines))}</pre>"
            for lines in (profiles.heading(report.profiled), profiles.closing(report.profiled))
        )
        body.append(f'<h2>Where the time goes</h2>{above}<div id="times"></div>{below}')
        rows = (profiles.cells(op) for op in report.profiled.ops)
        tables["times"] = _table(profiles.columns(report.profiled), rows, texts, links=0, wide=2, verdict=1)
    body.append('<h2>All tensors, in the order of execution</h2><div id="tensors"></div>')
    tables["tensors"] = _table(COLUMNS, map(cells, report.rows), texts, links=0, wide=2, verdict=3)
    if source:
        body.append("<h2>final.mlir</h2>")
        body.append(_source(source, {row.line for row in ranked}))
    data = {"tables": tables, "texts": texts.all, "pictures": pictures, "bins": _BINS}
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{STYLE}</style></head><body>{''.join(body)}{embedded(data)}{script()}</body></html>\n"
    )


class _Texts:
    """Every long text once: names come back at each op that reads them."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def all(self) -> list[str]:
        return list(self._places)

    def cell(self, text: str) -> object:
        """A short text or a number as it is, another one as ``[place]``."""
        if len(text) <= _SHORT or _NUMBER.fullmatch(text):
            return text
        return [self._places.setdefault(text, len(self._places))]


def _table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], texts: _Texts, links: int, wide: int, verdict: int
) -> object:
    """``links``: column with lines of final.mlir; ``wide``: with long names; ``verdict``: that of the verdict."""
    return {
        "columns": columns,
        "links": links,
        "wide": wide,
        "verdict": verdict,
        "rows": [_trimmed([texts.cell(text) for text in row]) for row in rows],
    }


def _trimmed(row: list[object]) -> list[object]:
    """Without empty cells at the end."""
    while row and row[-1] == "":
        row.pop()
    return row


def _rank(row: Row) -> tuple[bool, int]:
    return row.blame is None or row.blame.kind not in ORIGINS, row.last


def _article(row: Row, is_culprit: bool, pictures: list[object]) -> str:
    text = "\n".join(story(row))
    link = f'<a href="#L{row.line}">final.mlir:{row.line}</a>' if row.line else ""
    shown = ""
    if row.picture is not None:
        shown = f' data-picture="{len(pictures)}"'
        pictures.append(_picture(row.picture))
    return f'<article class="{"culprit" if is_culprit else ""}"{shown}>{link}<pre>{escape(text)}</pre></article>'


def _picture(picture: Picture) -> object:
    """A letter for each block of the map, and the counts of the histogram."""
    return ["".join(map(_letter, line)) for line in picture.heat], picture.histogram


def _letter(error: float) -> str:
    """``.``: none; ``!``: no number; else one of ``LEVELS``."""
    if not math.isfinite(error):
        return "!"
    if error <= 0:
        return "."
    return LEVELS[min(max(round(4 * (math.log10(error) + 8)), 0), len(LEVELS) - 1)]


def _plain(text: str) -> str:
    """Text of an element; double quotes, which MLIR is full of, need no escape there."""
    return escape(text, quote=False).replace("'", "&#x27;")


def _source(source: str, wrong: set[int]) -> str:
    lines = source.split("\n")
    cut = ""
    if len(source) > _LONGEST_SOURCE:
        longest = min(_LONGEST_LINE, _LONGEST_SOURCE // len(lines))
        lines = [line if len(line) <= longest else f"{line[:longest]} ..." for line in lines]
        cut = f"<p>Lines are cut after {longest} characters.</p>"
    texts = (
        f'<div id="L{number}"{" class=fail" if number in wrong else ""}>{_plain(line)}</div>'
        for number, line in enumerate(lines, 1)
    )
    return f'{cut}<div class="source">{"".join(texts)}</div>'
