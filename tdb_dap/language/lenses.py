"""Lenses above an op: its layer, whether its result is right, how many commands it has, and how long they take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tdb_dap.engine.rendering.printable import counted, elided
from tdb_dap.engine.source.op_records import name_of
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.language.verdicts import Verdict

_LETTERS = 48
"""Of a layer's name."""

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
    names: dict[int, str] = {}
    for record in program.source.records:
        counts[record.line] = counts.get(record.line, 0) + len(record.ordinals)
        names.setdefault(record.line, elided(name_of(record), _LETTERS))
    for line, count in sorted(counts.items()):
        if count:
            spent = times.get(line)
            share = f" · {spent:,.0f} cycles, {spent / total:.1%}" if spent and total else ""
            verdict = judged.get(line)
            name = names[line]
            title = f"{_MARKS[verdict.verdict]}{verdict.text or f'{name} {verdict.title}'}" if verdict else name
            yield line - 1, f"{title}{' · ' if title else ''}{counted(count, 'command')}{share}"
