"""Comparison of what has been executed so far with the reference."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.compare.judging import Judge
from tdb_dap.engine.compare.walk import Walk
from tdb_dap.tools.check.rows import Shown, row_of

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.tools.check.schema import Row


def compared_so_far(debugger: Debugger) -> list[Row]:
    """Every operand and result up to now, without pictures; the way up to here is replayed."""
    rows: list[Row] = []
    judge, shown = Judge(debugger.reference), Shown(pictures=False)
    debugger.replay(
        Walk("cascade", lambda gathered: rows.append(row_of(judge(gathered), shown)), (0, debugger.ordinal))
    )
    return rows
