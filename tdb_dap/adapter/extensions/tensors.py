"""Tensors for clients that draw them: ``tdb/tensor`` and its family, described in docs/requests.md.

Each request names its tensor by an expression and the moment whose names it uses, so that it means the same memory
after a step, and reads no more of it than it answers.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Literal

import numpy as np

from tdb_dap.adapter.protocol.model import ProtocolModel
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.references import view_reference
from tdb_dap.engine.expressions.chunks import Parts, actual, bits, error, stored
from tdb_dap.engine.expressions.lexer import shortened
from tdb_dap.engine.expressions.planes import Mosaic, Slice, tile
from tdb_dap.engine.expressions.summary import summarise
from tdb_dap.engine.expressions.values import Value, bits_text, number_text
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.tensor_responses import (
        LargestElement,
        TensorDescription,
        TensorElement,
        TensorNumbers,
        TensorStatistics,
    )
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.expressions.lexer import Level
    from tdb_dap.engine.expressions.scope import Scope
    from tdb_dap.engine.hardware.dtypes import Array

_LARGEST_ANSWER = 1 << 22
"""Elements in one answer."""

Source = Literal["bits", "stored", "actual", "reference", "error"]


class TensorArguments(ProtocolModel, kw_only=True):
    """Selection of a tensor. ``frameId``, or ``focus`` and ``level`` from an earlier answer, say what its names mean.

    Without ``focus``: the command or op of the last stop.

    ``ordinal``: the moment whose contents are wanted, instead of the present one.
    """

    expression: str
    frameId: int | None = None
    focus: int | None = None
    level: Literal["command", "op"] = "command"
    ordinal: int | None = None


class PartArguments(TensorArguments, kw_only=True):
    """And which of its numbers: the words in memory, what these hold, what that stands for, reference, difference."""

    of: Source = "actual"


class TileArguments(PartArguments, kw_only=True):
    """A rectangle of a slice: ``rows`` and ``columns`` are [start, stop) of the axes ``rowAxis`` and ``columnAxis``.

    With a ``channelAxis`` of all slices along it, ``across`` of them side by side.
    """

    rowAxis: int | None = None
    columnAxis: int | None = None
    channelAxis: int | None = None
    across: int = 1
    index: list[int]
    rows: tuple[int, int]
    columns: tuple[int, int]
    step: int = 1


class DataArguments(PartArguments, kw_only=True):
    """Elements ``start`` to ``start + count`` of the tensor seen as a vector."""

    start: int
    count: int


class ElementArguments(TensorArguments, kw_only=True):
    """One element."""

    index: list[int]


class StatisticsArguments(PartArguments, kw_only=True):
    """``bins``: of the histogram; ``most``: elements of largest magnitude that are listed."""

    bins: int = 64
    most: int = 20


@request("tdb/tensor")
def describe(session: Session, arguments: TensorArguments) -> TensorDescription:
    """Shape, type, and whether there is reference data."""
    names = _names(session, arguments)
    value = value_of(session, arguments)
    view = value.view if isinstance(value.view, View) else None
    answer: TensorDescription = {
        "title": value.title,
        "shape": list(value.shape),
        "dtype": value.dtype_name,
        "scale": value.named.scale if value.named else 1.0,
        "zeroPoint": value.named.zero_point if value.named else 0,
        "hasReference": _expected(session, value) is not None,
        "pending": value.pending,
        "focus": names.focus,
        "level": names.level,
        "ordinal": session.debugger.ordinal if arguments.ordinal is None else arguments.ordinal,
        "commands": len(session.debugger.program.commands),
    }
    if view is not None:
        answer |= {"type": view.memref, "layout": f"%{view.name} {view.layout.value}"}
        answer["memory"] = view_reference(view)
    return answer


@request("tdb/tensorTile")
def read_tile(session: Session, arguments: TileArguments) -> TensorNumbers:
    """A rectangle of a 2-D slice, or of many side by side, one number for each ``step`` x ``step`` elements."""
    parts = _parts(session, arguments)
    chosen = _plane(arguments)
    chosen.check(parts.shape)
    if arguments.step < 1:
        raise BadExpression(f"step must be at least 1, not {arguments.step}")
    rows, columns = (
        _within(name, span, extent)
        for name, span, extent in zip(
            ("rows", "columns"), (arguments.rows, arguments.columns), chosen.extents(parts.shape), strict=True
        )
    )
    _bound(-(-(rows.stop - rows.start) // arguments.step) * -(-(columns.stop - columns.start) // arguments.step))
    return _numbers(tile(parts, chosen, rows, columns, arguments.step))


def _plane(arguments: TileArguments) -> Slice | Mosaic:
    rows, columns, index = arguments.rowAxis, arguments.columnAxis, tuple(arguments.index)
    if arguments.channelAxis is None:
        return Slice(rows, columns, index)
    if rows is None or columns is None:
        raise BadExpression("channels side by side need a rowAxis and a columnAxis")
    return Mosaic(rows, columns, arguments.channelAxis, arguments.across, index)


@request("tdb/tensorData")
def read_data(session: Session, arguments: DataArguments) -> TensorNumbers:
    """Some of the elements in order, to save a tensor."""
    parts = _parts(session, arguments)
    span = _within("start and count", (arguments.start, arguments.start + arguments.count), parts.size)
    _bound(arguments.count)
    return _numbers(parts.flat(span.start, arguments.count))


@request("tdb/tensorStatistics")
def statistics(session: Session, arguments: StatisticsArguments) -> TensorStatistics:
    """Summary, histogram, and the elements of largest magnitude: of the error, the worst ones."""
    if not 1 <= arguments.bins <= 4096 or not 1 <= arguments.most <= 4096:
        raise BadExpression("bins and most must be from 1 to 4096")
    value, parts = value_of(session, arguments), _parts(session, arguments)
    dtype = value.view.dtype if value.view is not None and arguments.of == "stored" else None
    summary = summarise(parts, arguments.bins, arguments.most, dtype, session.check_withdrawn)
    return {
        "minimum": summary.minimum,
        "maximum": summary.maximum,
        "mean": summary.mean,
        "deviation": summary.deviation,
        "nan": summary.nan,
        "inf": summary.inf,
        "zeros": summary.zeros,
        "saturated": summary.saturated,
        "histogram": summary.histogram,
        "largest": [_largest(parts, flat) for flat in summary.largest],
    }


@request("tdb/tensorElement")
def element(session: Session, arguments: ElementArguments) -> TensorElement:
    """One element in words: the number, its bits as they are stored, what it should be and the difference."""
    value = value_of(session, arguments)
    parts = _stored(session, arguments, value)
    at = Slice(None, None, tuple(arguments.index))
    at.check(parts.shape)
    number = parts.read(at.index).reshape(1)
    dtype = value.view.dtype if value.view is not None else None
    bits = bits_text(number[0], dtype)
    width = dtype.bits if dtype is not None else 8 * number.dtype.itemsize
    ours = actual(parts, value)
    answer: TensorElement = {
        "stored": number_text(number[0]),
        "bits": bits,
        "actual": number_text(ours.read(at.index).reshape(1)[0]),
    }
    if bits.startswith("0x"):
        answer["binary"] = f"{int(bits, 0):0{width}b}"
    expected = _expected(session, value)
    if expected is not None:
        answer["reference"] = number_text(expected.read(at.index).reshape(1)[0])
        answer["error"] = number_text(error(ours, expected).read(at.index).reshape(1)[0])
    return answer


def _names(session: Session, arguments: TensorArguments) -> Scope:
    if arguments.frameId is not None:
        return names_at(session, session.handles.frame(arguments.frameId))
    level: Level = arguments.level
    return session.debugger.scope(arguments.focus, level)


def value_of(session: Session, arguments: TensorArguments) -> Value:
    """The tensor; that of another moment is copied when it is first asked for, and kept until the program moves on."""
    names = _names(session, arguments)
    moment = None if arguments.ordinal == session.debugger.ordinal else arguments.ordinal
    key = (arguments.expression, names.focus, names.level, names.line, moment)
    if key not in session.handles.elsewhere:
        make = session.debugger.evaluate
        value = (
            make(arguments.expression, names) if moment is None else _at(session, arguments.expression, names, moment)
        )
        if value.view is None and value.array.dtype == np.object_:
            raise BadExpression(f"{shortened(value.title)} has numbers that no tensor holds: of 64 bits at most")
        session.handles.elsewhere[key] = value
    return session.handles.elsewhere[key]


def _at(session: Session, expression: str, names: Scope, moment: int) -> Value:
    debugger = session.debugger
    debugger.program.require_ordinal(moment)
    with debugger.machine.excursion():
        debugger.machine.travel(moment)
        value = debugger.evaluate(expression, names)
        value.array  # noqa: B018  read while it is there
    return value


def _stored(session: Session, arguments: TensorArguments, value: Value) -> Parts:
    live = arguments.ordinal is None or arguments.ordinal == session.debugger.ordinal
    if live and value.is_overwritten:
        raise BadExpression(f"{value.title} {value.absence}")
    return stored(session.debugger.machine.memory, value, live)


def _parts(session: Session, arguments: PartArguments) -> Parts:
    value = value_of(session, arguments)
    if arguments.of == "reference" and (expected := _expected(session, value)) is not None:
        return expected
    parts = _stored(session, arguments, value)
    if arguments.of == "stored":
        return parts
    if arguments.of == "bits":
        return bits(parts, value)
    parts = actual(parts, value)
    if arguments.of == "actual":
        return parts
    expected = _expected(session, value)
    if expected is None:
        raise BadExpression(f"there is no reference for {value.title}")
    return error(parts, expected)


def _expected(session: Session, value: Value) -> Parts | None:
    reference = session.debugger.reference
    numbers = reference.expected(value.named) if reference is not None and value.named is not None else None
    if numbers is None or numbers.size != int(np.prod(value.shape, dtype=np.int64)):
        return None
    laid = numbers.reshape(value.shape)
    return Parts(value.shape, lambda index: np.asarray(laid[index]))


def _within(name: str, span: tuple[int, int], extent: int) -> slice:
    start, stop = span
    if not 0 <= start < stop <= extent:
        raise BadExpression(f"{name}: {start} to {stop} is not a part of 0 to {extent}")
    return slice(start, stop)


def _bound(count: int) -> None:
    if count > _LARGEST_ANSWER:
        raise BadExpression(f"{count:,} elements are too many for one answer; ask for {_LARGEST_ANSWER:,} at most")


def _numbers(numbers: Array) -> TensorNumbers:
    """Numbers as text: float32, or float64 for integers that float32 does not hold."""
    if numbers.dtype.kind == "u" and numbers.dtype.itemsize > 4:
        raise BadExpression(
            f"words of {8 * numbers.dtype.itemsize} bits do not fit into the answer; ask for an element"
        )
    wide = (numbers.dtype.kind != "f" and numbers.dtype.itemsize > 2) or numbers.dtype == np.float64
    data = np.ascontiguousarray(numbers, "<f8" if wide else "<f4")
    return {
        "shape": list(numbers.shape),
        "format": "f64" if wide else "f32",
        "data": base64.b64encode(data.data).decode(),
    }


def _largest(parts: Parts, flat: int) -> LargestElement:
    index = tuple(int(i) for i in np.unravel_index(flat, parts.shape)) if parts.shape else ()
    return {"index": list(index), "value": number_text(parts.read(index).reshape(1)[0])}
