"""Every writer of a tensor, for clients that show its history: ``tdb/tensorWriters`` of docs/requests.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.extensions.tensors import TensorArguments, value_of
from tdb_dap.adapter.session.handlers import request
from tdb_dap.engine.expressions.planes import Slice
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.source.op_records import name_of
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.tensor_responses import TensorWriter, TensorWriters
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.program.program import Program


class WritersArguments(TensorArguments, kw_only=True):
    """A tensor in memory. ``most``: writers in the answer; ``index``: of one element, else all."""

    most: int = 200
    index: list[int] | None = None


@request("tdb/tensorWriters")
def writers(session: Session, arguments: WritersArguments) -> TensorWriters:
    """The ops that write a byte of a tensor, or of one of its elements, in their order."""
    if not 1 <= arguments.most <= 4096:
        raise BadExpression("most must be from 1 to 4096")
    view = value_of(session, arguments).view
    if not isinstance(view, View):
        raise BadExpression(f"{arguments.expression} is computed, not in memory; name a tensor, an operand or a range")
    index = tuple(arguments.index or ())
    if index:
        Slice(None, None, index).check(view.shape)
    machine = session.debugger.machine
    rows: list[TensorWriter] = []
    owner: object = None
    for ordinal in machine.accesses.touching(ByteRanges.of(view, index), reads=False, writes=True, start=0):
        session.check_withdrawn()
        writer, record = _writer(session.debugger.program, ordinal)
        if rows and record is not None and record is owner:
            rows[-1]["last"] = ordinal
            rows[-1]["commands"] += 1
            continue
        if len(rows) == arguments.most:
            return {"writers": rows, "isComplete": False}
        owner = record
        rows.append(writer)
    return {"writers": rows, "isComplete": True}


def _writer(program: Program, ordinal: int) -> tuple[TensorWriter, object]:
    """A command that writes, and the op instance that it belongs to."""
    records = program.source.records_of(ordinal)
    record = records[0] if records else None
    writer: TensorWriter = {
        "first": ordinal,
        "last": ordinal,
        "commands": 1,
        "line": record.line if record is not None else 0,
        "opcode": record.opcode if record is not None else program.commands[ordinal].name,
        "name": name_of(record) if record is not None else "",
    }
    return writer, record
