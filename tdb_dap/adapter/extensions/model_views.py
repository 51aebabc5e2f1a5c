"""Requests beyond the protocol for an editor's own views of the model: graph, memory, results.

They are described in docs/requests.md. All of them look at the program as it is compiled, and ``tdb/memoryMap`` and
``tdb/results`` at the present moment, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from msgspec import to_builtins
from msgspec.structs import replace

from tdb_dap.adapter.console.checking import compared_rows
from tdb_dap.adapter.protocol.model import ProtocolModel, plain
from tdb_dap.adapter.requests.sources import mlir_path, mlir_place
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.references import every_region, memory_reference
from tdb_dap.adapter.session.verdicts import require_verdicts
from tdb_dap.errors import BadExpression, BadInput
from tdb_dap.tools.report_schema import json_form

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.responses import (
        Explanation,
        Graph,
        Memory,
        MemoryMap,
        OpDetails,
        OpTensor,
        Region,
        Results,
    )
    from tdb_dap.adapter.protocol.time_responses import MlirPart, Moment
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.source.mapped_tensor import MappedTensor
    from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
    from tdb_dap.engine.source.op_records import OpRecord
    from tdb_dap.tools.check.schema import Row


_LONGEST_ATTRIBUTE = 400
"""Letters of an attribute in an answer."""


class GraphArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/graph`."""

    color: Literal["dtype", "time"] = "dtype"
    weights: bool = False


class MemoryMapArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/memoryMap`. ``ordinal``: of which moment; default: the present one."""

    ordinal: int | None = None


class ExplainArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/explain`: a command by ordinal, or an op by its line of final.mlir."""

    ordinal: int | None = None
    line: int | None = None


class OpArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/op`. ``line``: of final.mlir, as in the other answers."""

    line: int


class MomentArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/moment`. ``line``: of final.mlir, whose place is asked for; by default the first line."""

    line: int = 1


@request("tdb/moment", while_running="answer")
def moment(session: Session, arguments: MomentArguments) -> Moment:
    """The current ordinal, and the place of a line of final.mlir, which a file for each net may make."""
    debugger = session.debugger
    source, line = mlir_place(session, max(1, arguments.line))
    body: Moment = {
        "ordinal": debugger.ordinal,
        "commands": len(debugger.program.commands),
        "lines": _lines_now(session),
        "files": _files(debugger.program.source.mlir),
    }
    if source is not None:
        body["source"] = plain(source)
        body["line"] = line
    return body


def _files(mlir: MlirFile | None) -> list[MlirPart]:
    if mlir is None or len(mlir.files) == 1:
        return []
    return [{"name": mlir.name_of(file), "before": file.before} for file in mlir.files]


@request("tdb/graph", while_running="answer")
def graph(session: Session, arguments: GraphArguments) -> Graph:
    """Nodes and edges of final.mlir, with the line of the op that the stop is about."""
    from tdb_dap.engine.source.op_graph import OpGraph
    from tdb_dap.tools.graph import colours
    from tdb_dap.tools.graph.page import edges, nodes

    program = session.debugger.program
    op_graph = OpGraph.of(_mlir(session), arguments.weights)
    colouring = colours.by_time(program, op_graph) if arguments.color == "time" else colours.by_dtype
    return {
        "nodes": nodes(op_graph, colouring),
        "edges": edges(op_graph),
        "currentLines": _lines_now(session),
    }


def _lines_now(session: Session) -> list[int]:
    """Lines of final.mlir of the ops that the stop is about: the editor shows the same."""
    program, focus = session.debugger.program, session.debugger.last_stop.focus
    return list(program.commands[focus].mlir_lines) if focus < len(program.commands) else []


def _mlir(session: Session) -> MlirFile:
    mlir = session.debugger.program.source.mlir
    if mlir is None:
        raise BadInput("this model has no final.mlir, and without it no graph")
    return mlir


@request("tdb/op", while_running="answer")
def op(session: Session, arguments: OpArguments) -> OpDetails:
    """An op of final.mlir: its attributes, and of its first instance the tensors with their addresses."""
    from tdb_dap.engine.source.value_flow import Definition, ValueFlow

    mlir, source = _mlir(session), session.debugger.program.source
    mlir_op = mlir.op_at(arguments.line)
    if mlir_op is None:
        raise BadExpression(f"line {arguments.line} of final.mlir has no op; send the line of a node of tdb/graph")
    records = [record for record in source.records_at(mlir_op.line) if record.ordinals]
    record = min(records, key=lambda one: one.first, default=None)
    flow = ValueFlow(mlir)
    writers = [
        next((leaf.op.line for leaf in flow.leaves(value, mlir_op.region) if isinstance(leaf, Definition)), 0)
        for value in mlir_op.operands
    ]
    return {
        "line": mlir_op.line,
        "opcode": mlir_op.name,
        "name": mlir_op.location,
        "types": mlir_op.types,
        "attributes": [(name, _short(value)) for name, value in mlir_op.attributes.items()],
        "tensors": _tensors(mlir_op, record, writers) if record is not None else [],
        "instances": len(records),
        "commands": sum(len(record.ordinals) for record in records),
        "first": record.first if record is not None else None,
    }


def _tensors(op: MlirOp, record: OpRecord, writers: list[int]) -> list[OpTensor]:
    """The tensors of an instance. ``writers``: line of the op that computes each operand of the text."""
    exact = len(writers) == len(record.operands)
    operands = [
        _op_tensor("operand", value, f"in[{i}]@op{record.first}", writers[i] if exact else 0)
        for i, value in enumerate(record.operands)
    ]
    results = [
        _op_tensor("result", value, f"out[{i}]@op{record.first}", op.line) for i, value in enumerate(record.results)
    ]
    return operands + results


def _op_tensor(role: Literal["operand", "result"], value: MappedTensor, expression: str, line: int) -> OpTensor:
    return {
        "role": role,
        "name": value.name,
        "type": value.memory_type.strip("<>") or value.type_text,
        "layout": value.layout,
        "address": value.view.name if value.view is not None else "",
        "expression": expression,
        "line": line,
    }


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= _LONGEST_ATTRIBUTE else f"{text[:_LONGEST_ATTRIBUTE]} ..."


@request("tdb/memoryMap", while_running="answer")
def memory_map(session: Session, arguments: MemoryMapArguments) -> MemoryMap:
    """Tensors in each memory with their addresses and lifetimes."""
    from tdb_dap.engine.program.occupancy import use_at
    from tdb_dap.tools.profile.report import timelines

    program = session.debugger.program
    ordinal = program.require_ordinal(session.debugger.ordinal if arguments.ordinal is None else arguments.ordinal)
    geometry = program.target.geometry
    memories: list[Memory] = []
    for title, (size, timeline) in timelines(program).items():
        alive = timeline.at(ordinal)
        use = use_at(alive, size)
        first = timeline.residents[0]
        memories.append(
            {
                "title": title,
                "space": first.space.value,
                "core": first.core,
                "size": size,
                "used": use.used,
                "fragmentation": use.fragmentation,
                "residents": [{**to_builtins(resident), "alive": resident in alive} for resident in timeline.residents],
            }
        )
    regions: list[Region] = [
        {
            "title": title,
            "space": space.value,
            "core": core,
            "start": region.start,
            "stop": region.stop,
            "reference": memory_reference(space, core, region.start),
        }
        for title, space, core, region in every_region(session.debugger.machine.memory)
        if region.data.size
    ]
    return {
        "ordinal": ordinal,
        "commands": len(program.commands),
        "lanes": geometry.lanes,
        "laneBytes": geometry.lane_bytes,
        "bankBytes": geometry.bank_bytes,
        "memories": memories,
        "regions": regions,
    }


@request("tdb/explain", while_running="answer")
def explain(session: Session, arguments: ExplainArguments) -> Explanation:
    """The text of ``tdb-dap explain``, by default about the command that runs next."""
    from tdb_dap.tools.explain.command import explain_command
    from tdb_dap.tools.explain.op import explain_op

    program = session.debugger.program
    if arguments.line is not None:
        return {"lines": list(explain_op(program, arguments.line))}
    ordinal = session.debugger.ordinal if arguments.ordinal is None else arguments.ordinal
    if not 0 <= ordinal < len(program.commands):
        raise BadExpression(f"there is no command {ordinal}; there are 0 to {len(program.commands) - 1:,}")
    return {"lines": list(explain_command(program, ordinal))}


@request("tdb/results")
def results(session: Session) -> Results:
    """Every tensor that has been compared up to now, in the order of execution, and the first that differs.

    ``path`` is null where the model's final.mlir is no file on disk.
    """
    from tdb_dap.tools.check.causes.blame import first_culprit

    withheld = session.debugger.withheld
    if not withheld:
        require_verdicts(session)
    rows = compared_rows(session) if not withheld else []
    culprit = first_culprit(rows)
    return {
        "rows": [_plain(row) for row in rows],
        "first": _plain(culprit) if culprit else None,
        "path": mlir_path(session),
        "withheld": withheld,
    }


def _plain(row: Row) -> dict[str, Any]:
    """A row as JSON; as in the report of a check, numbers that are not finite are the texts NaN and Infinity."""
    return json_form(replace(row, picture=None))
