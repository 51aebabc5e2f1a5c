"""A graph in the language of Graphviz, for its programs and those that read it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from tdb_dap.tools.graph.svg import shape, tip

if TYPE_CHECKING:
    from tdb_dap.engine.source.op_graph import OpGraph, OpNode
    from tdb_dap.tools.graph.colours import Colouring


def dot_text(graph: OpGraph, title: str, colouring: Colouring) -> str:
    """The graph: a cluster per subnet, in it one per layer group; nodes are called ``L22`` after their line."""
    lines = [
        f"digraph {_quoted(title)} {{",
        '  graph [rankdir=TB, fontname="Helvetica", ranksep=0.3, nodesep=0.2];',
        '  node [shape=box, style="rounded,filled", fontname="Helvetica", fontsize=10, margin="0.1,0.05"];',
        '  edge [fontname="Helvetica", fontsize=8, arrowsize=0.6, color="#777777"];',
    ]
    for subnet, nodes in groupby(sorted(graph.nodes, key=lambda node: (node.subnet, node.line)), _subnet):
        lines.append(f"  subgraph {_quoted(f'cluster_{subnet}')} {{")
        lines.append(f'    label={_quoted(subnet)}; color="#bbbbbb";')
        lines += _subnet_lines(list(nodes), colouring)
        lines.append("  }")
    shapes = {node.id: shape(node) for node in graph.nodes}
    lines += [f"  {e.tail} -> {e.head} [label={_quoted(shapes[e.tail])}];" for e in graph.edges]
    return "\n".join([*lines, "}", ""])


def _subnet(node: OpNode) -> str:
    return node.subnet


def _subnet_lines(nodes: list[OpNode], colouring: Colouring) -> Iterator[str]:
    groups: dict[int | None, list[OpNode]] = {}
    for node in nodes:
        groups.setdefault(node.group, []).append(node)
    for group, members in groups.items():
        if group is not None:
            yield f'    subgraph cluster_group_{group} {{ label="group, line {group}"; color="#8899cc"; style=dashed;'
        yield from (_node_line(node, colouring) for node in members)
        if group is not None:
            yield "    }"


def _node_line(node: OpNode, colouring: Colouring) -> str:
    colour, why = colouring(node)
    label = "\n".join(filter(None, (node.opcode.removeprefix("tpu."), node.name)))
    return (
        f"      {node.id} [label={_quoted(label)}, fillcolor={_quoted(colour)}, tooltip={_quoted(tip(node, why))}, "
        f'URL="#L{node.line}", id="{node.id}"];'
    )


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
