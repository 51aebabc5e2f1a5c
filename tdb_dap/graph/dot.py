"""A graph in the language of Graphviz, and the pictures that its ``dot`` makes of it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.op_graph import OpGraph, OpNode
    from tdb_dap.graph.colours import Colouring

_SECONDS = 300


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
    shapes = {node.id: _shape(node) for node in graph.nodes}
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
    tip = " · ".join(filter(None, (f"line {node.line}", f"{_shape(node)} {node.dtype}".strip(), why)))
    return (
        f"      {node.id} [label={_quoted(label)}, fillcolor={_quoted(colour)}, tooltip={_quoted(tip)}, "
        f'URL="#L{node.line}", id="{node.id}"];'
    )


def _shape(node: OpNode) -> str:
    return "x".join(map(str, node.shape))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def svg(text: str) -> str:
    """The picture; BadInput if Graphviz is not there or fails."""
    program = shutil.which("dot")
    if program is None:
        raise BadInput(
            "drawing needs Graphviz, whose program dot is not on PATH; install the package graphviz of your system, "
            "or write the graph itself with -o FILE.dot"
        )
    try:
        done = subprocess.run(
            [program, "-Tsvg"], input=text, capture_output=True, text=True, timeout=_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise BadInput(f"{program}: {error}; write the graph itself with -o FILE.dot") from None
    return done.stdout[done.stdout.index("<svg") :]


def html(picture: str, title: str) -> str:
    """A page of its own around a picture: wheel and drag to zoom and move, a field to find nodes."""
    return _PAGE.replace("@TITLE@", escape(title)).replace("@PICTURE@", picture)


_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>@TITLE@</title><style>
html, body { margin: 0; height: 100%; font: 14px system-ui, sans-serif; }
header { position: fixed; top: 0; left: 0; right: 0; padding: .5em 1em; background: #fffd; z-index: 1; }
input { font: inherit; padding: .2em .5em; }
main { height: 100%; overflow: hidden; cursor: grab; }
svg { transform-origin: 0 0; }
.found polygon, .found path { stroke: #d00; stroke-width: 3; }
</style></head><body>
<header>
<b>@TITLE@</b> <label>find <input type="search" placeholder="op, name or L22"></label> <output></output>
</header>
<main>@PICTURE@</main>
<script>
"use strict";
const view = document.querySelector("main"), picture = view.querySelector("svg");
let x = 20, y = 60, scale = 1, held = null;
function place() { picture.style.transform = `translate(${x}px, ${y}px) scale(${scale})`; }
view.addEventListener("wheel", (event) => {
  event.preventDefault();
  const factor = Math.exp(-event.deltaY / 500);
  x = event.clientX - (event.clientX - x) * factor;
  y = event.clientY - (event.clientY - y) * factor;
  scale *= factor;
  place();
}, { passive: false });
view.addEventListener("pointerdown", (event) => { held = [event.clientX - x, event.clientY - y]; });
view.addEventListener("pointermove", (event) => {
  if (held && event.buttons) { x = event.clientX - held[0]; y = event.clientY - held[1]; place(); }
});
const field = document.querySelector("input"), count = document.querySelector("output");
field.addEventListener("input", () => {
  const wanted = field.value.toLowerCase();
  const found = [...picture.querySelectorAll(".node")].filter((node) => {
    const hit = wanted && (node.textContent.toLowerCase().includes(wanted) || node.id.toLowerCase() === wanted);
    node.classList.toggle("found", Boolean(hit));
    return hit;
  });
  count.textContent = wanted ? `${found.length} found` : "";
  if (found.length) {
    const box = found[0].getBoundingClientRect();
    x += innerWidth / 2 - box.x - box.width / 2;
    y += innerHeight / 2 - box.y - box.height / 2;
    place();
  }
});
place();
</script></body></html>
"""
