"""Tensors and other values as trees for the Variables pane. Nothing is read before a client opens it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tdb_dap.adapter.requests.provenance import read_by, written_by
from tdb_dap.adapter.session.handles import Node, leaf, mapping, tree
from tdb_dap.adapter.session.references import view_reference
from tdb_dap.adapter.session.shadows import Shadows
from tdb_dap.engine.expressions.assignment import Part
from tdb_dap.engine.expressions.values import (
    FAILED,
    PASSED,
    SMALL,
    Value,
    bits_text,
    number_text,
    numbers_row,
    shape_text,
    shown_number,
    shown_numbers,
)
from tdb_dap.engine.hardware.views import Constant, View
from tdb_dap.engine.reference.reference import numbers_of
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.logpoints import Message as LogMessage
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.reference.reference import Comparison
    from tdb_dap.engine.source.source_map import MappedTensor

_MOST_MARKED = 1 << 24
"""Elements of a tensor that is compared for its row; a larger one is when its comparison is opened."""


def tensor(session: Session, name: str, value: Value, evaluate_name: str | None = None, label: str = "") -> Node:
    """A value with its numbers below it. ``label``: stands before the numbers in its row."""
    value = remembered(session, value)
    view = value.view if isinstance(value.view, View) else None
    try:
        text = value.row(mark(session, value), label)
    except TdbError as error:
        return Node(name, f"<{error}>")
    part = Part(evaluate_name or name, view, absence=value.absence) if view else None
    if value.absence:
        return _absent(session, name, value, text, evaluate_name, part)
    named = value.named if value.is_quantised else None
    node = _array(name, lambda: value.array, text, evaluate_name, part, named)
    node.raw = value.hex_text
    node.type = value.view.memref if value.view is not None else None
    node.memory_reference = view_reference(view) if view else None
    if value.shape:
        node.named = lambda: [_about(session, value, part)]
        node.named_count = 1
    return node


def _absent(session: Session, name: str, value: Value, text: str, evaluate_name: str | None, part: Part | None) -> Node:
    """A tensor that memory does not hold now: where it belongs, and who wrote what is there, but no numbers."""
    node = Node(name, text, evaluate_name=evaluate_name, part=part)
    node.type = value.view.memref if value.view is not None else None
    if part is not None:
        node.memory_reference = view_reference(part.view)
        node.named = lambda: [_layout_node(value), *_origins(session, part)]
    return node


def _about(session: Session, value: Value, part: Part | None) -> Node:
    """Everything about a tensor besides its numbers; nothing of it is looked up before it is opened."""
    origins = partial(_origins, session, part) if part else list[Node]
    words = (
        "type, layout, statistics",
        "comparison" if _is_comparable(session, value) else "",
        "writer" if part else "",
    )
    return tree("about", ", ".join(filter(None, words)), lambda: [*_details(session, value), *origins()])


def logged(session: Session, message: LogMessage) -> Node:
    """Tree of a log point's message, with its tensors as they were then.

    One child with the whole text: clients show the children in place of the text.
    """

    def values() -> list[Node]:
        return [_then(value) for value in message.values]

    return tree("log", message.text, lambda: [tree("log", message.text, values)])


def _then(value: Value) -> Node:
    node = _array(value.title, lambda: value.array, value.row(), None)
    node.raw = value.hex_text
    return node


def remembered(session: Session, value: Value) -> Value:
    """The same value if it has been read since the last stop, so that it is neither read nor summarised again."""
    if isinstance(value.view, View):
        named = (value.named.name, value.named.type_text) if value.named else None
        key = (value.view, named, value.absence)
        return session.handles.values.setdefault(key, value)
    return value


def _array(
    name: str,
    load: Callable[[], Array],
    text: str,
    evaluate_name: str | None,
    part: Part | None = None,
    named: MappedTensor | None = None,
) -> Node:
    """``load``: the numbers as they are now; ``part``: where they are in memory; ``named``: what they stand for.

    The children are those of the first axis that has more than one: ``[0,5]`` of a tensor of shape [1,24,7,8].
    """
    node = Node(name, text, evaluate_name=evaluate_name, part=part)
    if load().ndim:
        shape = load().shape
        axis = next((axis for axis, extent in enumerate(shape) if extent != 1), len(shape) - 1)
        count = shape[axis]
        loaded = _Whole(load, axis, evaluate_name, part, named)

        def children(start: int, limit: int) -> list[Node]:
            stop = min(start + limit, count)
            if math.prod(shape[axis + 1 :]) == 1:
                return loaded.numbers(start, stop)
            return [loaded.part_at(i) for i in range(start, stop)]

        node.indexed, node.indexed_count, node.indexed_axis = children, count, axis
    return node


class _Whole(Struct, frozen=True):
    """An array whose elements are shown one below the other: those of ``axis``, before which all extents are 1."""

    load: Callable[[], Array]
    axis: int
    evaluate_name: str | None
    part: Part | None
    named: MappedTensor | None

    def _index(self, number: int) -> tuple[int, ...]:
        return (*(0,) * self.axis, number)

    def _text(self, index: tuple[int, ...]) -> str:
        return f"[{','.join(map(str, index))}]"

    def numbers(self, start: int, stop: int) -> list[Node]:
        """Single numbers; there may be thousands of them."""
        numbers = self.load()
        before, after = (0,) * self.axis, (0,) * (numbers.ndim - self.axis - 1)
        opening, closing = f"[{'0,' * len(before)}", f"{',0' * len(after)}]"
        part, prefix = self.part, self.evaluate_name
        dtype = part.view.dtype if part else None
        page: tuple[int | slice, ...] = (*before, slice(start, stop), *after)
        line = list(numbers[page])
        nodes: list[Node] = []
        for number, stored, shown in zip(range(start, stop), line, shown_numbers(line, self.named), strict=True):
            text = f"{opening}{number}{closing}"
            nodes.append(
                Node(
                    text,
                    shown,
                    partial(bits_text, stored, dtype),
                    None,
                    f"{prefix}{text}" if prefix else None,
                    element=(part, (*before, number, *after)) if part else None,
                )
            )
        return nodes

    def part_at(self, number: int) -> Node:
        """The elements with this number on the axis."""
        index = self._index(number)
        text, part = self._text(index), self.part
        inner = Part(f"{part.title}{text}", part.view, (*part.index, index)) if part else None
        numbers = self.load()[index]
        shown = f"{shape_text(numbers.shape)}  {numbers_row(numbers, self.named)}"
        evaluate_name = f"{self.evaluate_name}{text}" if self.evaluate_name else None
        node = _array(text, partial(_item, self.load, index), shown, evaluate_name, inner, self.named)
        if numbers.size <= SMALL:
            node.raw = partial(bits_text, numbers, part.view.dtype if part else None)
        return node


def _item(load: Callable[[], Array], index: tuple[int, ...]) -> Array:
    return np.asarray(load()[index])


def _origins(session: Session, part: Part) -> list[Node]:
    return [written_by(session, part), read_by(session, part)]


def _is_comparable(session: Session, value: Value) -> bool:
    return value.named is not None and not value.absence and session.debugger.reference is not None


def mark(session: Session, value: Value) -> str:
    """Whether it holds what the reference has, as a sign; nothing where that is not known, or would take long."""
    if not _is_comparable(session, value) or value.named is None or math.prod(value.shape) > _MOST_MARKED:
        return ""
    result = compared(session, value.named)
    if result is None:
        return ""
    return FAILED if result.complaints else PASSED


def _details(session: Session, value: Value) -> list[Node]:
    """Shape, layout and statistics; and the comparison, for a computed tensor that the reference may know."""
    nodes = [leaf("shape", list(value.shape)), _layout_node(value), _statistics_node(value)]
    if _is_comparable(session, value):
        nodes.append(comparison(session, "compare", value))
    named = value.named
    if named is not None and not value.absence and session.feature(Shadows).has(session.debugger, named):
        nodes.append(tree("shadow", "expected at this precision, ideal", lambda: _shadow_rows(session, value, named)))
    return nodes


def _shadow_rows(session: Session, value: Value, named: MappedTensor) -> list[Node]:
    """Expected and ideal numbers of a tensor, computed in float64 from the inputs and the compiler's text."""
    arrays = session.feature(Shadows).of(session.debugger, named)
    if not arrays:
        return [leaf("ideal", "no golden")]
    held = numbers_of(session.debugger.machine, named)
    if held is None:
        return [leaf("ideal", "cannot be compared")]
    actual = held.astype(np.float64)
    rows: list[Node] = []
    for title, array in arrays.items():
        distance = np.sqrt(np.mean(np.square(actual - array))) if array.size else 0.0
        reach = float(np.sqrt(np.mean(np.square(array)))) if array.size else 0.0
        rows.append(leaf(f"off from {title}", f"{distance / reach:.3%}" if reach else number_text(float(distance))))
    return [tensor(session, title, Value(title, array.view)) for title, array in arrays.items()] + rows


