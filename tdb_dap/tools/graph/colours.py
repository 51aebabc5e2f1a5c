"""Colours of a graph."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.op_graph import OpGraph, OpNode


class Colouring(Struct, frozen=True):
    """Colours of nodes. ``paint``: fill colour of a node, and a line that says why (empty: nothing to say)."""

    kind: Literal["dtype", "time", "verdict"]
    paint: Callable[[OpNode], tuple[str, str]]

    def __call__(self, node: OpNode) -> tuple[str, str]:
        """Colour of a node, and why."""
        return self.paint(node)


_DTYPES = {
    "f32": "#f4d3a1",
    "f16": "#bfe0f5",
    "bf16": "#cdd9f7",
    "i8": "#c9ecc3",
    "u8": "#dcefb9",
    "i16": "#f5c9d6",
    "i32": "#e0cff2",
}
_PLAIN = "#eeeeee"
_VERDICTS = {"pass": "#c9ecc3", "fail": "#f28b82", "unknown": "#eeeeee", "excepted": "#d0d0d0"}
_WORST = ("fail", "pass", "excepted", "unknown")


def _dtype(node: OpNode) -> tuple[str, str]:
    return _DTYPES.get(node.dtype, _PLAIN), node.dtype


by_dtype = Colouring("dtype", _dtype)
"""One colour per number format of the result."""


def by_verdict(path: Path) -> Colouring:
    """Green where a check has passed, red where it has failed. ``path``: the JSON report of ``tdb-dap check``."""
    try:
        report = json.loads(read_file(path, limits.REPORT))
        rows = [(int(row["line"]), str(row["verdict"]), _text_of(row.get("blame"))) for row in report["rows"]]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
        raise BadInput(f"{path}: not a report of tdb-dap check --report FILE.json: {error}") from None
    verdicts: dict[int, set[str]] = {}
    blames: dict[int, str] = {}
    for line, verdict, blame in rows:
        verdicts.setdefault(line, set()).add(verdict)
        if blame:
            blames.setdefault(line, blame)

    def colour(node: OpNode) -> tuple[str, str]:
        worst = next((verdict for verdict in _WORST if verdict in verdicts.get(node.line, ())), "unknown")
        return _VERDICTS[worst], blames.get(node.line, worst if node.line in verdicts else "")

    return Colouring("verdict", colour)


def _text_of(blame: Any) -> str:
    return str(blame.get("text", "")) if blame else ""


def by_time(program: Program, graph: OpGraph) -> Colouring:
    """The redder the longer: the share of an op in the cycles of all engines, against the largest."""
    from tdb_dap.tools.profile.profiling import Profile

    cycles: dict[int, float] = {}
    for timed in Profile(program).commands:
        if timed.record is not None:
            cycles[timed.record.line] = cycles.get(timed.record.line, 0.0) + timed.cycles
    largest = max((cycles.get(node.line, 0.0) for node in graph.nodes), default=0.0) or 1.0
    everything = sum(cycles.values()) or 1.0

    def colour(node: OpNode) -> tuple[str, str]:
        spent = cycles.get(node.line, 0.0) if node.opcode != "input" else 0.0
        heat = (spent / largest) ** 0.5
        other = round(255 - 150 * heat)
        return f"#ff{other:02x}{other:02x}", f"{spent:,.0f} cycles, {spent / everything:.1%}" if spent else ""

    return Colouring("time", colour)
