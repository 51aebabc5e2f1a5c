"""The results of fuzzing: which operations were tried, and how many cases are exact.

``results.json`` keeps those of each chip; the site shows them on the page of the chip's instruction set.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scripts.robustness.fuzz_simulator.contents import KINDS

RESULTS = Path(__file__).parent / "results.json"

OPEN = ("inexact", "refused", "failed")
"""Verdicts of cases that are wrong or missing."""

Row = Mapping[str, Counter[str]]
"""Kind of data -> verdict -> how often."""

Results = dict[str, Any]
"""Of one chip: ``cases``, ``seed``, ``operations``: name -> row of ``operation``."""


def cell(counts: Counter[str]) -> str:
    """``40`` where all are exact; else exact of run, and how many only up to NaNs."""
    return _cell(*_tallied(counts))


def is_open(row: Row) -> bool:
    """Whether anything in a row is wrong or missing."""
    return any(counts[verdict] for counts in row.values() for verdict in OPEN)


def operation(row: Row, is_emitted: bool) -> dict[str, Any]:
    """A row as it is kept: per kind of data [exact, executed, exact but for NaNs], and totals of the other verdicts."""
    total: Counter[str] = sum(row.values(), Counter())
    kept: dict[str, Any] = {kind: _tallied(row.get(kind, Counter())) for kind in KINDS}
    kept |= {verdict: total[verdict] for verdict in ("undefined", *OPEN) if total[verdict]}
    return kept if is_emitted else {**kept, "not in the models": True}


def table(results: Results) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Head and rows of a table of one chip."""
    rows = []
    for name, row in results["operations"].items():
        remarks = [f"{row[verdict]} {verdict}" for verdict in OPEN if verdict in row]
        remarks += ["not in the models"] if "not in the models" in row else []
        cells = [_cell(*row[kind]) for kind in KINDS]
        rows.append((name, *cells, str(row.get("undefined", "")), ", ".join(remarks)))
    return ("operation", *KINDS, "undefined", "remark"), rows


def refused(results: Results) -> int:
    """Number of cases that the built-in simulator refused."""
    return sum(row.get("refused", 0) for row in results["operations"].values())


def read() -> dict[str, Results]:
    """Chip -> its results."""
    kept: dict[str, Results] = json.loads(RESULTS.read_text("utf-8"))
    return kept


def write(chip: str, cases: int, seed: int, operations: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep the results of a chip in place of those before, an operation in each line."""
    kept = {**(read() if RESULTS.exists() else {}), chip: {"cases": cases, "seed": seed, "operations": operations}}
    texts = []
    for name, results in kept.items():
        lines = [f"   {json.dumps(each)}: {json.dumps(row)}" for each, row in sorted(results["operations"].items())]
        head = f' "{name}": {{"cases": {results["cases"]}, "seed": {results["seed"]}, "operations": {{'
        texts.append("\n".join([head, ",\n".join(lines), "  }}"]))
    RESULTS.write_text("{\n" + ",\n".join(texts) + "\n}\n", "utf-8")


def _tallied(counts: Counter[str]) -> tuple[int, int, int]:
    """Exact cases, executed ones, and those that are exact but for NaNs."""
    executed = sum(counts[verdict] for verdict in ("exact", "nan", *OPEN))
    return counts["exact"], executed, counts["nan"]


def _cell(exact: int, executed: int, but_for_nans: int) -> str:
    if not executed:
        return ""
    if exact == executed:
        return str(executed)
    return f"{exact} of {executed}" + (f", {but_for_nans} but for NaNs" if but_for_nans else "")
