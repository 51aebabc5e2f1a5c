"""Findings of sanitizers in the form that is common to all commands."""

from __future__ import annotations

from tdb_dap.engine.checks.exception_filters import FILTERS
from tdb_dap.engine.program.program import Program
from tdb_dap.tools.findings.findings import Case, Finding, Findings, Place, Rule, model_name
from tdb_dap.tools.sanitize.schema import CommandPlace, SanitizerFinding, SanitizerReport


def findings_of(program: Program, report: SanitizerReport, stage: int, strict: bool) -> Findings:
    """A finding for each of the report, a case for each op. ``strict``: warnings fail, too."""
    rules = {name: Rule(FILTERS[name].label, FILTERS[name].description) for name in report.sanitizers}
    findings = [_finding(program, finding, strict) for finding in report.findings]
    return Findings.of(
        "sanitize",
        model_name(program.context),
        report.net,
        stage,
        rules,
        findings,
        _cases(program, report),
        report.stopped,
    )


def _finding(program: Program, finding: SanitizerFinding, strict: bool) -> Finding:
    at = finding.command
    return Finding(
        rule=finding.sanitizer,
        level=finding.severity,
        text=finding.text,
        place=_place(program, at),
        identity=f"{at.location or at.op}:{at.name}",
        related=tuple(_place(program, other) for other in finding.related),
        fails=strict or finding.severity == "error",
    )


def _place(program: Program, at: CommandPlace) -> Place:
    context = program.context
    source = at.file or context.mlir
    file = source if at.line and source is not None else context.bmodel
    name = f"core {at.core}: {at.token} {at.name}"
    full_name = f"{at.location or program.net.name}: {name}"
    return Place(str(file), at.line, name, full_name, "instruction", at.asm)


def _cases(program: Program, report: SanitizerReport) -> list[Case]:
    """The ops in the order of final.mlir, each once, then the commands that belong to none."""
    about: dict[tuple[int, str, str], list[int]] = {}
    for record in sorted(program.source.records, key=lambda record: (record.line, record.index)):
        values = [value.name for value in record.results]
        about.setdefault((record.line, record.opcode, values[0] if values else ""), [])
    for number, finding in enumerate(report.findings):
        at = finding.command
        about.setdefault((at.line, at.op, at.location), []).append(number)
    about.setdefault((0, "", ""), [])
    return [
        Case(opcode or "command", name or (f"line {line}" if line else "commands of no op"), tuple(findings))
        for (line, opcode, name), findings in about.items()
    ]
