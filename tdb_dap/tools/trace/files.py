"""Traces as files: .csv, .parquet and .html."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.files.atomic_files import whole_path, write_text
from tdb_dap.engine.questions.tracing import PLACE_COLUMNS
from tdb_dap.engine.rendering import html
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.questions.tracing import Trace

FORMATS = (".csv", ".parquet", ".html")

_STYLE = """
:root { color-scheme: light dark; font: 14px system-ui, sans-serif }
body { margin: 1.5em }
th { position: sticky; top: 0; background: Canvas; text-align: left }
tr:nth-child(even) { background: color-mix(in srgb, CanvasText 5%, Canvas) }
"""


def write(trace: Trace, path: Path) -> None:
    """Write a trace in the format of the file's suffix, every hit a row."""
    if path.suffix == ".csv":
        write_text(path, csv_text(trace))
    elif path.suffix == ".html":
        write_text(path, html_text(trace))
    else:
        _write_parquet(trace, path)


def csv_text(trace: Trace) -> str:
    """Rows with commas; numbers read back as they are. Where there is no number, the text says why."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*PLACE_COLUMNS, *trace.point.expressions])
    for hit in trace.hits:
        places = ["" if column is None else _harmless(column) for column in hit.place.columns]
        writer.writerow([*places, *(_harmless(one.exact) for one in hit.cells)])
    return text.getvalue()


def _harmless(column: Any) -> Any:
    """A text that no spreadsheet takes for a formula."""
    if not isinstance(column, str) or not column.startswith(("=", "+", "-", "@", "\t", "\r")):
        return column
    try:
        float(column)
    except ValueError:
        return f"'{column}"
    return column


def html_text(trace: Trace) -> str:
    """A page with the table and its remarks."""
    rows = (
        [
            *("" if column is None else column for column in hit.place.columns),
            *(_shown(one.number, one.text) for one in hit.cells),
        ]
        for hit in trace.hits
    )
    heads = [*PLACE_COLUMNS, *trace.point.expressions]
    title = f"{trace.point.text}: {len(trace.hits):,} hits"
    body = [
        html.element("h1", title),
        *(html.element("p", remark) for remark in trace.remarks),
        html.table(heads, rows),
    ]
    head = [
        '<meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        html.element("title", title),
        f"<style>{_STYLE}</style>",
    ]
    page = html.element("html", [html.element("head", head), html.element("body", body)])
    return f"<!doctype html>\n{page}\n"


def _shown(number: bool | int | float | None, text: str) -> Any:
    return number if number is not None and math.isfinite(number) else text


def _write_parquet(trace: Trace, path: Path) -> None:
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise BadInput(f"{path}: writing Parquet needs pyarrow: pip install pyarrow") from None
    array = trace.array
    columns: dict[str, Iterable[Any]] = {name: array[name].tolist() for name in array.dtype.names or ()}
    with whole_path(path) as unfinished:
        parquet.write_table(arrow.table(columns), unfinished)
