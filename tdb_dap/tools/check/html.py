"""The report as one HTML page: the verdict, error over depth, tensors that differ, tables and the source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tdb_dap.tools.check.schema import ORIGINS, Report, Row
from tdb_dap.tools.check.text import LAYER_COLUMNS, headline, layer_cells, no_verdict, reason_text, story
from tdb_dap.tools.pages.writing import measured, page
from tdb_dap.tools.profile import text as profiles
from tdb_dap.tools.sanitize import text as sanitizers

if TYPE_CHECKING:
    from tdb_dap.tools.check.schema import Picture
    from tdb_dap.tools.pages.data import (
        CheckPage,
        ComparedTensors,
        ErrorPicture,
        Measured,
        MlirText,
        ProfileSection,
        TextTable,
    )
    from tdb_dap.tools.profile.schema import ProfileReport

_METRICS = ("cosine", "euclidean", "sqnr", "max_abs", "max_rel", "max_ulp", "bad_share", "nan_count")
_LEVELS = "0123456789abcdefghijklmnopqrstuvwxyz"
_MOST_DESCRIBED = 200
"""Tensors that are described in full; the table has all of them."""

_LONGEST_SOURCE = 1 << 21
_LONGEST_LINE = 400
"""Characters of a line of a source that is too long to be shown whole."""


def html(report: Report, source: str) -> str:
    """The page. ``source``: text of final.mlir, empty if there is none."""
    ranked = sorted((row for row in report.failures if row.role != "operand" or row.blame), key=_rank)
    failed = report.failures or report.stopped
    is_drift = report.is_accumulated or (not failed and no_verdict(report) != "")
    about = (
        f"{report.chip}, net {report.net}, {report.commands:,} commands, {report.mode}, {report.seconds:.1f} s, "
        f"{report.tool}. Reference: {', '.join(report.references)}"
    )
    data: CheckPage = {
        "kind": "check",
        "title": f"Check of {report.model}",
        "outcome": "drift" if is_drift else "fail" if failed else "pass",
        "headline": headline(report),
        "about": about,
        "differing": [
            {
                "text": "\n".join(story(row)),
                "line": row.line,
                "isCulprit": row == report.culprit,
                "picture": _picture(row.picture) if row.picture is not None else None,
            }
            for row in ranked[:_MOST_DESCRIBED]
        ],
        "more": max(len(ranked) - _MOST_DESCRIBED, 0),
        "tensors": _tensors(report),
        "sanitizers": "\n".join(sanitizers.lines(report.sanitized)) if report.sanitized is not None else "",
        "layers": _table(LAYER_COLUMNS, map(layer_cells, report.layers), lines=4, kind=5) if report.layers else None,
        "profile": _profile(report.profiled) if report.profiled is not None else None,
        "source": _source(source, {row.line for row in ranked}) if source else None,
    }
    return page(data["title"], data, data["headline"])


def _rank(row: Row) -> tuple[bool, int]:
    return row.blame is None or row.blame.kind not in ORIGINS, row.last


def _tensors(report: Report) -> ComparedTensors:
    rows = report.rows
    texts: dict[str, int] = {}

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    return {
        "line": [row.line for row in rows],
        "opcode": [text(row.opcode) for row in rows],
        "name": [text(row.name) for row in rows],
        "role": [text(row.role) for row in rows],
        "index": [row.index for row in rows],
        "verdict": [text(row.verdict) for row in rows],
        "blame": [text(reason_text(row)) for row in rows],
        "metrics": {name: [_metric(row, name) for row in rows] for name in _METRICS},  # type: ignore[typeddict-item]
        "faults": [i for i, row in enumerate(rows) if row.blame is not None and row.blame.kind in ORIGINS],
        "culprit": next((i for i, row in enumerate(rows) if row == report.culprit), None),
        "texts": list(texts),
    }


def _metric(row: Row, name: str) -> Measured:
    return measured(getattr(row.numbers, name)) if row.numbers is not None else None


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]], lines: int, kind: int) -> TextTable:
    return {"columns": list(columns), "lines": lines, "kind": kind, "rows": [list(row) for row in rows]}


def _profile(report: ProfileReport) -> ProfileSection:
    return {
        "above": "\n".join(profiles.heading(report)),
        "table": _table(profiles.columns(report), profiles.rows(report, report.ops), lines=0, kind=1),
        "below": "\n".join(profiles.closing(report)),
    }


def _picture(picture: Picture) -> ErrorPicture:
    return {"heat": error_letters(picture.heat), "histogram": list(picture.histogram)}


def error_letters(heat: Iterable[Iterable[float | str]]) -> list[str]:
    """Relative errors as rows of letters, the ``heat`` of a page's ``ErrorPicture``."""
    return ["".join(_letter(float(error)) for error in line) for line in heat]


def _letter(error: float) -> str:
    if not math.isfinite(error):
        return "!"
    if error <= 0:
        return "."
    return _LEVELS[min(max(round(4 * (math.log10(error) + 8)), 0), len(_LEVELS) - 1)]


def _source(source: str, wrong: set[int]) -> MlirText:
    lines = source.split("\n")
    longest = 0
    if len(source) > _LONGEST_SOURCE:
        longest = min(_LONGEST_LINE, _LONGEST_SOURCE // len(lines))
        lines = [line if len(line) <= longest else f"{line[:longest]} ..." for line in lines]
    return {"text": "\n".join(lines), "wrong": sorted(wrong), "longest": longest}
