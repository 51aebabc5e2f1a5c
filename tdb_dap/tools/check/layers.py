"""Results of a check by layer of the original model."""

from __future__ import annotations

from collections.abc import Iterable

from tdb_dap.engine.program.program import Program
from tdb_dap.engine.source.compile_stages import OriginalLayer
from tdb_dap.tools.check.schema import LayerRow, Row


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
    return tuple(_summed_up(layer, found) for layer, found in layers.values())


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
