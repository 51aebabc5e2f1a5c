"""The page of a graph: its nodes and edges as data, which the program of the page lays out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.source.common_paths import common_path, without_path
from tdb_dap.tools.pages.writing import page

if TYPE_CHECKING:
    from tdb_dap.engine.source.op_graph import OpGraph
    from tdb_dap.tools.graph.colours import Colouring
    from tdb_dap.tools.pages.data import GraphEdge, GraphNode, GraphPage


def html(graph: OpGraph, title: str, colouring: Colouring) -> str:
    """A page to zoom, search and walk the graph in."""
    data: GraphPage = {
        "kind": "graph",
        "title": title,
        "colouring": colouring.kind,
        "nodes": nodes(graph, colouring),
        "edges": edges(graph),
    }
    return page(title, data)


def nodes(graph: OpGraph, colouring: Colouring) -> list[GraphNode]:
    """The nodes in the order of the file."""
    rows: list[GraphNode] = []
    names: dict[str, list[str]] = {}
    for node in graph.nodes:
        names.setdefault(node.subnet, []).append(node.name)
    paths = {subnet: common_path(all_names) for subnet, all_names in names.items()}
    for node in graph.nodes:
        color, note = colouring(node)
        rows.append(
            {
                "id": node.id,
                "opcode": node.opcode,
                "name": node.name,
                "label": without_path(node.name, paths[node.subnet]),
                "line": node.line,
                "shape": list(node.shape),
                "dtype": node.dtype,
                "subnet": node.subnet,
                "group": node.group,
                "color": color,
                "note": note,
            }
        )
    return rows


def edges(graph: OpGraph) -> list[GraphEdge]:
    """The edges in the order of the file."""
    return [{"tail": edge.tail, "head": edge.head, "value": edge.value} for edge in graph.edges]
