"""Layout of a graph's nodes, edges and frames: in layers, each op below all that it reads.

Layers by the longest way from the start, the order within a layer by the middle of the neighbours (a few sweeps, down
and up), positions by the same with what is next to each other kept apart. Linear in nodes and edges for each sweep.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from tdb_dap.engine.source.op_graph import OpEdge, OpGraph, OpNode

NODE_WIDTH, NODE_HEIGHT = 176, 44
_ACROSS, _DOWN, _MARGIN, _PADDING = 24, 46, 40, 14
_SWEEPS = 8

Box = tuple[float, float, float, float]
"""Left, top, width, height."""


class Frame(Struct, frozen=True):
    """A subnet or a layer group around its nodes."""

    title: str
    is_group: bool
    box: Box


class Layout(Struct, frozen=True):
    """``nodes``: the middle of each node by id; ``frames``: those around others first."""

    width: float
    height: float
    nodes: Mapping[str, tuple[float, float]]
    frames: tuple[Frame, ...]


def layout(graph: OpGraph) -> Layout:
    """Place a graph; the same one always alike."""
    before, after = _neighbours(graph.edges)
    layers = _ordered(_layers(graph.nodes, before, after), before, after)
    across = _positions(layers, before, after)
    left = min(across.values(), default=0.0) - NODE_WIDTH / 2 - _MARGIN
    nodes: dict[str, tuple[float, float]] = {}
    for depth, layer in enumerate(layers):
        y = _MARGIN + NODE_HEIGHT / 2 + depth * (NODE_HEIGHT + _DOWN)
        nodes.update((id, (across[id] - left, y)) for id in layer)
    width = max((x for x, _ in nodes.values()), default=0.0) + NODE_WIDTH / 2 + _MARGIN
    height = max((y for _, y in nodes.values()), default=0.0) + NODE_HEIGHT / 2 + _MARGIN
    return Layout(width, height, nodes, _frames(graph.nodes, nodes))


def _neighbours(edges: Sequence[OpEdge]) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Of each node those it reads, and those that read it; an op that reads itself or a later one does not count."""
    before: dict[str, list[str]] = {}
    after: dict[str, list[str]] = {}
    for edge in edges:
        if edge.tail != edge.head:
            before.setdefault(edge.head, []).append(edge.tail)
            after.setdefault(edge.tail, []).append(edge.head)
    return before, after


def _layers(
    nodes: Sequence[OpNode], before: Mapping[str, list[str]], after: Mapping[str, list[str]]
) -> list[list[str]]:
    """Nodes by depth; those that read nothing are above their first reader.

    They come in the order of the file, in which what is read is computed first.
    """
    depths: dict[str, int] = {}
    for node in nodes:
        depths[node.id] = 1 + max((depths[id] for id in before.get(node.id, ()) if id in depths), default=-1)
    for node in nodes:
        if node.id not in before and node.id in after:
            depths[node.id] = min(depths[id] for id in after[node.id]) - 1
    layers: list[list[str]] = [[] for _ in range(max(depths.values(), default=-1) + 1)]
    for id, depth in depths.items():
        layers[depth].append(id)
    return layers


def _ordered(
    layers: list[list[str]], before: Mapping[str, list[str]], after: Mapping[str, list[str]]
) -> list[list[str]]:
    """The same layers with fewer crossings."""
    places = {id: i / max(len(layer), 1) for layer in layers for i, id in enumerate(layer)}
    for sweep in range(_SWEEPS):
        neighbours = after if sweep % 2 else before
        for layer in reversed(layers) if sweep % 2 else layers:
            wanted = {id: _mean([places[other] for other in neighbours.get(id, ())], places[id]) for id in layer}
            layer.sort(key=wanted.__getitem__)
            places.update((id, i / len(layer)) for i, id in enumerate(layer))
    return layers


def _positions(
    layers: list[list[str]], before: Mapping[str, list[str]], after: Mapping[str, list[str]]
) -> dict[str, float]:
    """The middle of each node across."""
    step = NODE_WIDTH + _ACROSS
    across = {id: (i - len(layer) / 2) * step for layer in layers for i, id in enumerate(layer)}
    for sweep in range(_SWEEPS):
        neighbours = after if sweep % 2 else before
        for layer in reversed(layers) if sweep % 2 else layers:
            wanted = [_mean([across[other] for other in neighbours.get(id, ())], across[id]) for id in layer]
            across.update(zip(layer, _apart(wanted, step), strict=True))
    return across


def _apart(wanted: Sequence[float], step: float) -> list[float]:
    """Positions in this order at least ``step`` apart, as near to the wanted ones as pushing to either side gives."""
    right = list(wanted)
    for i in range(1, len(right)):
        right[i] = max(right[i], right[i - 1] + step)
    left = list(wanted)
    for i in range(len(left) - 2, -1, -1):
        left[i] = min(left[i], left[i + 1] - step)
    return [(a + b) / 2 for a, b in zip(right, left, strict=True)]


def _mean(numbers: Sequence[float], otherwise: float) -> float:
    return sum(numbers) / len(numbers) if numbers else otherwise


def _frames(nodes: Sequence[OpNode], at: Mapping[str, tuple[float, float]]) -> tuple[Frame, ...]:
    """Subnets, then layer groups; none where nodes of others would be in it."""
    members: dict[tuple[str, int | None], list[str]] = {}
    for node in nodes:
        members.setdefault((node.subnet, None), []).append(node.id)
        if node.group is not None:
            members.setdefault((node.subnet, node.group), []).append(node.id)
    rows: dict[float, list[tuple[float, str]]] = {}
    for id, (x, y) in at.items():
        rows.setdefault(y, []).append((x, id))
    frames = []
    for (subnet, group), ids in sorted(members.items(), key=lambda item: item[0][1] is not None):
        ours = set(ids)
        padding = _PADDING if group is not None else 2 * _PADDING
        box = _around([at[id] for id in ids], padding)
        if all(id in ours for y, row in rows.items() for x, id in row if _overlaps(box, x, y)):
            frames.append(Frame(subnet if group is None else f"group, line {group}", group is not None, box))
    return tuple(frames)


def _around(middles: Sequence[tuple[float, float]], padding: float) -> Box:
    left = min(x for x, _ in middles) - NODE_WIDTH / 2 - padding
    top = min(y for _, y in middles) - NODE_HEIGHT / 2 - padding
    right = max(x for x, _ in middles) + NODE_WIDTH / 2 + padding
    return left, top, right - left, max(y for _, y in middles) + NODE_HEIGHT / 2 + padding - top


def _overlaps(box: Box, x: float, y: float) -> bool:
    left, top, width, height = box
    is_across = left - NODE_WIDTH / 2 < x < left + width + NODE_WIDTH / 2
    return is_across and top - NODE_HEIGHT / 2 < y < top + height + NODE_HEIGHT / 2
