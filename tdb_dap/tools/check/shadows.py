"""The third column of a check against computed tensors: chip, expected at this precision, ideal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.check.results import Looked
from tdb_dap.tools.check.schema import Row, Shadows
from tdb_dap.tools.shadow.shadow import Shadow

_COLUMNS = ("line", "op", "tensor", "chip", "expected", "ideal", "made here", "inherited", "means")
_MOST = 8
_MOVES = ("tpu.Load", "tpu.Store")


def with_shadows(rows: Sequence[Row], found: Sequence[Looked], context: Path, inputs: Mapping[str, Array]) -> list[Row]:
    """The same rows, those of results with their shadows. BadInput if the compilation cannot be read."""
    shadow = Shadow(context, inputs)
    chip = shadow.completed(
        {
            looked.row.name: np.asarray(looked.actual, np.float64)
            for looked in found
            if looked.actual is not None and looked.row.role != "operand"
        }
    )
    return [
        row.model_copy(update={"shadow": _shadow(shadow, row.name, chip)})
        if row.role != "operand" and row.opcode not in _MOVES
        else row
        for row in rows
    ]


def _shadow(shadow: Shadow, name: str, chip: Mapping[str, Array]) -> Shadows | None:
    one = shadow.of(name, chip)
    if one is None:
        return None
    return Shadows(
        index=one.index,
        actual=one.actual,
        expected=one.expected,
        ideal=one.ideal,
        here=one.here,
        inherited=one.inherited,
        verdict=one.verdict,
        reason=one.reason,
    )


def lines(rows: Sequence[Row], is_all: bool) -> Iterator[str]:
    """A table of the shadows, those with the largest error made here first; nothing if no row has one."""
    having = [(row, row.shadow) for row in rows if row.shadow is not None]
    having.sort(key=lambda pair: (pair[1].verdict != "bug", -pair[1].here))
    shown = having if is_all else having[:_MOST]
    if not shown:
        return
    body = [_COLUMNS, *(_cells(row, shadow) for row, shadow in shown)]
    widths = [max(len(line[i]) for line in body) for i in range(len(_COLUMNS))]
    yield "errors against the ideal, where they are largest, and over the size of the numbers:"
    for line in body:
        yield "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
    if len(shown) < len(having):
        yield f"... and {len(having) - len(shown):,} more; --all lists them"


def _cells(row: Row, shadow: Shadows) -> tuple[str, ...]:
    expected = "" if shadow.expected is None else f"{shadow.expected:.5g}"
    means = f"bug: {shadow.reason}" if shadow.verdict == "bug" else shadow.verdict
    numbers = (f"{shadow.actual:.5g}", expected, f"{shadow.ideal:.5g}")
    return (str(row.line or ""), row.opcode, row.name, *numbers, f"{shadow.here:.2%}", f"{shadow.inherited:.2%}", means)
