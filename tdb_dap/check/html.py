"""The report as one HTML page that needs nothing else: ranked list, maps and histograms of the error, the source."""

from __future__ import annotations

import math
from html import escape

from tdb_dap.check.schema import ORIGINS, Picture, Report, Row
from tdb_dap.check.text import COLUMNS, LAYER_COLUMNS, cells, headline, layer_cells, story

_STYLE = """
body { font: 14px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 1200px; padding: 1.5em; color: #1a1a1a; }
h1 { font-size: 1.4em; } h2 { font-size: 1.1em; margin-top: 2em; }
.head { padding: .7em 1em; border-radius: 6px; font-weight: 600; }
.head.pass { background: #e2f4e5; } .head.fail { background: #fbe3e1; }
table { border-collapse: collapse; width: 100%; font-size: 12.5px; }
th, td { text-align: left; padding: .25em .6em; border-bottom: 1px solid #e4e4e4; vertical-align: top;
  white-space: nowrap; }
td:nth-child(3), td:last-child { white-space: normal; overflow-wrap: anywhere; }
th { position: sticky; top: 0; background: #fff; }
td { font-variant-numeric: tabular-nums; }
tr.fail td:nth-child(4), .layers tr.fail td:nth-child(6) { color: #b3261e; font-weight: 600; }
.layers tr.fail td:nth-child(4) { color: inherit; font-weight: inherit; }
tr.unknown td, tr.excepted td { color: #777; }
article { border: 1px solid #e4e4e4; border-radius: 6px; padding: .8em 1em; margin: .8em 0; }
article.culprit { border: 2px solid #b3261e; }
article pre { margin: .2em 0 .8em; white-space: pre-wrap; }
figure { display: inline-block; margin: 0 2em .5em 0; vertical-align: top; }
figcaption { font-size: 12px; color: #555; }
.source { font: 12px/1.5 ui-monospace, monospace; overflow-x: auto; background: #fafafa; padding: .5em; }
.source div { white-space: pre; } .source b { color: #999; font-weight: 400; display: inline-block; width: 4em; }
.source div:target { background: #fff3bf; } .source .fail { background: #fbe3e1; }
"""
_CELL = 9
_BINS = ("0", *(f"1e{power}" for power in range(-8, 1)), ">1")


def html(report: Report, source: str) -> str:
    """The page. ``source``: text of final.mlir, empty if there is none."""
    ranked = sorted((row for row in report.failures if row.role != "operand" or row.blame), key=_rank)
    title = f"Check of {report.model}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="head {"fail" if report.failures or report.stopped else "pass"}">{escape(headline(report))}</p>',
        f"<p>{escape(report.chip)}, net {escape(report.net)}, {report.commands:,} commands, {report.mode}, "
        f"{report.seconds:.1f} s, {escape(report.tool)}. Reference: {escape(', '.join(report.references))}</p>",
    ]
    if ranked:
        body.append("<h2>Results that differ, those at fault first</h2>")
        body += [_article(row, row == report.culprit) for row in ranked]
    if report.layers:
        body.append("<h2>By layer of the original model</h2>")
        body.append(_layers(report))
    body.append("<h2>All tensors, in the order of execution</h2>")
    body.append(_table(report))
    if source:
        body.append("<h2>final.mlir</h2>")
        body.append(_source(source, {row.line for row in ranked}))
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>{''.join(body)}</body></html>\n"
    )


def _rank(row: Row) -> tuple[bool, int]:
    return row.blame is None or row.blame.kind not in ORIGINS, row.last


def _article(row: Row, is_culprit: bool) -> str:
    text = "\n".join(story(row))
    link = f'<a href="#L{row.line}">final.mlir:{row.line}</a>' if row.line else ""
    pictures = _heat(row.picture) + _histogram(row.picture) if row.picture else ""
    return f'<article class="{"culprit" if is_culprit else ""}">{link}<pre>{escape(text)}</pre>{pictures}</article>'


def _colour(error: float) -> str:
    """White for no error over yellow to dark red for one as large as the numbers themselves; violet for NaN."""
    if not math.isfinite(error):
        return "#7b2cbf"
    if error <= 0:
        return "#ffffff"
    level = min(max((math.log10(error) + 6) / 6, 0.05), 1.0)
    return f"hsl({60 - 60 * level:.0f} 90% {92 - 52 * level:.0f}%)"


def _heat(picture: Picture) -> str:
    height, width = len(picture.heat), max(map(len, picture.heat), default=0)
    blocks = "".join(
        f'<rect x="{x * _CELL}" y="{y * _CELL}" width="{_CELL}" height="{_CELL}" fill="{_colour(error)}">'
        f"<title>{error:g}</title></rect>"
        for y, line in enumerate(picture.heat)
        for x, error in enumerate(line)
    )
    size = f'width="{width * _CELL}" height="{height * _CELL}"'
    return (
        f'<figure><svg {size} style="border:1px solid #ccc">{blocks}</svg>'
        "<figcaption>Largest relative error; down: channels, across: the rest</figcaption></figure>"
    )


def _histogram(picture: Picture) -> str:
    highest = max(picture.histogram) or 1
    bars = []
    for i, count in enumerate(picture.histogram):
        length = round(90 * count / highest) if count else 0
        length = max(length, 1) if count else 0
        x = 26 * i
        bars.append(
            f'<rect x="{x}" y="{100 - length}" width="22" height="{length}" fill="#4a6fa5"><title>{count:,}</title>'
            f'</rect><text x="{x + 11}" y="112" font-size="9" text-anchor="middle">{escape(_BINS[i])}</text>'
        )
    return (
        f'<figure><svg width="{26 * len(_BINS)}" height="116">{"".join(bars)}</svg>'
        "<figcaption>Elements by relative error (up to)</figcaption></figure>"
    )


def _table(report: Report) -> str:
    head = "".join(f"<th>{name}</th>" for name in COLUMNS)
    rows = []
    for row in report.rows:
        texts = [escape(text) for text in cells(row)]
        if row.line:
            texts[0] = f'<a href="#L{row.line}">{row.line}</a>'
        rows.append(f'<tr class="{row.verdict}">{"".join(f"<td>{text}</td>" for text in texts)}</tr>')
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _layers(report: Report) -> str:
    head = "".join(f"<th>{name}</th>" for name in LAYER_COLUMNS)
    rows = []
    for layer in report.layers:
        texts = [escape(text) for text in layer_cells(layer)]
        texts[4] = ", ".join(f'<a href="#L{line}">{line}</a>' for line in layer.lines)
        rows.append(f'<tr class="{layer.verdict}">{"".join(f"<td>{text}</td>" for text in texts)}</tr>')
    return f'<table class="layers"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _source(source: str, wrong: set[int]) -> str:
    lines = (
        f'<div id="L{number}"{" class=fail" if number in wrong else ""}><b>{number}</b>{escape(line)}</div>'
        for number, line in enumerate(source.split("\n"), 1)
    )
    return f'<div class="source">{"".join(lines)}</div>'
