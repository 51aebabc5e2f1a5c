"""The table of docs/fidelity.md: which operations were tried, and how many cases are exact."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from scripts.robustness.fuzz_simulator.contents import KINDS

Row = Mapping[str, Counter[str]]
"""Kind of data -> verdict -> how often."""

_RUN = ("exact", "nan", "inexact", "refused", "failed")


def cell(counts: Counter[str]) -> str:
    """``40`` where all are exact; else exact of run, and how many only up to NaNs."""
    run = sum(counts[verdict] for verdict in _RUN)
    if not run:
        return ""
    exact, nan = counts["exact"], counts["nan"]
    if exact == run:
        return str(run)
    return f"{exact} of {run}" + (f", {nan} but for NaNs" if nan else "")


def is_open(row: Row) -> bool:
    """Whether anything in a row is wrong or missing."""
    return any(counts[verdict] for counts in row.values() for verdict in ("inexact", "refused", "failed"))


def table(rows: Mapping[str, Row], emitted: set[str]) -> list[str]:
    """Markdown of one chip. ``emitted``: the operations that occur in the models that the seeds come from."""
    lines = [f"| operation | {' | '.join(KINDS)} | undefined | remark |", "|---" * (len(KINDS) + 3) + "|"]
    for name in sorted(rows):
        row = rows[name]
        undefined = sum(counts["undefined"] for counts in row.values())
        total: Counter[str] = sum(row.values(), Counter())
        remarks = [f"{total[v]} {v}" for v in ("inexact", "refused", "failed") if total[v]]
        remarks += [] if name in emitted else ["not in the models"]
        cells = [cell(row.get(kind, Counter())) for kind in KINDS]
        lines.append(f"| {name} | {' | '.join(cells)} | {undefined or ''} | {', '.join(remarks)} |")
    return lines
