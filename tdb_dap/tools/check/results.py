"""Results of runs, and merging them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.source.compile_stages import OriginalLayer
from tdb_dap.tools.check.schema import LayerRow, Row

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.dtypes import Array


class Looked(Struct, frozen=True):
    """A row and, where they were to be kept, its tensors."""

    row: Row
    actual: Array | None = None
    expected: Array | None = None


class Walked(Struct, frozen=True):
    """Results of a run. ``stopped``: why it did not reach the end, if so."""

    results: tuple[Looked, ...]
    stopped: str = ""

    @property
    def rows(self) -> list[Row]:
        return [looked.row for looked in self.results]


def merged(parts: Iterable[Walked]) -> Walked:
    """The runs of all segments as one, by time: an op's operands, then its results.

    The net's outputs are looked at by the last segment, too: where an op has named them before, only what differs at
    the end counts.
    """
    parts = list(parts)
    looked_at = [looked for part in parts for looked in part.results]
    named = {looked.row.name for looked in looked_at if looked.row.role == "result"}
    kept = [
        looked
        for looked in looked_at
        if looked.row.role != "output" or looked.row.verdict == "fail" or looked.row.name not in named
    ]
    kept.sort(key=lambda looked: (looked.row.last, looked.row.role != "operand"))
    return Walked(tuple(kept), next((part.stopped for part in parts if part.stopped), ""))


def unseen_outputs(program: Program, rows: Iterable[Row]) -> tuple[str, ...]:
    """Names of the net's outputs that no row compares, nor leaves out on purpose."""
    seen = {row.name for row in rows if row.verdict != "unknown" and row.role != "operand"}
    return tuple(tensor.name for tensor in program.outputs if tensor.name not in seen)


def write_tensors(path: Path, comparisons: Iterable[Looked]) -> int:
    """Write each tensor as ``<name>@<line>.<role><index>.actual`` and ``.expected``, float32; returns how many."""
    arrays: dict[str, Any] = {}
    for looked in comparisons:
        row = looked.row
        if looked.actual is not None and looked.expected is not None:
            stem = f"{row.name}@{row.line}.{row.role}{row.index}"
            arrays[f"{stem}.actual"], arrays[f"{stem}.expected"] = looked.actual, looked.expected
    write_npz(path, arrays)
    return len(arrays) // 2


def by_layer(program: Program, rows: Iterable[Row]) -> tuple[LayerRow, ...]:
    """The results of each layer, in the order of execution; empty where the compiler's earlier files are not there."""
    mlir = program.source.mlir
    origins = program.compile_stages
    if mlir is None or not origins.stages:
        return ()
    layers: dict[str, tuple[OriginalLayer, list[Row]]] = {}
    for row in rows:
        op = mlir.op_at(row.line)
        layer = origins.layer_of(op) if op is not None and row.role == "result" else None
        if layer is not None:
            layers.setdefault(layer.name, (layer, []))[1].append(row)
    return tuple(_summed_up(layer, results) for layer, results in layers.values())


def _summed_up(layer: OriginalLayer, rows: list[Row]) -> LayerRow:
    verdicts = {row.verdict for row in rows}
    judged = [row.numbers for row in rows if row.numbers is not None]
    return LayerRow(
        name=layer.name,
        opcode=layer.opcode,
        nodes=layer.nodes,
        file=layer.path.name,
        line=layer.line,
        lines=tuple(sorted({row.line for row in rows})),
        verdict=next(v for v in ("fail", "pass", "excepted", "unknown") if v in verdicts),
        cosine=min((numbers.cosine for numbers in judged), default=None),
        euclidean=min((numbers.euclidean for numbers in judged), default=None),
    )
