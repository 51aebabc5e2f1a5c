"""Answers about the whole run for views: ``tdb/trace`` and ``tdb/tensorHistory`` of docs/requests.md."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from tdb_dap.adapter.extensions.tensors import TensorArguments, value_of
from tdb_dap.adapter.protocol.model import ProtocolModel
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.passing import passing
from tdb_dap.engine.control.logpoints import expressions_in
from tdb_dap.engine.expressions.assignment import Part
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.questions.trace_points import TracePoint, parse
from tdb_dap.engine.questions.tracing import trace
from tdb_dap.engine.questions.versions import history
from tdb_dap.engine.source.op_records import name_of
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.trace_responses import TensorHistory, TensorReader, TensorVersion, TraceBody, TraceRow
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.questions.tracing import Hit
    from tdb_dap.engine.questions.versions import Version

MOST_ROWS = 100_000
"""Rows of one answer."""

_READERS = 3
"""Readers of a version that are named."""


class TraceArguments(ProtocolModel, kw_only=True):
    """A trace point: ``expressions`` at a ``place`` of a breakpoint, every op without one, where ``condition`` holds.

    ``message``: that of a log point, whose expressions in braces are meant. ``text``: all of it in one line of the
    console, instead of these. ``most``: rows in the answer.
    """

    text: str | None = None
    expressions: list[str] | None = None
    message: str | None = None
    place: str = ""
    condition: str | None = None
    most: int = MOST_ROWS


class HistoryArguments(TensorArguments, kw_only=True):
    """A tensor in memory. ``most``: versions in the answer."""

    most: int = 200


@request("tdb/trace")
def traced(session: Session, arguments: TraceArguments) -> TraceBody:
    """A table of values over the whole run; the session stays where it stands."""
    if not 1 <= arguments.most <= MOST_ROWS:
        raise BadExpression(f"most must be from 1 to {MOST_ROWS:,}")
    point = _point(arguments)
    with passing(session, "Tracing") as progress:
        answer = trace(session.debugger.inspector, point, progress)
    return {
        "text": point.text,
        "expressions": list(point.expressions),
        "place": point.place,
        "condition": point.condition,
        "rows": [_row(hit) for hit in answer.hits[: arguments.most]],
        "hits": len(answer.hits),
        "places": answer.places,
        "remarks": answer.remarks,
    }


def _point(arguments: TraceArguments) -> TracePoint:
    if arguments.text is not None:
        return parse(arguments.text)
    expressions = [*(arguments.expressions or []), *expressions_in(arguments.message or "")]
    return TracePoint(tuple(dict.fromkeys(expressions)) or ("1",), arguments.place, arguments.condition or "")


def _row(hit: Hit) -> TraceRow:
    place = hit.place
    return {
        "moment": place.moment,
        "command": place.command,
        "line": place.line,
        "op": place.op,
        "name": place.name,
        "core": place.core,
        "slice": place.slice,
        "launch": place.launch,
        "token": place.token,
        "isAfter": place.moment > place.focus,
        "values": [_finite(one.as_float) for one in hit.cells],
        "texts": [one.text for one in hit.cells],
    }


@request("tdb/tensorHistory")
def tensor_history(session: Session, arguments: HistoryArguments) -> TensorHistory:
    """Every version of a tensor's memory, in order."""
    view = value_of(session, arguments).view
    if not isinstance(view, View):
        raise BadExpression(f"{arguments.expression} is computed, not in memory; name a tensor, an operand or a range")
    part = Part(re.sub(r"@\w+(?::\d+)?$", "", arguments.expression), view)
    with passing(session, "Looking for versions") as progress:
        answer = history(session.debugger.inspector, part, progress, arguments.most)
    return {
        "title": answer.title,
        "elements": answer.size,
        "versions": [_version(session.debugger.program, version) for version in answer.versions],
        "isComplete": not answer.is_cut,
        "remark": answer.stopped,
    }


def _version(program: Program, version: Version) -> TensorVersion:
    first, last = version.writers or (None, None)
    return {
        "moment": version.place.moment,
        "first": first,
        "last": last,
        "line": version.place.line,
        "opcode": version.place.op,
        "tensor": version.tenant,
        "covers": version.covers,
        "edit": version.edit,
        "numbers": version.statistics.text if version.statistics is not None else "empty",
        "changed": version.changed,
        "largest": version.largest,
        "readers": len(version.readers),
        "readBy": [_reader(program, ordinal) for ordinal in version.readers[:_READERS]],
        "thumbnail": [[_finite(number) for number in row] for row in version.thumbnail.tolist()],
    }


def _reader(program: Program, ordinal: int) -> TensorReader:
    record = next(iter(program.source.records_of(ordinal)), None)
    opcode = record.opcode if record is not None else program.commands[ordinal].name
    return {"ordinal": ordinal, "opcode": opcode, "name": name_of(record) if record is not None else ""}


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