def _statistics_node(value: Value) -> Node:
    statistics = value.statistics
    if statistics is None:
        return leaf("stats", "empty")
    named = value.named if value.is_quantised else None
    numbers = {"min": statistics.minimum, "max": statistics.maximum, "mean": statistics.mean}
    rows = {
        **{name: None if number is None else shown_number(number, named) for name, number in numbers.items()},
        "NaN": statistics.nan,
        "Inf": statistics.inf,
    }
    return mapping("stats", statistics.shown(named), rows)


def _layout_node(value: Value) -> Node:
    return layout(value.view, "layout", value.named)


def layout(view: View | Constant | None, name: str, named: MappedTensor | None = None) -> Node:
    """Address, layout and scale of a tensor."""
    if not isinstance(view, View):
        return leaf(name, f"constant {view.name}" if isinstance(view, Constant) else "no place in memory")
    rows: dict[str, object] = {
        "space": f"{view.space.value} ({view.space.title})",
        "address": f"%{view.name}",
        "offset": f"{view.address} ({view.address:#x})",
        "layout": view.layout.value,
    }
    if view.strides is not None:
        rows["strides"] = list(view.strides)
    if view.lane_mask is not None:
        rows["lane mask"] = hex(view.lane_mask)
    if view.space.value in "RS":
        rows["core"] = view.core
    rows["bytes"] = _ranges_text(view.byte_ranges())
    if named is not None:
        rows["type"] = named.type_text
        if named.scale != 1 or named.zero_point != 0:
            rows["scale"], rows["zero point"] = named.scale, named.zero_point
    return mapping(name, f"%{view.name} {view.layout.value}", rows)


