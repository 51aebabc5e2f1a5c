"""One op through all levels: the node of the original model, the MLIR of each stage, the commands."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.mlir_file import MlirOp
    from tdb_dap.engine.source.op_records import OpRecord

_COMMANDS = 40
_WIDTH = 400


def explain_op(program: Program, line: int) -> Iterator[str]:
    """The lines; ``line``: of final.mlir."""
    op = program.source.op_at(line)
    if op is not None:
        layer = program.compile_stages.layer_of(op)
        if layer is not None:
            for node in layer.nodes:
                yield f"node         {node}"
        for stage, earlier in reversed(list(program.compile_stages.places(op))):
            changed = ", changed since" if stage.is_changed else ""
            yield f"{stage.title + changed:12} {stage.path.name}:{earlier.line}"
            yield f"             {_text(earlier)}"
        file, number = op.file.place_of(op.line)
        yield f"{'final':12} {file.path.name}:{number}"
        yield f"             {_text(op)}"
    for record in (r for r in program.source.records_at(line) if r.ordinals):
        yield from _instance(program, record)


def _text(op: MlirOp) -> str:
    text = op.file.lines[op.line - 1].strip()
    return text if len(text) <= _WIDTH else f"{text[:_WIDTH]} ..."


def _instance(program: Program, record: OpRecord) -> Iterator[str]:
    core = f", core {record.core}" if program.core_count > 1 else ""
    part = f" of {record.slice_text}" if record.slice_text else ""
    yield f"commands     {len(record.ordinals):,}{part}{core}, {record.first:,} to {record.last:,}"
    for title, values in (("reads", record.operands), ("writes", record.results)):
        for value in values:
            place = f" at {value.view.name}" if value.view is not None else ""
            yield f"  {title:10} {value.name} {value.type_text}{place}, {value.layout}"
    for ordinal in record.ordinals[:_COMMANDS]:
        yield f"  {program.commands[ordinal].asm}"
    if len(record.ordinals) > _COMMANDS:
        yield f"  ... {len(record.ordinals) - _COMMANDS:,} more"
