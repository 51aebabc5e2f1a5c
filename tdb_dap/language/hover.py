"""Hover texts of values, ops, locations and addresses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tdb_dap.engine.rendering.printable import code, counted
from tdb_dap.language.lenses import cost_of
from tdb_dap.language.tokens import Token, token_at

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.mapped_tensor import MappedTensor
    from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
    from tdb_dap.language.models import Model

_INSTANCES = 4


def hover(mlir: MlirFile, model: Callable[[], Model], line: int, column: int) -> tuple[str, Token] | None:
    """Markdown for a position in the text (lines and columns from 0) and the token that it is about.

    ``model``: finds the model that the text belongs to; called only where something is to be said.
    """
    if not 0 <= line < len(mlir.lines):
        return None
    token = token_at(mlir.lines[line], column)
    if token is None:
        return None
    lines = list(_about(mlir, model(), token, line + 1))
    return ("\n\n".join(lines), token) if lines else None


def _about(mlir: MlirFile, model: Model, token: Token, line: int) -> Iterator[str]:
    if token.kind == "value":
        producer = mlir.op_defining(token.text, line)
        if producer is not None:
            yield from _result(model, producer, token.text)
    elif token.kind == "op":
        op = mlir.op_at(line)
        if op is not None:
            yield from _op(model, op)
    elif token.kind in ("location", "alias"):
        names = (token.text,) if token.kind == "location" else mlir.resolve(token.text)
        yield "location " + (", ".join(code(name) for name in names) or "unknown")
        if model.program is not None:
            for name in names:
                yield from _named(model.program, name)
    elif token.kind == "address" and model.program is not None:
        yield from _address(model.program, int(token.text))


def _result(model: Model, producer: MlirOp, value: str) -> Iterator[str]:
    yield f"{code(value)} = **{producer.name}** {code(producer.location)}, line {producer.line}"
    index = producer.result_index(value)
    types = result_types(producer)
    if index < len(types):
        yield code(types[index])
    if model.program is not None:
        names = producer.locations[index : index + 1] or producer.locations[:1]
        for name in names:
            yield from _named(model.program, name, producer.line)


def result_types(op: MlirOp) -> list[str]:
    """The types after the arrow, one each."""
    text = op.types.rpartition("->")[2].strip().strip("()")
    return _split(text)


def operand_types(op: MlirOp) -> list[str]:
    """The types before the arrow, one each."""
    text = op.types.rpartition("->")[0].strip()
    return _split(text[1:-1] if text.startswith("(") else text)


def _split(text: str) -> list[str]:
    """Parts between commas that are in no bracket."""
    parts, depth, start = [], 0, 0
    for index, character in enumerate(text):
        depth += character in "<([{"
        depth -= character in ">)]}" and text[index - 1 : index] != "-"
        if character == "," and depth == 0:
            parts.append(text[start:index].strip())
            start = index + 1
    return [part for part in (*parts, text[start:].strip()) if part]


def _op(model: Model, op: MlirOp) -> Iterator[str]:
    yield f"**{op.name}** {code(op.location)}"
    program = model.program
    if program is None:
        if model.reason:
            yield code(model.reason)
        return
    records = [record for record in program.source.records_at(op.line) if record.ordinals]
    if not records:
        yield "no commands"
    if cost := cost_of(program, op.line):
        yield cost
    for record in records[:_INSTANCES]:
        core = f", core {record.core}" if program.core_count > 1 else ""
        part = f" for {record.slice_text}" if record.slice_text else ""
        first, last = program.commands[record.first], program.commands[record.last]
        commands = counted(len(record.ordinals), "command")
        yield f"{commands}{part}{core}: {first.token} to {last.token} ({record.first:,} on)"
    if len(records) > _INSTANCES:
        yield f"and {len(records) - _INSTANCES:,} instances more"
    layer = program.compile_stages.layer_of(op)
    if layer is not None:
        nodes = f"; ONNX {', '.join(map(code, layer.nodes))}" if layer.nodes else ""
        yield f"layer {code(layer.name)}, {layer.opcode}{nodes}"


def _named(program: Program, name: str, line: int | None = None) -> Iterator[str]:
    """Address and layout of a tensor, by the first record of an op's line that writes or reads it, else of any."""
    for record in (*(program.source.records_at(line) if line is not None else ()), *program.source.records):
        for values in (record.results, record.operands):
            mapped: MappedTensor | None = next((value for value in values if value.name == name), None)
            if mapped is not None:
                place = f"at `{mapped.view.name}`, " if mapped.view is not None else ""
                part = f", slice {code(mapped.slice_text)}" if mapped.slices is not None else ""
                yield f"{code(mapped.memory_type)} {place}{code(mapped.layout)}{part}"
                return


def _address(program: Program, address: int) -> Iterator[str]:
    geometry, stage = program.target.geometry, program.stage
    space, offset = geometry.locate(address)
    yield f"`{geometry.name(space, offset)}` in {space.title}"
    for title, start, size in (
        ("weights", stage.weights_address, stage.weights.size),
        ("activations", stage.activations_address, stage.activations_size),
        ("inputs and outputs", stage.io_address, stage.io_size),
    ):
        if start <= address < start + size:
            yield f"byte {address - start:,} of the {title}"
