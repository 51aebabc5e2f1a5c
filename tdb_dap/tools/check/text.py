"""The report as text: a table for the console, and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from tdb_dap.engine.reference.metrics import similarity_text
from tdb_dap.engine.rendering.printable import aligned, counted, fitted, table_row
from tdb_dap.tools.check.causes.shadows import lines as shadow_lines
from tdb_dap.tools.check.schema import ORIGINS, ROUNDED, RULE, LayerRow, Report, Row
from tdb_dap.tools.findings.findings import Findings

COLUMNS = ("line", "op", "tensor", "verdict", "cosine", "euclidean", "max difference", "ULP", "bad", "blame")


LAYER_COLUMNS = ("layer", "op", "ONNX nodes", "at", "lines of final.mlir", "verdict", "cosine", "euclidean")


_MOST_NOTES = 8
"""Tensors of another shape that the console names."""

_IN_FULL = 3
"""Wrong results that the console describes in full."""

ACCUMULATED = "differs by accumulated rounding; no op at fault"

_REASONS = {
    "weight": "weights",
    "load or store": "loads and stores",
    "no such name": "no such name in the reference",
    "other size": "another size in the reference",
    "other shape": "another shape in the reference",
    "only NaN": "only NaN in the reference",
    "from the reference": "taken from the reference",
    "not certain": "not certain in the recording",
    "rearranged": "channels spread for a convolution",
    "unknown layout": "layout not described",
    "unknown type": "type not known",
    "not in memory": "in no recorded memory",
    "": "no reason given",
}
"""Reason of a row -> the words after its count."""

_NOTED = ("other size", "other shape", "only NaN", "from the reference")
"""Reasons for which a tensor has a line of its own."""


def not_compared(report: Report) -> str:
    """Number of tensors not compared, and why: ``16 not compared (12 weights, 4 loads and stores)``."""
    reasons: Counter[str] = Counter(row.reason for row in report.rows if row.verdict == "unknown")
    parts = [f"{reasons[reason]:,} {words}" for reason, words in _REASONS.items() if reasons[reason]]
    excepted = report.count("excepted")
    text = f"{reasons.total():,} not compared" + (f" ({', '.join(parts)})" if parts else "")
    return text + (f", {excepted:,} left out by --except" if excepted else "")


def headline(report: Report) -> str:
    """Outcome of the check in one line."""
    failed = report.failures
    compared = report.count("pass") + report.count("fail")
    rounded = {row.name for row in report.rows if row.note == ROUNDED and row.role != "operand"}
    # Behind an op at fault most of it is inherited.
    only = f", {len(rounded):,} only {'inherited or rounded' if failed else 'by rounding'}" if rounded else ""
    counts = f"{counted(compared, 'tensor')} compared, {len(failed):,} differ{only}, {not_compared(report)}"
    weights = report.weights
    if weights is not None and weights.equal and not weights.differ:
        counts += f"; {counted(weights.equal, 'weight')} as compiled"
    if report.unseen_outputs:
        more = f" and {counted(len(report.unseen_outputs) - 1, 'more output')}" if report.unseen_outputs[1:] else ""
        counts += f"; output {report.unseen_outputs[0]}{more} not compared"
    if report.stopped:
        return f"stopped before the end: {report.stopped} ({counts})"
    if not failed and not report.judged:
        return f"no result was compared: {counts}"
    if not failed and weights is not None and weights.differ:
        return f"fail: {counted(weights.differ, 'weight')} of the bmodel not as compiled; {counts}"
    if not failed and report.uncomputed:
        return f"incomplete: {counts}"
    if not failed:
        return f"pass: {counts}"
    first = report.culprit or failed[0]
    if report.is_accumulated:
        return f"{ACCUMULATED}: first beyond its limits is {first.name} ({first.title}); {counts}"
    if first.blame is not None and first.blame.kind == "input":
        return f"fail: {first.blame.text}; give --inputs the file that the reference was made with"
    if first.blame is not None and first.blame.kind in ("overwritten", "race"):
        return f"fail: {first.blame.text}; {counts}"
    is_known = first.blame is not None and first.blame.kind in ORIGINS and not first.blame.suspects
    what = "first at fault" if is_known else "first to differ"
    known = (report.op_weights.text if report.op_weights is not None else "", report.other_sign)
    cause = f": {'; '.join(filter(None, known))}" if any(known) else ""
    unseen = "; the reference holds no result of an op before it" if _is_first_seen(report, first) else ""
    return f"fail: {what} is {first.name} ({first.title}){cause}{unseen}; {counts}"


def _is_first_seen(report: Report, row: Row) -> bool:
    """Whether the results of ops before a row have no counterpart in the reference."""
    before = [one for one in report.rows if one.role != "operand" and one.last < row.first]
    before = [one for one in before if one.opcode not in ("tpu.Load", "tpu.Store") and one.reason != "weight"]
    return bool(before) and all(one.verdict == "unknown" and one.reason != "not certain" for one in before)


def shape_notes(report: Report) -> list[str]:
    """Tensors of which the reference has another shape or size: how they were compared, or that they were not."""
    notes = {row.name: row.note for row in report.rows if row.note and _is_of_shape(row)}
    return [f"{name}: {note}" for name, note in notes.items()]


def _is_of_shape(row: Row) -> bool:
    is_other = row.verdict == "pass" and row.note != ROUNDED
    return row.role != "operand" and (is_other or row.reason in _NOTED)


def weight_notes(report: Report) -> list[str]:
    """Weights that are not the compiler's, a line each."""
    weights = report.weights
    if weights is None or not weights.differ:
        return []
    name = weights.file.replace("\\", "/").rsplit("/", 1)[-1]
    lines = [
        f"weight {other.name} (line {other.line}) is not that of {name}: {other.differing:,} of {other.size:,} bytes "
        f"differ, the first at {other.first:,}"
        for other in weights.others
    ]
    more = weights.differ - len(weights.others)
    return [*lines, *([f"{more:,} more weights differ"] if more else [])]


