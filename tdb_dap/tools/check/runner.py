"""Running a comparison: cut into segments, given to whoever runs them, put together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tdb_dap.engine.compare.judging import Judge
from tdb_dap.engine.compare.segments import segments
from tdb_dap.engine.compare.walk import Mode, Walk
from tdb_dap.tools.check.results import Walked, merged
from tdb_dap.tools.check.rows import Shown, row_of
from tdb_dap.tools.check.schema import Row
from tdb_dap.tools.check.worker import Segment, Worker

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.tools.check.journal import Journal
    from tdb_dap.tools.check.team import Progress, Team

_PIECES_EACH = 8
"""Segments for each of several that run at a time: they are not equally long."""

_PIECES_KEPT = 64
"""Segments of a check that can be interrupted; the number does not depend on who runs them."""


def walk(
    worker: Worker,
    mode: Mode,
    team: Team,
    progress: Progress,
    journal: Journal | None = None,
    spans: Sequence[Segment] | None = None,
) -> Walked:
    """Run the whole program of ``worker``, a debugger at the start, and compare; what ``journal`` knows is not run.

    ``spans``: of a standalone run only what these ranges of ordinals need.
    """
    program = worker.debugger.program
    each = 1 if team.size == 1 else _PIECES_EACH * team.size
    wanted = _PIECES_KEPT if journal else each if spans is None else max(_PIECES_KEPT, each)
    reference = worker.debugger.reference if mode == "standalone" else None
    todo = segments(program, reference, wanted)
    if spans is not None:
        todo = [(start, stop) for start, stop in todo if any(first < stop and start < last for first, last in spans)]
    done = journal.known() if journal else {}
    if journal and mode == "cascade":
        reached = journal.restore_memories(worker.debugger)
        done = {segment: walked for segment, walked in done.items() if segment[1] <= reached}
        todo = [segment for segment in todo if segment[0] >= reached]
    walked: dict[Segment, Walked] = dict(done)
    before = sum(stop - start for start, stop in done)
    left = [segment for segment in todo if segment not in done]
    for segment, part in team.run(left, worker, lambda count: progress(before + count)):
        walked[segment] = part
        if journal:
            journal.add(segment, part)
            if mode == "cascade":
                journal.copy_memories(worker.debugger)
        if part.stopped and mode == "cascade":
            break
    return merged(walked[segment] for segment in sorted(walked))


def compared_so_far(debugger: Debugger) -> list[Row]:
    """Every operand and result up to now, without pictures; the way up to here is replayed."""
    rows: list[Row] = []
    judge, shown = Judge(debugger.reference), Shown(pictures=False)
    debugger.replay(
        Walk("cascade", lambda gathered: rows.append(row_of(judge(gathered), shown)), (0, debugger.ordinal))
    )
    return rows
