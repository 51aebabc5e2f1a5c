"""What stands above an op: how many commands it has and how long they take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.program import Program


def lenses(program: Program) -> Iterator[tuple[int, str]]:
    """Line, from 0, and text, for each line of final.mlir that has commands."""
    times: dict[int, float] = {}
    total = 0.0
    try:
        from tdb_dap.profile.profiling import Profile

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
            yield line - 1, f"{count:,} command{'s' if count != 1 else ''}{share}"
