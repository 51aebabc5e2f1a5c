"""The ops of final.mlir and what flows between them: nodes, edges, groups and subnets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdb_dap.engine.mlir import MlirFile, MlirOp

_REGION = "tpu.Group"
_YIELD = "tpu.Yield"
_RETURNS = ("return", "func.return")
_CALL = re.compile(r"\bcall @([\w.$-]+)\(")
_CONSTANTS = ("top.Weight", "top.None")
_TYPE = re.compile(r"(?:tensor|memref)<((?:\d+x)*)([^,<>]+(?:<[^<>]*>)?)[^>]*>")
_QUANTISED = re.compile(r"!quant\.\w+<(\w+)")


@dataclass(frozen=True)
class OpNode:
    """An op, or an argument of a subnet.

    ``id``: unique; ``line``: of final.mlir; ``shape``, ``dtype``: of its first result; ``subnet``: name of its
    function; ``group``: line of the layer group around it, None outside of groups.
    """

    id: str
    opcode: str
    name: str
    line: int
    shape: tuple[int, ...]
    dtype: str
    subnet: str
    group: int | None


@dataclass(frozen=True)
class OpEdge:
    """``tail`` computes what ``head`` reads; ``value``: its id in the text."""

    tail: str
    head: str
    value: str


@dataclass(frozen=True)
class OpGraph:
    """Nodes and edges in the order of the file."""

    nodes: tuple[OpNode, ...]
    edges: tuple[OpEdge, ...]

    @classmethod
    def of(cls, mlir: MlirFile, weights: bool = False) -> OpGraph:
        """The graph of all subnets. ``weights``: constants are nodes, too."""
        builder = _Builder(mlir, weights)
        nodes = tuple(builder.nodes())
        known = {node.id for node in nodes}
        edges = dict.fromkeys(edge for edge in builder.edges() if edge.tail in known and edge.head in known)
        return cls(nodes, tuple(edges))


class _Builder:
    def __init__(self, mlir: MlirFile, weights: bool) -> None:
        self._mlir = mlir
        self._weights = weights
        ops = mlir.ops.values()
        self._yields = {op.group_line: op for op in ops if op.name == _YIELD}
        self._calls = {match[1]: op for op in ops if (match := _CALL.search(op.text)) is not None}
        self._returns = {op.function: op for op in ops if op.name in _RETURNS}

    def _is_node(self, op: MlirOp) -> bool:
        if self._calls and op.function not in self._calls:
            return False  # the function that only calls the subnets
        if op.name in _CONSTANTS:
            return self._weights and op.name != "top.None"
        return "." in op.name and op.name not in (_REGION, _YIELD, *_RETURNS) and not op.name.startswith("func.")

    def nodes(self) -> Iterator[OpNode]:
        """Ops, and the arguments of subnets that no other subnet computes."""
        seen: set[str] = set()
        for op in filter(self._is_node, self._mlir.ops.values()):
            for value in op.operands:
                id = self._source(value, op) if value.startswith("%arg") else None
                if id == _argument_id(op.function, value) and id not in seen:
                    seen.add(id)
                    yield self._argument(op.function, value, op.line)
            shape, dtype = tensor_type(op.types.rsplit("->", 1)[-1])
            yield OpNode(f"L{op.line}", op.name, op.location, op.line, shape, dtype, op.function, op.group_line)

    def _argument(self, function: str, value: str, line: int) -> OpNode:
        found = self._mlir.function_named(function)
        line = found.line if found is not None else line
        text = self._mlir.lines[line - 1]
        start = text.find(f"{value}:")
        shape, dtype = tensor_type(text[start:]) if start >= 0 else ((), "")
        return OpNode(_argument_id(function, value), "input", value, line, shape, dtype, function, None)

    def edges(self) -> Iterator[OpEdge]:
        """Operands followed to the op that computes them, into and out of groups and subnets."""
        for op in filter(self._is_node, self._mlir.ops.values()):
            for value in op.operands:
                tail = self._source(value, op)
                if tail is not None:
                    yield OpEdge(tail, f"L{op.line}", value)

    def _source(self, value: str, reader: MlirOp) -> str | None:
        """The node that computes a value; None if it is not shown."""
        if value.startswith("%arg"):
            return self._outside(value, reader.function) or _argument_id(reader.function, value)
        producer = self._mlir.op_defining(value, reader.line)
        if producer is None:
            return None
        index = int(value.partition("#")[2] or 0)
        inner = self._yields.get(producer.line) if producer.name == _REGION else self._returned(producer)
        if inner is not None:
            return self._source(inner.operands[index], inner) if index < len(inner.operands) else None
        return f"L{producer.line}" if self._is_node(producer) else None

    def _outside(self, value: str, function: str) -> str | None:
        """The node that computes an argument of a subnet, if that is in another subnet."""
        call = self._calls.get(function)
        number = value.removeprefix("%arg")
        if call is None or not number.isdigit() or int(number) >= len(call.operands):
            return None
        operand = call.operands[int(number)]
        producer = None if operand.startswith("%arg") else self._mlir.op_defining(operand, call.line)
        return self._source(operand, call) if producer is not None and self._returned(producer) else None

    def _returned(self, call: MlirOp) -> MlirOp | None:
        """The return of the subnet that an op calls."""
        match = _CALL.search(call.text)
        return self._returns.get(match[1]) if match else None


def _argument_id(function: str, value: str) -> str:
    return f"{function}{value.replace('%', '_')}"


def tensor_type(text: str) -> tuple[tuple[int, ...], str]:
    """Shape and number format of the first tensor type in a text."""
    match = _TYPE.search(text)
    if match is None:
        return (), ""
    quantised = _QUANTISED.match(match[2])
    return tuple(int(extent) for extent in match[1].split("x") if extent), quantised[1] if quantised else match[2]
