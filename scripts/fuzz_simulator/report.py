"""The table of what was tried, and its place in docs/fidelity.md."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from scripts.fuzz_simulator.contents import KINDS

BEGIN = "<!-- {}: written by `make fuzz-sim`; what stands between these marks is overwritten -->"
END = "<!-- {}: end of what `make fuzz-sim` writes -->"

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


def replace_part(path: Path, chip: str, lines: list[str]) -> None:
    """Put lines between the marks of a chip in a file."""
    begin, end = BEGIN.format(chip), END.format(chip)
    before, rest = path.read_text("utf-8").split(begin, 1)
    after = rest.split(end, 1)[1]
    path.write_text(before + "\n".join([begin, "", *lines, "", end]) + after, "utf-8")
