"""Console verbs that compare with the reference: all that has been executed so far, op by op."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.console.verbs import verb
from tdb_dap.adapter.session.verdicts import require_verdicts
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.machine.edits import Edit
    from tdb_dap.tools.check.schema import Row

_MARKS = {"pass": "√", "fail": "x", "unknown": "?", "excepted": "-"}


@verb(
    "check",
    usage="[summary | failed | table | data LINE]",
    help="compare every op so far with the reference: verdicts by line, failed ops, all numbers, one op",
    takes="one of summary failed table data",
)
def _check(session: Session, rest: str, frame: Frame | None) -> str:
    """The way up to this moment is replayed, so that what local memory held then can be compared."""
    from tdb_dap.tools.check.text import table

    require_verdicts(session)
    what, _, more = (rest or "summary").partition(" ")
    if what not in ("summary", "failed", "table", "data") or (what == "data" and not more.strip().isdigit()):
        raise BadExpression("write check summary, check failed, check table, or check data LINE (of final.mlir)")
    rows = compared_rows(session)
    if what == "summary":
        return _summary(rows)
    if what == "failed":
        failed = [row for row in rows if row.verdict == "fail"]
        return "\n".join(table(failed)) if failed else "nothing differs"
    if what == "table":
        return "\n".join(table(rows))
    return _one_op([row for row in rows if row.line == int(more)], int(more))


class Compared:
    """The rows of the latest moment that was compared: what is asked about it or an earlier moment is not run again."""

    def __init__(self) -> None:
        self._debugger: Debugger | None = None
        self._edits: tuple[Edit, ...] = ()
        self._until = -1
        self._rows: list[Row] = []

    def until(self, debugger: Debugger) -> list[Row] | None:
        """Rows up to the present moment; None if it is later, or of another run, than what has been compared."""
        if debugger is not self._debugger or debugger.ordinal > self._until:
            return None
        edits = debugger.machine.edits
        if [*map(id, edits)] != [*map(id, self._edits)]:
            return None
        if debugger.ordinal == self._until:
            return self._rows
        now = debugger.ordinal
        return [row for row in self._rows if (row.first if row.role == "operand" else row.last) < now]

    def keep(self, debugger: Debugger, rows: list[Row]) -> None:
        """Keep the rows up to the present moment."""
        self._debugger, self._edits, self._until, self._rows = debugger, debugger.machine.edits, debugger.ordinal, rows


def compared_rows(session: Session) -> list[Row]:
    """Every operand and result up to now, compared with the reference."""
    from tdb_dap.tools.check.runner import compared_so_far

    debugger, compared = session.debugger, session.feature(Compared)
    rows = compared.until(debugger)
    if rows is None:
        rows = compared_so_far(debugger)
        session.check_withdrawn()
        compared.keep(debugger, rows)
    return rows


def _summary(rows: list[Row]) -> str:
    """``(22:√√|x)``: line, marks of operands, marks of results."""
    lines: dict[int, tuple[list[str], list[str]]] = {}
    for row in rows:
        lines.setdefault(row.line, ([], []))[row.role != "operand"].append(_MARKS[row.verdict])
    marks = [f"({line}:{''.join(operands)}|{''.join(results)})" for line, (operands, results) in lines.items()]
    count = {verdict: sum(row.verdict == verdict for row in rows) for verdict in _MARKS}
    counts = f"{count['pass']} equal (√), {count['fail']} differ (x), {count['unknown']} not compared (?)"
    wrapped = [" ".join(marks[i : i + 8]) for i in range(0, len(marks), 8)]
    return "\n".join([*wrapped, f"{len(rows)} tensors so far: {counts}"])


def _one_op(rows: list[Row], line: int) -> str:
    from tdb_dap.tools.check.text import story, table

    if not rows:
        raise BadExpression(f"line {line} has not been compared; check summary lists the lines that have")
    lines = [text for row in rows if row.verdict == "fail" for text in story(row)]
    return "\n".join([*table(rows), *lines])
