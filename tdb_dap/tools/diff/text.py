"""The difference of two models as text: for the console, and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

from tdb_dap.engine.rendering.printable import counted, table_row
from tdb_dap.tools.check.text import cells
from tdb_dap.tools.diff.schema import DiffReport, LayerOf, Side

_SHOWN = 12
"""Layers and tensors that the console lists in full."""


def headline(report: DiffReport) -> str:
    """Outcome in one line."""
    wrong = report.differing_values
    structure = "same structure" if report.is_same_structure else "different structure"
    if report.not_compared:
        return f"{structure}; values not compared: {report.not_compared}"
    compared = sum(row.verdict in ("pass", "fail") and row.role != "operand" for row in report.values)
    if not wrong:
        return f"{structure}; {counted(compared, 'tensor')} compared, all alike"
    return f"{structure}; {len(wrong):,} of {compared:,} tensors differ, the first: {_place(report)}"


def _place(report: DiffReport) -> str:
    first = report.differing_values[0]
    return f"{first.name} ({first.title} of B)"


def _side(letter: str, side: Side) -> str:
    counts = ", ".join(f"{count:,} {engine.upper()}" for engine, count in sorted(side.commands.items()))
    return f"{letter}  {side.model}: {side.chip}, net {side.net}, {counts or 'no'} commands, compiler {side.compiler}"


def _only(letter: str, layers: tuple[LayerOf, ...], limit: int) -> Iterator[str]:
    for layer in layers[:limit]:
        yield f"only in {letter}: {layer.name}, {layer.opcode} at line {layer.line}"
    if len(layers) > limit:
        yield f"only in {letter}: {len(layers) - limit:,} more"


def lines(report: DiffReport, everything: bool = False) -> Iterator[str]:
    """Lines for the console. ``everything``: all layers and tensors, not only the first ones."""
    limit = 1 << 30 if everything else _SHOWN
    yield _side("A", report.a)
    yield _side("B", report.b)
    common = counted(report.common, "layer")
    yield f"{common} in both, {len(report.only_a):,} only in A, {len(report.only_b):,} only in B"
    yield from _only("A", report.only_a, limit)
    yield from _only("B", report.only_b, limit)
    for change in report.instructions:
        yield f"instruction {change.what}: {change.a} in A, {change.b} in B"
    for layer in report.layers[:limit]:
        yield f"{layer.name} (line {layer.line_a} of A, line {layer.line_b} of B)"
        for change in layer.changes:
            yield f"  {change.what}: {change.a or 'none'} -> {change.b or 'none'}"
    if len(report.layers) > limit:
        yield f"{len(report.layers) - limit:,} more layers are compiled differently; --all lists them"
    for row in report.differing_values[:limit]:
        yield f"value {row.name}: {row.title} of B: {'; '.join(row.complaints)}"
    if len(report.differing_values) > limit:
        yield f"{len(report.differing_values) - limit:,} more tensors differ; --all lists them"
    yield headline(report)


def markdown(report: DiffReport) -> str:
    """The whole report as Markdown."""
    out = ["# Two compiled models", "", f"**{headline(report)}**", "", f"- {_side('A', report.a)}"]
    out += [f"- {_side('B', report.b)}", ""]
    if report.only_a or report.only_b:
        out += ["## Layers that only one has", "", "| in | layer | op | line |", "|---|---|---|---|"]
        for letter, layers in (("A", report.only_a), ("B", report.only_b)):
            out += [table_row(letter, layer.name, layer.opcode, str(layer.line)) for layer in layers]
        out.append("")
    if report.instructions:
        out += ["## Instructions", "", "| instruction | A | B |", "|---|---|---|"]
        out += [*(table_row(change.what, change.a, change.b) for change in report.instructions), ""]
    if report.layers:
        out += ["## Layers compiled differently", "", "| layer | lines | what | A | B |", "|---|---|---|---|---|"]
        for layer in report.layers:
            place = f"{layer.line_a}, {layer.line_b}"
            out += [table_row(layer.name, place, change.what, change.a, change.b) for change in layer.changes]
        out.append("")
    if report.values:
        titles = ("line of B", "op", "tensor", "verdict", "cosine", "euclidean", "max difference", "ULP", "bad")
        out += ["## Values of B against those of A", "", table_row(*titles), "|---" * len(titles) + "|"]
        out += [table_row(*cells(row)[: len(titles)]) for row in report.values if row.role != "operand"]
        out.append("")
    return "\n".join(out)
