"""Tensors that differ in the form of findings that is common to all commands."""

from __future__ import annotations

from tdb_dap.engine.checks.exception_filters import FILTERS
from tdb_dap.engine.files.context import Context
from tdb_dap.tools.check.schema import RULE, Report, Row
from tdb_dap.tools.check.text import story
from tdb_dap.tools.findings.findings import Case, Finding, Findings, Place, Rule, model_name


def findings_of(report: Report, context: Context, stage: int) -> Findings:
    """A finding for each tensor that differs, a case for each that was compared or left out."""
    findings: list[Finding] = []
    cases: list[Case] = []
    for row in report.rows:
        numbers: tuple[int, ...] = ()
        if row.verdict == "fail":
            numbers = (len(findings),)
            findings.append(_finding(row, context))
        if row.verdict != "unknown":
            left_out = "left out by --except" if row.verdict == "excepted" else ""
            cases.append(Case(row.opcode or "net", _name(row), numbers, left_out))
    rule = {RULE: Rule(FILTERS[RULE].label, FILTERS[RULE].description)}
    return Findings.of("check", model_name(context), report.net, stage, rule, findings, cases, report.stopped)


def _finding(row: Row, context: Context) -> Finding:
    accumulates = row.blame is not None and row.blame.kind == "accumulates"
    file = context.mlir if row.line and context.mlir is not None else context.bmodel
    name = _name(row)
    return Finding(
        rule=RULE,
        level="warning" if accumulates else "error",
        text="; ".join(line.strip() for line in story(row)),
        place=Place(str(file), row.line if file == context.mlir else 0, name, f"{row.title}: {name}", "variable"),
        identity=f"{row.name}:{row.opcode}:{row.role}:{row.index}",
    )


def _name(row: Row) -> str:
    return row.name if row.role == "result" else f"{row.name} ({row.role} {row.index})"
