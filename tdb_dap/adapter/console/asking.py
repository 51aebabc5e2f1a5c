"""Console verbs about all moments of the run at once: the session stays where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.console.inspecting import indexed
from tdb_dap.adapter.console.verbs import execute, verb
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.session.passing import passing
from tdb_dap.engine.expressions.assignment import part_named
from tdb_dap.engine.questions.search import search
from tdb_dap.engine.questions.trace_points import USAGE, parse
from tdb_dap.engine.questions.tracing import trace
from tdb_dap.engine.questions.turning import turns
from tdb_dap.engine.questions.versions import history
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.handles import Frame
    from tdb_dap.adapter.session.session import Session


@verb(
    "trace",
    usage=USAGE,
    help="print values at every place of the run, past and future: trace max(out[0]) at tpu.Conv2D",
    takes="expression",
)
def _trace(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.tools.trace.text import trace_lines

    point = parse(rest)
    with passing(session, "Tracing") as progress:
        return "\n".join(trace_lines(trace(session.debugger.inspector, point, progress)))


@verb(
    "when",
    usage="CONDITION",
    help="find when a condition turns true over the whole run: first, last, and until when",
    takes="expression",
)
def _when(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.tools.trace.text import turns_lines

    if not rest:
        raise BadExpression("name a condition: when max(abs(out[0])) > 6e4")
    with passing(session, "Looking for when") as progress:
        return "\n".join(turns_lines(turns(session.debugger.inspector, rest, progress)))


@verb(
    "where",
    usage="[CONDITION]",
    help="list the tensors x of the whole run with a property: where max(abs(x)) > 6e4; alone: the call stack",
    takes="expression",
)
def _where(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.tools.trace.text import search_lines

    if not rest:  # as gdb has it
        return execute(session, "bt", frame)
    with passing(session, "Looking for tensors") as progress:
        return "\n".join(search_lines(search(session.debugger.inspector, rest, progress)))


@verb(
    "history",
    usage="PLACE",
    help="list all contents of a tensor, slice or address over the run, with writer and readers",
    takes="expression",
)
def _history(session: Session, rest: str, frame: Frame | None) -> str:
    from tdb_dap.tools.trace.text import history_lines

    if not rest:
        raise BadExpression("name a tensor, a slice or an address: history R0x1000:f32[16]")
    part = part_named(indexed(rest), names_at(session, frame))
    with passing(session, "Looking for versions") as progress:
        return "\n".join(history_lines(history(session.debugger.inspector, part, progress)))
