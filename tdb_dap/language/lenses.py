"""Lenses above an op: how many commands it has, how long they take, and whether its result is right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.language.verdicts import Verdict

_MARKS = {"pass": "✓ ", "fail": "✗ "}


def lenses(program: Program, verdicts: Iterable[Verdict]) -> Iterator[tuple[int, str]]:
    """Line, from 0, and text, for each line of final.mlir that has commands."""
    judged = {verdict.line: verdict for verdict in verdicts if verdict.verdict in _MARKS}
    times: dict[int, float] = {}
    total = 0.0
    try:
        from tdb_dap.tools.profile.profiling import Profile

        profile = Profile(program)
        for timed in profile.commands:
            if timed.record is not None:
                times[timed.record.line] = times.get(timed.record.line, 0.0) + timed.cycles
            total += timed.cycles
    except TdbError:
        times = {}
    counts: dict[int, int] = {}
    for record in program.source.records:
        counts[record.line] = counts.get(record.line, 0) + len(record.ordinals)
    for line, count in sorted(counts.items()):
        if count:
            spent = times.get(line)
            share = f" · {spent:,.0f} cycles, {spent / total:.1%}" if spent and total else ""
            verdict = judged.get(line)
            title = f"{_MARKS[verdict.verdict]}{verdict.text or verdict.title} · " if verdict is not None else ""
            yield line - 1, f"{title}{count:,} command{'s' if count != 1 else ''}{share}"
