"""A graph as an SVG picture that needs nothing else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from tdb_dap.tools.graph.layout import NODE_HEIGHT, NODE_WIDTH, Frame, layout

if TYPE_CHECKING:
    from tdb_dap.engine.source.op_graph import OpGraph, OpNode
    from tdb_dap.tools.graph.colours import Colouring

_LETTERS = 26
"""Of a name that fit into a node; the rest is in its tooltip."""

_STYLE = (
    "text{font:10px Helvetica,Arial,sans-serif;text-anchor:middle}"
    ".frame text{text-anchor:start;fill:#555}.frame rect{fill:none;stroke:#bbb}.group rect{stroke:#89c;"
    "stroke-dasharray:4 3}.edge path{fill:none;stroke:#777}.edge text{font-size:8px;fill:#555}"
    ".edge text{paint-order:stroke;stroke:#fff;stroke-width:3px}.node rect{stroke:#555}"
)


def svg(graph: OpGraph, title: str, colouring: Colouring) -> str:
    """The picture; nodes are called ``L22`` after their line."""
    placed = layout(graph)
    shapes = {node.id: shape(node) for node in graph.nodes}
    size = f"{placed.width:.0f} {placed.height:.0f}"
    width, height = size.split()
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {size}">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#777"/></marker></defs>',
        *map(_frame, placed.frames),
    ]
    for edge in graph.edges:
        parts.append(_edge(placed.nodes[edge.tail], placed.nodes[edge.head], shapes[edge.tail]))
    parts += [_node(node, *placed.nodes[node.id], colouring) for node in graph.nodes]
    return "".join([*parts, "</svg>"])


def shape(node: OpNode) -> str:
    """``1x16x32x32``."""
    return "x".join(map(str, node.shape))


def tip(node: OpNode, why: str) -> str:
    """Tooltip of a node; ``why``: it has its colour."""
    return " · ".join(filter(None, (f"line {node.line}", f"{shape(node)} {node.dtype}".strip(), why)))


def _frame(frame: Frame) -> str:
    left, top, width, height = (f"{number:.0f}" for number in frame.box)
    kind = "frame group" if frame.is_group else "frame"
    return (
        f'<g class="{kind}"><rect x="{left}" y="{top}" width="{width}" height="{height}" rx="6"/>'
        f'<text x="{float(left) + 6:.0f}" y="{float(top) + 11:.0f}">{escape(frame.title)}</text></g>'
    )


def _edge(tail: tuple[float, float], head: tuple[float, float], text: str) -> str:
    (x1, y1), (x2, y2) = tail, head
    y1, y2 = y1 + NODE_HEIGHT / 2, y2 - NODE_HEIGHT / 2
    bend = max((y2 - y1) / 2, 20)
    path = f"M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}"
    middle = f'<text x="{(x1 + x2) / 2:.0f}" y="{(y1 + y2) / 2:.0f}">{escape(text)}</text>' if text else ""
    return f'<g class="edge"><path d="{path}" marker-end="url(#arrow)"/>{middle}</g>'


def _node(node: OpNode, x: float, y: float, colouring: Colouring) -> str:
    colour, why = colouring(node)
    lines = list(filter(None, (node.opcode.removeprefix("tpu."), node.name)))
    top = y - NODE_HEIGHT / 2
    texts = "".join(
        f'<text x="{x:.0f}" y="{top + 18 + 14 * i:.0f}">{escape(_cut(line))}</text>' for i, line in enumerate(lines)
    )
    about = escape("\n".join([*lines, tip(node, why)]))
    return (
        f'<g class="node" id="{escape(node.id)}"><title>{about}</title><a href="#L{node.line}">'
        f'<rect x="{x - NODE_WIDTH / 2:.0f}" y="{top:.0f}" width="{NODE_WIDTH}" height="{NODE_HEIGHT}" rx="6" '
        f'fill="{escape(colour)}"/>{texts}</a></g>'
    )


def _cut(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[: _LETTERS - 1]}…"
