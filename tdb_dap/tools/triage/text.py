"""A triage on one screen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from tdb_dap.engine.rendering.printable import aligned, counted
from tdb_dap.tools.sanitize.text import without_numbers
from tdb_dap.tools.triage.schema import StageRow, Triage
from tdb_dap.tools.triage.sensitivity import Mixed
from tdb_dap.tools.triage.stages import MODEL, TPU

_COLUMNS = ("stage", "file", "judged", "wrong", "remarks")
_LONGEST = 100
_MOST_FINDINGS = 3
_MOST_RANKED = 8


def lines(result: Triage) -> Iterator[str]:
    """Lines that are printed: the stages, the op in all of them, what costs most, the verdict and the command."""
    yield from aligned([_COLUMNS, *map(_cells, result.stages)])
    if result.places:
        yield ""
        yield f"{result.tensor}:"
        for place in result.places:
            where = f"{Path(place.file).name}:{place.line}" if place.line else Path(place.file).name
            yield f"  {place.stage:<12}{place.opcode} at {where}" if where else f"  {place.stage:<12}{place.opcode}"
    if result.costs and result.verdict in ("quantisation", "incomplete", "calibration"):
        yield ""
        yield "what the formats cost most, error of the op over the size of its numbers:"
        for cost in result.costs:
            beyond = f", {cost.saturated:.1%} saturated" if cost.saturated >= 0.001 else ""
            yield f"  {cost.share:7.2%}  {cost.name} ({cost.opcode}){beyond}"
    if result.others:
        yield ""
        yield f"also wrong, after it: {len(result.others):,}"
        for text in result.others[:_MOST_FINDINGS]:
            yield f"  {_cut(text)}"
    if result.keep:
        yield ""
        yield f"keep in {result.keep_in or 'a format with a wider range'}: {', '.join(result.keep)}"
    if result.sanitizers:
        yield ""
        yield f"sanitizers: {counted(len(result.sanitizers), 'finding')}"
        alike: dict[str, list[str]] = {}
        for text in result.sanitizers:
            alike.setdefault(without_numbers(text), []).append(text)
        for first, *others in list(alike.values())[:_MOST_FINDINGS]:
            yield f"  {_cut(first)}{f'; {len(others):,} more like it' if others else ''}"
    yield ""
    yield result.sentence
    if result.command:
        yield f"next: {result.command}"


def _cells(row: StageRow) -> tuple[str, ...]:
    unknown = f"no golden: {', '.join(row.unknown)}" if row.unknown else ""
    zeros = f"{row.zeros:,} all zeros" if row.zeros else ""
    remarks = _cut("; ".join(filter(None, (row.missing, _absent(row), zeros, unknown))))
    return (row.stage, row.file, f"{row.judged} of {row.tensors}", str(row.bugs), remarks)


def _absent(row: StageRow) -> str:
    """Number of tensors that the file of a stage holds, if not all, and the option that writes them."""
    if row.stage == MODEL or not row.known + row.borrowed or row.known >= row.tensors:
        return ""
    taken = f", {row.borrowed:,} taken from the bmodel's run" if row.borrowed else ""
    advice = ": compile with --compare_all" if row.stage == TPU else ""
    return f"{row.known:,} of {row.tensors:,} tensors in its file{taken}{advice}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def mixed_lines(mixed: Mixed, path: Path, wanted: float) -> Iterator[str]:
    """The costs of precision at the output, the promise of the written table, and what came of it."""
    yield "cosine of the output if only this op had its precision:"
    for one in mixed.ranked[:_MOST_RANKED]:
        yield f"  {one.cosine:.6f}  {one.name} ({one.opcode}), own error {one.share:.2%}"
    yield ""
    if mixed.beyond:
        yield f"{_ops(mixed.beyond)} with numbers beyond the range of the format: always in {mixed.kept_in}"
    text = f"with {_ops(len(mixed.kept))} in {mixed.kept_in} the output reaches cosine {mixed.then:.6f}"
    now = "it holds NaNs or infinities now" if math.isnan(mixed.now) else f"it has {mixed.now:.6f} now"
    yield f"{path}: {text}; {now}"
    if mixed.failure:
        yield mixed.failure
    elif mixed.came is not None:
        yield f"compiled by it the output has cosine {mixed.came:.6f}"
    if not mixed.is_reached(wanted):
        yield f"{wanted}, which was asked for, is not reached"


def _ops(count: int) -> str:
    return f"{count:,} op{'s' if count != 1 else ''}"
