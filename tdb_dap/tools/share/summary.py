"""A page about a model without the model: the structure, and hashes and statistics of what it computes."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tdb_dap.engine.expressions.values import Statistics
from tdb_dap.engine.rendering import html
from tdb_dap.errors import TdbError
from tdb_dap.tools.opening import open_debugger

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.source.mapped_tensor import MappedTensor
    from tdb_dap.engine.source.op_records import OpRecord

FEWEST = 16
"""Elements of a tensor that has numbers in the page: of a smaller one they, and a hash, would be the tensor."""

_HEADS = ("moment", "line", "core", "op", "name", "operands", "type", "minimum", "maximum", "mean", "SHA-256")
_DIGITS = 16
_STYLE = "body { font: 14px system-ui, sans-serif; margin: 1.5em } th { position: sticky; top: 0; background: Canvas }"
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def page(context: Path, inputs: Path | None) -> str:
    """HTML with a row for each result of each op over a run; TdbError if the run stops early."""
    debugger = open_debugger(context, inputs)
    try:
        rows = list(_rows(debugger))
        program = debugger.program
        title = f"{program.net.name}, {program.chip}: {len(program.commands):,} commands, no weights"
    finally:
        debugger.close()
    head = [
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        html.element("title", title),
        f"<style>{_STYLE}</style>",
    ]
    body = [html.element("h1", title), html.table(_HEADS, rows)]
    return f"<!doctype html>\n{html.element('html', [html.element('head', head), html.element('body', body)])}\n"


def _rows(debugger: Debugger) -> Iterator[list[Any]]:
    records = {id(record): record for op in debugger.program.ops for record in op.records if record.ordinals}
    for record in sorted(records.values(), key=lambda record: record.last):
        if debugger.ordinal != record.last + 1:
            debugger.travel(record.last + 1)
        if debugger.ordinal != record.last + 1:
            raise TdbError(f"the run does not reach its end: {debugger.last_stop.text}")
        for result in record.results:
            yield _row(debugger, record, result)


def _row(debugger: Debugger, record: OpRecord, result: MappedTensor) -> list[Any]:
    operands = ", ".join(operand.name for operand in record.operands)
    place = [record.last + 1, record.line, record.core, record.opcode, result.name, operands]
    if result.view is None:
        return [*place, "", "", "", "", ""]
    shape = ",".join(str(extent) for extent in result.view.shape)
    return [*place, f"{result.view.dtype.name}[{shape}]", *_numbers(np.asarray(debugger.read(result.view)))]


def _numbers(array: Any) -> tuple[Any, ...]:
    if array.size < FEWEST:
        return ("", "", "", "")
    statistics = Statistics.of(array)
    words = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:_DIGITS]
    return (_shown(statistics.minimum), _shown(statistics.maximum), _shown(statistics.mean), words)


def _shown(number: float | int | None) -> float | str:
    return "" if number is None else float(f"{number:.6g}")
