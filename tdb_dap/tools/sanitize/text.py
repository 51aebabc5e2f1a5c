"""Findings as text: lines as compilers write them, which editors understand, and Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

from tdb_dap.engine.rendering.printable import first_of, table_row
from tdb_dap.system.patterns import pattern
from tdb_dap.tools.sanitize.schema import CommandPlace, SanitizerFinding, SanitizerReport

_NUMBER = pattern(r"(?:0x[0-9a-f]+|\d[\d,]*)(?:\.(?:0x[0-9a-f]+|\d+))?")


def without_numbers(text: str) -> str:
    """The same for texts that differ in numbers alone."""
    return _NUMBER.sub("0", text)


def headline(report: SanitizerReport) -> str:
    """Outcome in one line."""
    if not report.findings:
        return f"no findings in {report.commands:,} commands ({', '.join(report.sanitizers)})"
    counts = Counter(finding.sanitizer for finding in report.findings)
    each = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    errors, warnings = report.count("error"), report.count("warning")
    return f"{_many(errors, 'error')}, {_many(warnings, 'warning')} in {report.commands:,} commands: {each}"


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' if count != 1 else ''}"


def lines(report: SanitizerReport, known: Collection[int] = ()) -> Iterator[str]:
    """Lines for the console: per finding ``FILE:LINE: error: TEXT [SANITIZER]``, then its commands.

    Of those of one op that differ in numbers alone the first is written out, and the others are counted. ``known``:
    numbers of the findings that a baseline has; they are notes.
    """
    alike: dict[tuple[str, ...], list[SanitizerFinding]] = {}
    for number, finding in enumerate(report.findings):
        severity: str = "note: known" if number in known else finding.severity
        where, text = _where(report, finding.command), without_numbers(finding.text)
        alike.setdefault((where, severity, text, finding.sanitizer), []).append(finding)
    for (where, severity, *_), findings in alike.items():
        finding = findings[0]
        yield f"{where}: {severity}: {finding.text} [{finding.sanitizer}]"
        for detail in finding.details:
            yield f"    {detail}"
        for other in finding.related:
            yield f"{_where(report, other)}: note: {other.token} {other.name} is here"
        if others := [other.command.token for other in findings[1:]]:
            yield f"    {len(others):,} more like it of this op: {first_of(others)}"
    yield headline(report)


def _where(report: SanitizerReport, place: CommandPlace) -> str:
    return f"{place.file or report.source}:{place.line}" if place.line else report.model


def markdown(report: SanitizerReport) -> str:
    """The report for a page of text."""
    made = [
        f"# {report.model}",
        "",
        f"{report.chip}, net {report.net}; {report.tool}; sanitizers: {', '.join(report.sanitizers)}",
        "",
        f"**{headline(report)}**",
    ]
    if report.stopped:
        made += ["", f"The run did not reach the end: {report.stopped}"]
    if report.findings:
        made += ["", table_row("sanitizer", "severity", "line", "op", "command", "what"), "|---" * 6 + "|"]
        made += [_cells(finding) for finding in report.findings]
    return "\n".join(made) + "\n"


def _cells(finding: SanitizerFinding) -> str:
    at = finding.command
    line = str(at.line or "")
    return table_row(finding.sanitizer, finding.severity, line, at.op, str(at.ordinal), finding.text)
