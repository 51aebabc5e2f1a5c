"""A profile as text: the console's table, and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tdb_dap.engine.rendering.printable import aligned, elided, fitted, ranges, table_row
from tdb_dap.tools.profile.schema import MemoryUse, OpTime, ProfileReport, TokensProfile

MOST_OPS = 30
"""Ops that a terminal shows if not all are asked for."""

_LEAST_SHARE = 0.005

_SPARE = ("commands", "op", "TOPS", "GB/s", "DMA cycles", "TIU cycles")

COLUMNS = ("line", "op", "result", "commands", "TIU cycles", "DMA cycles", "share", "TOPS", "GB/s")


def lines(
    report: ProfileReport, order: str = "time", limit: int | None = None, width: int | None = None
) -> Iterator[str]:
    """The profile for a terminal of so many columns.

    ``order``: ``time`` ranks the ops, ``line`` keeps the order of final.mlir.
    """
    yield from heading(report)
    yield ""
    if report.tokens is not None:
        yield from token_lines(report.tokens)
        yield ""
    ops = sorted(report.ops, key=lambda op: op.line) if order == "line" else list(report.ops)
    yield from _table(report, ops[:limit], width)
    if limit is not None and len(ops) > limit:
        yield f"... {len(ops) - limit:,} more ops; --all lists them"
    yield ""
    yield from closing(report, width)


def token_lines(tokens: TokensProfile) -> Iterator[str]:
    """A completion by token, by net and by kind of op."""
    rows = [("token", "launches", "cycles", "ms", "weights", "of DMA", "simulated s")]
    rows += [
        (
            str(one.token) if one.token else "prompt",
            f"{one.launches:,}",
            f"{one.cycles:,.0f}",
            f"{one.milliseconds:,.3f}" if one.milliseconds is not None else "",
            _bytes(one.weights_read),
            f"{one.weights_share:.0%}",
            f"{one.seconds:.2f}" if one.seconds is not None else "",
        )
        for one in tokens.tokens
    ]
    yield from aligned(rows)
    chip = f"{tokens.rate:,.1f} tokens/s on the chip" if tokens.rate is not None else ""
    here = f"{tokens.simulated_rate:,.2f} in the simulation" if tokens.simulated_rate is not None else ""
    if chip or here:
        yield f"after the prompt: {', '.join(filter(None, (chip, here)))}"
    yield "nets: " + ", ".join(f"{net.net} {net.share:.0%} ({net.launches:,}x)" for net in tokens.nets)
    kinds = [kind for kind in tokens.kinds if kind.share >= _LEAST_SHARE]
    yield "ops: " + ", ".join(f"{kind.opcode or 'none'} {kind.share:.0%}" for kind in kinds)


def closing(report: ProfileReport, width: int | None = None) -> Iterator[str]:
    """Lines on how full the memories are, and on what no time is known of; names fit into lines of ``width``."""
    for memory in report.memories:
        yield from _memory(memory, width)
    for reason in report.unknown:
        yield f"no time known: {reason}"


def heading(report: ProfileReport) -> Iterator[str]:
    """Sums, a line for each."""
    time = f", {report.milliseconds:,.3f} ms at {report.clock:g} MHz" if report.milliseconds is not None else ""
    yield f"{report.model}: {report.chip}, net {report.net}"
    work = f"{report.commands:,} commands, {report.operations / 1e6:,.1f} M operations"
    yield f"{report.cycles:,.0f} cycles{time}; {work}"
    origin = f"{report.given:,} of them the compiler's own figures" if report.given else "all estimated"
    if report.measured:
        origin = f"{report.measured:,} measured ({report.measured_in})"
    yield f"cycles of commands: {origin}; estimates: {report.source or 'none for this chip'}"
    for notice in report.remarks:
        yield f"measured: {notice}"
    for engine in report.engines:
        core = f"core {engine.core} " if len(report.overlap) > 1 else ""
        yield f"{core}{engine.engine.upper()}: busy {engine.busy:,.0f} cycles, {engine.utilisation:.0%} of the time"
    for number, overlap in enumerate(report.overlap):
        core = f"core {number} " if len(report.overlap) > 1 else ""
        yield f"{core}both engines at once {overlap:,.0f} cycles, {overlap / report.cycles if report.cycles else 0:.0%}"
    yield f"from DDR and L2 {_bytes(report.read)}, to them {_bytes(report.written)}"
    if report.comparison is not None:
        section = report.comparison
        yield (
            f"estimates compared with the compiler's figures: {section.commands:,} commands, "
            f"rank correlation {section.rank:.3f}, "
            f"sum {section.ratio:.2f} times, whole {section.total:.2f} times as long"
        )
    if report.expectation is not None:
        section = report.expectation
        yield (
            f"expected compared with measured: {section.commands:,} commands, rank correlation {section.rank:.3f}, sum "
            f"{section.ratio:.2f} times, whole {section.total:.2f} times as long"
        )


def columns(report: ProfileReport) -> tuple[str, ...]:
    """The titles of the table: some are there only if there is something below them."""
    first = report.ops[0] if report.ops else None
    cores = ("cores",) if _has_cores(report) else ()
    expected = ("expected", "took") if first is not None and first.expected is not None else ()
    return (*COLUMNS, *cores, *expected, *(("host ms",) if first is not None and first.host is not None else ()))


def _has_cores(report: ProfileReport) -> bool:
    return len({engine.core for engine in report.engines}) > 1


def rows(report: ProfileReport, ops: Iterable[OpTime]) -> Iterator[tuple[str, ...]]:
    """The texts of ops, below ``columns``."""
    return (_cells(op, _has_cores(report)) for op in ops)


def _cells(op: OpTime, has_cores: bool) -> tuple[str, ...]:
    rate = "" if op.operations_rate is None or not op.operations else f"{op.operations_rate / 1e12:.2f}"
    bandwidth = "" if op.bandwidth is None or not (op.read or op.written) else f"{op.bandwidth / 1e9:.1f}"
    texts: tuple[str, ...] = (
        str(op.line or ""),
        op.opcode,
        op.name,
        f"{op.commands:,}",
        f"{op.tiu:,.0f}",
        f"{op.dma:,.0f}",
        f"{op.share:.1%}",
        rate,
        bandwidth,
    )
    if has_cores:
        texts = (*texts, ranges(op.cores))
    if op.expected is not None:
        took = f"{(op.tiu + op.dma) / op.expected:.2f}x" if op.expected else ""
        texts = (*texts, f"{op.expected:,.0f}", took)
    return (*texts, f"{op.host:.2f}") if op.host is not None else texts


def _table(report: ProfileReport, ops: list[OpTime], width: int | None) -> Iterator[str]:
    table = fitted([columns(report), *rows(report, ops)], width, ("result", "op"), _SPARE)
    left = [i for i, title in enumerate(table[0]) if title in ("op", "result")]
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        texts = (t.ljust(w) if i in left else t.rjust(w) for i, (t, w) in enumerate(zip(row, widths, strict=True)))
        yield "  ".join(texts).rstrip()


_AROUND_NAME = 18
"""Columns of the indent and of the size after a name."""


def _memory(memory: MemoryUse, width: int | None) -> Iterator[str]:
    of = f" of {_bytes(memory.size)}" if memory.size else ""
    yield (
        f"{memory.memory}: at most {_bytes(memory.peak)}{of} in use, at command {memory.peak_ordinal:,}; "
        f"fragmentation {memory.fragmentation:.0%}"
    )
    used = [(elided(name, width - _AROUND_NAME) if width else name, size) for name, size in memory.responsible[:6]]
    yield "  " + ", ".join(f"{name} {_bytes(size)}" for name, size in used)


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count} bytes"


def markdown(report: ProfileReport) -> str:
    """The whole report as Markdown."""
    return "\n".join([f"# Profile of {report.model}", "", *sections(report, "## Memory"), ""])


def sections(report: ProfileReport, memory: str) -> Iterator[str]:
    """The report as Markdown below a heading. ``memory``: the heading above the memories."""
    titles = columns(report)
    yield from (f"- {line}" for line in heading(report))
    if report.tokens is not None:
        yield from ("", "```", *token_lines(report.tokens), "```")
    yield from ("", table_row(*titles), "|---" * len(titles) + "|")
    yield from (table_row(*row) for row in rows(report, report.ops))
    yield from ("", memory, "", *(f"- {line.strip()}" for line in closing(report)))