def _ranges_text(ranges: list[tuple[int, int]]) -> str:
    if not ranges:
        return "none"
    first = f"{ranges[0][0]:#x}..{ranges[0][1]:#x}"
    return first if len(ranges) == 1 else f"{first} and {len(ranges) - 1} more ranges, one per lane"


def compared(session: Session, named: MappedTensor) -> Comparison | None:
    """A tensor as it is now against the reference, measured once at each stop; None if that has none."""
    debugger, known = session.debugger, session.handles.compared
    if debugger.reference is None:
        return None
    key = (named.view, named.name, named.type_text)
    if key not in known:
        known[key] = debugger.reference.compare(debugger.machine, named)
    return known[key]


def comparison(session: Session, name: str, value: Value) -> Node:
    """A value against the reference."""
    debugger = session.debugger
    if debugger.reference is None or value.named is None:
        return leaf(name, "no reference")
    result = compared(session, value.named)
    if result is None:
        return leaf(name, "not in the reference")
    return tree(name, result.summary, lambda: _comparison_rows(session, result))


def _comparison_rows(session: Session, result: Comparison) -> list[Node]:
    metrics = result.metrics
    rows: dict[str, object] = {
        "verdict": result.verdict + (f": {'; '.join(result.complaints)}" if result.complaints else ""),
        "cosine": number_text(metrics.cosine),
        "euclidean": number_text(metrics.euclidean),
        "SQNR": f"{metrics.sqnr:.1f} dB",
        "max difference": number_text(metrics.max_abs),
        "max relative": number_text(metrics.max_rel),
    }
    if metrics.max_ulp is not None:
        rows["max ULP"] = f"{metrics.max_ulp:g}"
    if metrics.nan_count or metrics.nan_expected:
        rows["NaN"] = f"{metrics.nan_count}, in the reference {metrics.nan_expected}"
    if metrics.inf_count or metrics.inf_expected:
        rows["Inf"] = f"{metrics.inf_count}, in the reference {metrics.inf_expected}"
    if metrics.first_bad is not None:
        rows["bad elements"] = f"{metrics.bad_count:,} of {metrics.size:,} ({metrics.bad_share:.2%})"
        rows["first difference"] = _element_text(result, metrics.first_bad)
        rows["first on each axis"] = list(metrics.first_bad_per_axis or ())
    if metrics.worst is not None:
        rows["largest difference"] = _element_text(result, metrics.worst)
    if metrics.worst_channel is not None:
        rows["worst channel"] = f"{metrics.worst_channel} of axis {metrics.channel_axis}: {metrics.channel:.6f}"
    arrays = {"actual": result.actual, "expected": result.expected, "difference": result.actual - result.expected}
    return [leaf(key, row) for key, row in rows.items()] + [
        tensor(session, key, Value(key, array.view)) for key, array in arrays.items()
    ]


def _element_text(result: Comparison, index: tuple[int, ...]) -> str:
    return f"{list(index)}: {result.actual[index]} instead of {result.expected[index]}"