def no_verdict(report: Report) -> str:
    """Why a check has no verdict, in one line; empty if it has one."""
    if report.failures or (report.judged and not report.uncomputed):
        return ""
    if report.judged:
        reasons = {row.name: row.note for row in report.rows if row.name in report.uncomputed and row.note}
        return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
    inputs = list(dict.fromkeys(row.name for row in report.rows if row.verdict == "pass"))
    notes = shape_notes(report)[:4]
    if inputs and not notes:
        return f"no result of an op and no output was compared: the reference holds only {', '.join(inputs[:4])}"
    return "; ".join(["not one result could be compared", *notes])


def cells(row: Row) -> tuple[str, ...]:
    """The texts of one row of the table."""
    numbers = row.numbers
    known = ("", "", "", "", "")
    if numbers is not None:
        ulp = "" if numbers.max_ulp is None else f"{numbers.max_ulp:.0f}"
        known = (
            similarity_text(numbers.cosine),
            similarity_text(numbers.euclidean),
            f"{numbers.max_abs:.4g}",
            ulp,
            f"{numbers.bad_share:.1%}",
        )
    place = row.name if row.role == "result" else f"{row.name} ({row.role})"
    return (str(row.line or ""), row.opcode, place, row.verdict, *known, reason_text(row))


def reason_text(row: Row) -> str:
    """Why a tensor is wrong, or why it was not compared."""
    if row.blame is not None and row.blame.text:
        return row.blame.text
    return f"{row.reason}, {row.note}" if row.reason in ("weight", "load or store") else row.note


def layer_cells(layer: LayerRow) -> tuple[str, ...]:
    """The texts of one layer."""
    numbers = ("" if number is None else f"{number:.6f}" for number in (layer.cosine, layer.euclidean))
    place = f"{layer.file}:{layer.line}"
    lines = ", ".join(map(str, layer.lines))
    return (layer.name, layer.opcode, ", ".join(layer.nodes), place, lines, layer.verdict, *numbers)


_NAMES = ("tensor", "op")
_SPARE = ("blame", "ULP", "verdict", "op", "euclidean")


def table(rows: Sequence[Row], width: int | None = None) -> list[str]:
    """Lines of a table with aligned columns, of at most ``width`` letters.

    Where reasons do not fit beside the numbers, each has a line below its row; verdicts are left out where all are one.
    """
    full = [COLUMNS, *map(cells, rows)]
    spare = _SPARE if len({row.verdict for row in rows}) == 1 else tuple(name for name in _SPARE if name != "verdict")
    fitting = fitted(full, width, _NAMES, spare)
    head, *lines = aligned(fitting)
    below = [""] * len(rows) if "blame" in fitting[0] else [row[-1] for row in full[1:]]
    return [
        head,
        *(line for one, why in zip(lines, below, strict=True) for line in (one, f"      {why}") if line.strip()),
    ]


