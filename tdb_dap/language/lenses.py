"""Lenses above the ops that are wrong, take long or are current; what is known of the others stands in their hover."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.rendering.printable import counted
from tdb_dap.engine.source.op_records import name_of
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.language.verdicts import Verdict

_LETTERS = 48
"""Of a layer's name."""

_MARKS = {"pass": "✓ ", "fail": "✗ "}

_HOTTEST = 10
"""Ops that are marked because of their time."""

_KNOWN_PROGRAMS = 4


class _Op(Struct, frozen=True):
    """A line of final.mlir that has commands. ``name``: of its layer; ``cost``: commands, and time if it is known."""

    name: str
    cost: str
    cycles: float


_HERE = "here"
"""Of the op at which a session stands."""


def lenses(program: Program, verdicts: Iterable[Verdict], current: int | None = None) -> Iterator[tuple[int, str]]:
    """Line, from 0, and text: of the ops whose result is wrong, of those that take longest, and of the current one."""
    judged = {verdict.line: verdict for verdict in verdicts if verdict.verdict in _MARKS}
    ops = _ops(program)
    hottest = sorted(ops, key=lambda line: -ops[line].cycles)[:_HOTTEST]
    wrong = (line for line in ops if line in judged and judged[line].verdict == "fail")
    here = [current] if current in ops else []
    for line in sorted({*wrong, *(line for line in hottest if ops[line].cycles), *here}):
        op, verdict = ops[line], judged.get(line)
        title = (verdict.text or f"{op.name} {verdict.title}") if verdict else op.name
        mark = _MARKS[verdict.verdict] if verdict else ""
        yield line - 1, " · ".join(filter(None, (f"{mark}{title}", _HERE if line == current else "", op.cost)))


def cost_of(program: Program, line: int) -> str:
    """Commands and time of the op in a line of final.mlir, from 1; empty if it has none."""
    op = _ops(program).get(line)
    return op.cost if op is not None else ""


@lru_cache(_KNOWN_PROGRAMS)
def _ops(program: Program) -> dict[int, _Op]:
    times, total = _times(program)
    counts: dict[int, int] = {}
    names: dict[int, str] = {}
    for record in program.source.records:
        counts[record.line] = counts.get(record.line, 0) + len(record.ordinals)
        names.setdefault(record.line, program.source.label_of(name_of(record), record.line, _LETTERS))
    ops = {}
    for line, count in sorted(counts.items()):
        if count:
            spent = times.get(line, 0.0)
            share = f" · {spent:,.0f} cycles, {spent / total:.1%}" if spent and total else ""
            ops[line] = _Op(names[line], f"{counted(count, 'command')}{share}", spent)
    return ops


def _times(program: Program) -> tuple[dict[int, float], float]:
    """Cycles by line of final.mlir, and of all commands; none where a command's time is not known."""
    from tdb_dap.tools.profile.profiling import Profile

    times: dict[int, float] = {}
    try:
        commands = Profile(program).commands
    except TdbError:
        return {}, 0.0
    for timed in commands:
        if timed.record is not None:
            times[timed.record.line] = times.get(timed.record.line, 0.0) + timed.cycles
    return times, sum(timed.cycles for timed in commands)
