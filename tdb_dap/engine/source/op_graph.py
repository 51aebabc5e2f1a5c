"""The ops of final.mlir and what flows between them: nodes, edges, groups and subnets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.source.mlir_attributes import integer
from tdb_dap.engine.source.value_flow import RETURNS, Argument, Definition, ValueFlow

if TYPE_CHECKING:
    from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp

_YIELD = "tpu.Yield"
_CONSTANTS = ("top.Weight", "top.None")
_TYPE = re.compile(r"(?:tensor|memref)<((?:\d+x)*)([^,<>]+(?:<[^<>]*>)?)[^>]*>")
_QUANTISED = re.compile(r"!quant\.\w+<(\w+)")


class OpNode(Struct, frozen=True):
    """An op, or an argument of a subnet."""

    id: str
    """Unique."""
    opcode: str
    name: str
    line: int
    """Line of final.mlir."""
    shape: tuple[int, ...]
    """Shape of its first result."""
    dtype: str
    """Type of its first result."""
    subnet: str
    """Name of its function."""
    group: int | None
    """Line of the layer group around it, None outside of groups."""


class OpEdge(Struct, frozen=True):
    """``tail`` computes what ``head`` reads; ``value``: its id in the text."""

    tail: str
    head: str
    value: str


class OpGraph(Struct, frozen=True):
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
        self._flow = ValueFlow(mlir)

    def _is_node(self, op: MlirOp) -> bool:
        if self._flow.calls and op.function not in self._flow.calls:
            return False  # the function that only calls the subnets
        if op.name in _CONSTANTS:
            return self._weights and op.name != "top.None"
        if op.bodies or op.name == _YIELD or op.name in RETURNS:
            return False
        return "." in op.name and not op.name.startswith("func.")

    def nodes(self) -> Iterator[OpNode]:
        """Ops, and the arguments of subnets that no other subnet computes."""
        seen: set[str] = set()
        for op in filter(self._is_node, self._mlir.ops.values()):
            for value in op.operands:
                argument = Argument(op.function, value)
                id = _argument_id(argument)
                if value.startswith("%arg") and id not in seen and id in self._ids(argument):
                    seen.add(id)
                    yield self._argument(argument, op.line)
            shape, dtype = tensor_type(op.types.rsplit("->", 1)[-1])
            yield OpNode(f"L{op.line}", op.name, op.location, op.line, shape, dtype, op.function, op.group_line)

    def _argument(self, argument: Argument, line: int) -> OpNode:
        function = self._mlir.function_named(argument.function)
        line = function.line if function is not None else line
        text = self._mlir.lines[line - 1]
        start = text.find(f"{argument.name}:")
        shape, dtype = tensor_type(text[start:]) if start >= 0 else ((), "")
        name, subnet = argument.name, argument.function
        return OpNode(_argument_id(argument), "input", name, line, shape, dtype, subnet, None)

    def edges(self) -> Iterator[OpEdge]:
        """Operands followed to the op that computes them, into and out of groups and subnets."""
        for op in filter(self._is_node, self._mlir.ops.values()):
            for value in op.operands:
                for leaf in self._flow.leaves(value, op.region):
                    for tail in self._ids(leaf):
                        yield OpEdge(tail, f"L{op.line}", value)

    def _ids(self, leaf: Definition | Argument) -> tuple[str, ...]:
        """The nodes of what computes a value; none if it is not shown."""
        if isinstance(leaf, Definition):
            return (f"L{leaf.op.line}",) if self._is_node(leaf.op) else ()
        outside = [
            id for source in self._flow.outside(leaf) if isinstance(source, Definition) for id in self._ids(source)
        ]
        return tuple(outside) or (_argument_id(leaf),)


def _argument_id(argument: Argument) -> str:
    return f"{argument.function}{argument.name.replace('%', '_')}"


def tensor_type(text: str) -> tuple[tuple[int, ...], str]:
    """Shape and number format of the first tensor type in a text."""
    match = _TYPE.search(text)
    if match is None:
        return (), ""
    quantised = _QUANTISED.match(match[2])
    return tuple(integer(extent) for extent in match[1].split("x") if extent), quantised[1] if quantised else match[2]