def story(row: Row) -> Iterable[str]:
    """Sentences about one wrong tensor: what is beyond a limit, and where."""
    yield f"{row.name}: {row.title}, {row.dtype}"
    if row.covered < 1:
        yield f"  {row.covered:.0%} of the tensor is written by this op"
    for complaint in row.complaints:
        yield f"  {complaint}"
    numbers = row.numbers
    if numbers is not None and numbers.first_bad is not None:
        yield f"  {numbers.bad_count:,} of {numbers.size:,} elements differ, the first at {list(numbers.first_bad)}"
        if numbers.worst is not None and numbers.worst_actual is not None and numbers.worst_expected is not None:
            values = f"{numbers.worst_actual:.6g} instead of {numbers.worst_expected:.6g}"
            yield f"  the largest difference at {list(numbers.worst)}: {values}"
    if row.blame is not None:
        yield f"  {row.blame.text}"


def console(report: Report, findings: Findings, lists_all: bool = False, width: int | None = None) -> Iterator[str]:
    """Lines for a terminal of so many columns: the outcome first, but last where more follows than a screen has."""
    shown = report.rows if lists_all else () if report.has_other_inputs else report.failures
    is_long = lists_all or report.profiled is not None
    if not is_long:
        yield headline(report)
    yield from (*weight_notes(report), *shape_notes(report)[:_MOST_NOTES])
    if shown:
        yield from ("", *table(shown, width))
    wrong = [row for row in shown if row.verdict == "fail"] if report.has_other_inputs else report.failures
    wrong = [row for row in wrong if row.role != "operand" or row.blame is not None]
    for row in wrong[:_IN_FULL]:
        yield from ("", *story(row))
    if shadows := list(shadow_lines(report.rows, lists_all, width)):
        yield from ("", *shadows)
    if report.profiled is not None:
        from tdb_dap.tools.profile import text as profiles  # only that choice of the command needs it

        yield from ("", *profiles.lines(report.profiled, limit=None if lists_all else profiles.MOST_OPS, width=width))
    if is_long:
        yield from ("", headline(report))
    if report.sanitized is not None:
        from tdb_dap.tools.sanitize import text as sanitizers  # only that choice of the command needs it

        of_sanitizers = [finding for finding in findings.findings if finding.rule != RULE]
        known = [number for number, finding in enumerate(of_sanitizers) if finding.is_known]
        yield from ("", *sanitizers.lines(report.sanitized, known))


def markdown(report: Report) -> str:
    """The whole report as Markdown."""
    lines = [
        f"# Check of {report.model}",
        "",
        f"**{headline(report)}**",
        "",
        f"{report.chip}, net {report.net}, {report.commands:,} commands, {report.mode}, tolerance profile "
        f"{report.profile}, {report.seconds:.1f} s, {report.tool}",
        "",
        f"Reference: {', '.join(report.references)}",
        "",
    ]
    if report.failures:
        lines += ["## What differs", "", *_grid(COLUMNS, map(cells, report.failures)), ""]
    if report.layers:
        lines += ["## By layer of the original model", "", *_grid(LAYER_COLUMNS, map(layer_cells, report.layers)), ""]
    if report.sanitized is not None:
        from tdb_dap.tools.sanitize import text as sanitizers  # only that choice of the command needs it

        lines += ["## Sanitizers", "", f"**{sanitizers.headline(report.sanitized)}**", ""]
        lines += [f"- {line}" for line in list(sanitizers.lines(report.sanitized))[:-1]]
        lines += [""] * bool(report.sanitized.findings)
    if report.profiled is not None:
        from tdb_dap.tools.profile import text as profiles  # only that choice of the command needs it

        lines += ["## Where the time goes", "", *profiles.sections(report.profiled, "### Memory"), ""]
    return "\n".join([*lines, "## All tensors", "", *_grid(COLUMNS, map(cells, report.rows)), ""])


def _grid(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [table_row(*columns), "|---" * len(columns) + "|", *(table_row(*row) for row in rows)]
