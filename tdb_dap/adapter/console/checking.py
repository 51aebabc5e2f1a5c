"""Console verbs that compare with the reference: all that has been executed so far, op by op."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.console.verbs import verb
from tdb_dap.adapter.session.verdicts import require_verdicts
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.tools.check.schema import Row

_MARKS = {"pass": "√", "fail": "x", "unknown": "?", "excepted": "-"}


@verb(
    "check",
    usage="[summary | failed | table | data LINE]",
    help="compare every op so far with the reference: marks by line, the ops that differ, all numbers, one op",
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


def compared_rows(session: Session) -> list[Row]:
    """Every operand and result up to now, compared with the reference."""
    from tdb_dap.tools.check.runner import compared_so_far

    rows = compared_so_far(session.debugger)
    session.check_withdrawn()
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
