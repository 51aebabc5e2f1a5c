"""The outline of a file: functions, in them layer groups, in them ops; what can be folded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tdb_dap.engine.source.op_graph import tensor_type
from tdb_dap.language.hover import operand_types

if TYPE_CHECKING:
    from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp

_HIDDEN = ("top.None", "tpu.Yield", "return", "func.return")


class Entry(Struct):
    """``line``, ``end_line``: from 0."""

    name: str
    detail: str
    kind: str
    line: int
    end_line: int
    children: list[Entry] = field(default_factory=list)


def outline(mlir: MlirFile) -> list[Entry]:
    """Functions with what is in them."""
    functions = {
        function.name: Entry(f"@{function.name}", "", "function", function.line - 1, function.end_line - 1)
        for function in sorted(mlir.functions, key=lambda function: function.line)
    }
    groups: dict[int, Entry] = {}
    top: list[Entry] = list(functions.values())
    for op in mlir.ops.values():
        if op.name in _HIDDEN:
            continue
        entry = Entry(op.name, op.location, "group" if op.end_line > op.line else "op", op.line - 1, op.end_line - 1)
        if entry.kind == "group":
            groups[op.line] = entry
        parent = groups.get(op.group_line or 0) or functions.get(op.function)
        (parent.children if parent is not None else top).append(entry)
    return top


def folds(mlir: MlirFile) -> Iterator[tuple[int, int]]:
    """First and last line, from 0, of functions and groups."""
    for function in mlir.functions:
        yield function.line - 1, function.end_line - 1
    yield from ((op.line - 1, op.end_line - 1) for op in mlir.ops.values() if op.end_line > op.line)


def shapes(op: MlirOp) -> list[tuple[int, str]]:
    """Column after each operand, and its shape in short: ``1x3x32x32 f32``; none for operands without a tensor."""

    line = op.file.lines[op.line - 1]
    start = line.find("(", line.find(op.name))
    labels: list[tuple[int, str]] = []
    for value, text in zip(op.operands, operand_types(op), strict=False):
        column = line.find(value, start)
        if column < 0:
            break
        start = column + len(value)
        shape, dtype = tensor_type(text)
        if dtype and text.startswith(("tensor", "memref")):
            labels.append((start, f"{'x'.join(map(str, shape))} {dtype}"))
    return labels
