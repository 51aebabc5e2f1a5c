"""Tensors and other values as trees for the Variables pane. Nothing is read before a client opens it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.adapter.requests.provenance import read_by, written_by
from tdb_dap.adapter.session.handles import Node, leaf, mapping, tree
from tdb_dap.adapter.session.references import view_reference
from tdb_dap.engine.expressions.assignment import Part
from tdb_dap.engine.expressions.values import (
    SMALL,
    Statistics,
    Value,
    bits_text,
    number_text,
    shown_array,
    shown_number,
)
from tdb_dap.engine.hardware.views import Constant, View
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.logpoints import Message as LogMessage
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.reference.reference import Comparison
    from tdb_dap.engine.source.source_map import MappedTensor


def tensor(session: Session, name: str, value: Value, evaluate_name: str | None = None) -> Node:
    """A value with its numbers below it."""
    value = remembered(session, value)
    view = value.view if isinstance(value.view, View) else None
    try:
        text = value.text()
    except TdbError as error:
        return Node(name, f"<{error}>")
    part = Part(evaluate_name or name, view) if view else None
    named = value.named if value.is_quantised else None
    node = _array(name, lambda: value.array, text, evaluate_name, part, named)
    node.raw = value.hex_text
    node.type = value.view.memref if value.view is not None else None
    node.memory_reference = view_reference(view) if view else None
    if value.shape:
        node.named = lambda: [*_details(session, value), *(_origins(session, part) if part else ())]
        node.named_count = 3 + _is_comparable(session, value) + (2 if part else 0)
    return node


def logged(session: Session, message: LogMessage) -> Node:
    """Tree of a log point's message, with its tensors as they were then.

    One child with the whole text: clients show the children in place of the text.
    """

    def values() -> list[Node]:
        return [_then(value) for value in message.values]

    return tree("log", message.text, lambda: [tree("log", message.text, values)])


def _then(value: Value) -> Node:
    node = _array(value.title, lambda: value.array, value.text(), None)
    node.raw = value.hex_text
    return node


def remembered(session: Session, value: Value) -> Value:
    """The same value if it has been read since the last stop, so that it is neither read nor summarised again."""
    if isinstance(value.view, View):
        named = (value.named.name, value.named.type_text) if value.named else None
        key = (value.view, named, value.pending)
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
    """``load``: the numbers as they are now; ``part``: where they lie in memory; ``named``: what they stand for."""
    node = Node(name, text, evaluate_name=evaluate_name, part=part)
    if load().ndim:

        def children(start: int, count: int) -> list[Node]:
            numbers = load()
            stop = min(start + count, len(numbers))
            if numbers.ndim == 1:
                return _numbers(numbers[start:stop], start, evaluate_name, part, named)
            return [_part(partial(_item, load, i), i, evaluate_name, part, named) for i in range(start, stop)]

        node.indexed, node.indexed_count = children, len(load())
    return node


def _item(load: Callable[[], Array], index: int) -> Array:
    return np.asarray(load()[index])


def _numbers(
    numbers: Array, start: int, parent: str | None, whole: Part | None, named: MappedTensor | None
) -> list[Node]:
    """Single numbers; there may be thousands of them."""
    dtype = whole.view.dtype if whole else None
    prefix = parent or ""
    return [
        Node(
            f"[{index}]",
            shown_number(number, named),
            partial(bits_text, number, dtype),
            None,
            f"{prefix}[{index}]" if prefix else None,
            element=(whole, index) if whole else None,
        )
        for index, number in enumerate(numbers, start)
    ]


def _part(
    load: Callable[[], Array], index: int, parent: str | None, whole: Part | None, named: MappedTensor | None
) -> Node:
    evaluate_name = f"{parent}[{index}]" if parent else None
    inner = Part(f"{whole.title}[{index}]", whole.view, (*whole.index, index)) if whole else None
    part = load()
    dtype = whole.view.dtype if whole else None
    is_small = part.ndim == 1 and part.size <= SMALL
    if is_small:
        text = shown_array(part, named)
    else:
        text = f"[{','.join(map(str, part.shape))}]" + (f" {Statistics.of(part).shown(named)}" if part.size else "")
    node = _array(f"[{index}]", load, text, evaluate_name, inner, named)
    if is_small:
        node.raw = partial(bits_text, part, dtype)
    return node


def _origins(session: Session, part: Part) -> list[Node]:
    return [written_by(session, part), read_by(session, part)]


def _is_comparable(session: Session, value: Value) -> bool:
    return value.named is not None and not value.pending and session.debugger.reference is not None


def _details(session: Session, value: Value) -> list[Node]:
    """Shape, layout and statistics; and the comparison, for a computed tensor that the reference may know."""
    nodes = [leaf("shape", list(value.shape)), _layout_node(value), _statistics_node(value)]
    if _is_comparable(session, value):
        nodes.append(comparison(session, "compare", value))
    return nodes


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


def comparison(session: Session, name: str, value: Value) -> Node:
    """A value against the reference."""
    debugger = session.debugger
    if debugger.reference is None or value.named is None:
        return leaf(name, "no reference")
    result = debugger.reference.compare(debugger.machine, value.named)
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
