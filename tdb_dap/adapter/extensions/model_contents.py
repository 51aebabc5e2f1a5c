"""``tdb/model``: everything a model or a recording consists of, for an editor's tables (docs/requests.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.model import ProtocolModel
from tdb_dap.adapter.session.handlers import request
from tdb_dap.engine.source.op_graph import tensor_type

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from tdb_dap.adapter.protocol.model_responses import (
        BorderTensor,
        ModelContents,
        ModelLaunch,
        ModelNet,
        ModelOp,
        ModelRecording,
        ModelStage,
        ModelSubnet,
        ModelWeight,
    )
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.bmodel import Stage
    from tdb_dap.engine.bmodel.metadata import TensorInfo
    from tdb_dap.engine.program.program import Launch, Program
    from tdb_dap.engine.program.recorded_program import RecordedProgram


class ModelArguments(ProtocolModel, kw_only=True):
    """Arguments of `tdb/model`: none."""


@request("tdb/model", while_running="answer")
def model(session: Session, arguments: ModelArguments) -> ModelContents:
    """All nets and stages of the file; of the one that is loaded also subnets, ops, weights and launches."""
    program = session.debugger.program
    recorded = _recorded(program)
    return {
        "file": session.traits.path_out(program.context.bmodel),
        "size": _size(recorded.recording.path) if recorded else program.bmodel.file_size,
        "chip": program.chip,
        "cores": program.core_count,
        "compiler": program.compiler,
        "net": program.net.name,
        "stage": program.stage_index,
        "hasSource": program.source.mlir is not None,
        "commands": len(program.commands),
        "nets": [_net(program, net.name, net.stages) for net in program.nets],
        "subnets": _subnets(program),
        "ops": _ops(program),
        "weights": _weights(program),
        "launches": _launches(program),
        "recording": _recording(recorded) if recorded else None,
    }


def _recorded(program: Program) -> RecordedProgram | None:
    """The program if its file is a recording, and not a model whose dynamic subnets were recorded for the session."""
    from tdb_dap.engine.program.recorded_program import RecordedProgram

    if isinstance(program, RecordedProgram) and program.context.bmodel == program.recording.path:
        return program
    return None


def _size(path: Path) -> int:
    """Bytes of a file; 0 if it is gone since it was read."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _recording(program: RecordedProgram) -> ModelRecording:
    """A recording as its reader tells it: of strangers only the form that the recorder writes is taken."""
    recording = program.recording
    arguments, time, code = recording.head.get("arguments"), recording.head.get("time"), recording.done.get("exit")
    return {
        "arguments": [str(argument) for argument in arguments] if isinstance(arguments, list) else [],
        "time": time if isinstance(time, str) else "",
        "exit": code if isinstance(code, int) else None,
        "remark": recording.remark,
        "models": [model.path for model in program.models.models],
    }


def entry_of(program: Program, launch: Launch) -> int:
    """The first command of a launch's net, after what the host does; that of the host where there is no other."""
    own = program.first_own(launch)
    return own if own < launch.stop else launch.start


def _launches(program: Program) -> list[ModelLaunch]:
    return [
        {
            "number": launch.number,
            "net": launch.net,
            "shapes": launch.shapes,
            "first": launch.start,
            "entry": entry_of(program, launch),
            "listingLine": program.listing.line_of(launch.start),
            "commands": launch.stop - launch.start,
            "token": launch.token,
        }
        for launch in program.launches
    ]


def _net(program: Program, name: str, stages: Iterable[Stage]) -> ModelNet:
    return {"name": name, "stages": [_stage(program, stage) for stage in stages]}


def _stage(program: Program, stage: Stage) -> ModelStage:
    return {
        "inputs": [_tensor(program, tensor) for tensor in stage.inputs],
        "outputs": [_tensor(program, tensor) for tensor in stage.outputs],
        "cores": stage.core_count,
        "subnets": len(stage.subnets),
        "commandBytes": sum(
            span.size for subnet in stage.subnets for core in subnet.groups for group in core for span in group.spans
        ),
        "weightBytes": stage.weights.size,
        "activationBytes": stage.activations_size,
        "ioBytes": stage.io_size,
    }


def _tensor(program: Program, tensor: TensorInfo) -> BorderTensor:
    geometry = program.target.geometry
    return {
        "name": tensor.name,
        "dtype": tensor.dtype.name,
        "shape": list(tensor.shape),
        "address": geometry.name(*geometry.locate(tensor.address)),
        "size": tensor.size,
        "scale": tensor.scale,
        "zeroPoint": tensor.zero_point,
    }


def _subnets(program: Program) -> list[ModelSubnet]:
    rows: list[ModelSubnet] = []
    for subnet in program.subnets:
        counts = program.commands.count_engines(subnet.start, subnet.stop)
        function = program.source.mlir.function_named(subnet.function) if program.source.mlir else None
        rows.append(
            {
                "id": subnet.id,
                "kind": subnet.run_mode,
                "function": subnet.function,
                "line": function.line if function else 0,
                "first": subnet.start,
                "listingLine": program.listing.line_of(subnet.start),
                "commands": subnet.stop - subnet.start,
                "engines": sorted(counts.items()),
                "inputs": [tensor.name for tensor in subnet.inputs],
                "outputs": [tensor.name for tensor in subnet.outputs],
            }
        )
    return rows


def _ops(program: Program) -> list[ModelOp]:
    ops: list[ModelOp] = []
    for op in program.ops:
        row = op.row
        shape, dtype = tensor_type(row["type"])
        ops.append(
            {
                "line": op.line,
                "opcode": op.opcode,
                "name": op.name,
                "dtype": dtype,
                "shape": list(shape),
                "subnet": row["subnet"],
                "first": op.first,
                "listingLine": program.listing.line_of(op.first),
                "commands": row["commands"],
            }
        )
    return ops


def _weights(program: Program) -> list[ModelWeight]:
    mlir = program.source.mlir
    lines = {
        name: op.line
        for op in (mlir.ops.values() if mlir is not None else ())
        if op.name == "top.Weight"
        for name in op.locations
    }
    weights: list[ModelWeight] = []
    for name, named in program.source.weights.items():
        view = named.view
        assert view is not None  # `weights` holds those that are in DDR
        weights.append(
            {
                "name": name,
                "dtype": view.dtype.name,
                "shape": list(view.shape),
                "address": view.name,
                "size": view.nbytes,
                "line": lines.get(name, 0),
            }
        )
    return weights
