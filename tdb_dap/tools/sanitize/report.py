"""From a survey to its report."""

from __future__ import annotations

from collections.abc import Mapping

from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.sanitizers.hazards import NAME as HAZARD
from tdb_dap.engine.sanitizers.survey import Survey
from tdb_dap.tools.sanitize.schema import CommandPlace, SanitizerFinding, SanitizerReport
from tdb_dap.version import __version__


def report_of(program: Program, sanitizers: Mapping[str, str | None], survey: Survey) -> SanitizerReport:
    """Everything that a reader without the model needs."""
    context = program.context
    looked = {name: condition for name, condition in sanitizers.items() if program.has_waits or name != HAZARD}
    return SanitizerReport(
        tool=f"tdb-dap {__version__}",
        model=str(context.bmodel),
        source=str(context.mlir or context.bmodel),
        chip=program.chip,
        net=program.net.name,
        commands=len(program.commands),
        sanitizers=looked,
        findings=tuple(finding_of(program, finding) for finding in survey.findings),
        stopped=survey.stopped,
    )


def finding_of(program: Program, finding: Finding) -> SanitizerFinding:
    """One finding with the places of its commands."""
    return SanitizerFinding(
        sanitizer=finding.filter,
        severity=finding.severity,
        title=finding.title,
        text=finding.text,
        details=finding.details,
        command=_place(program, finding.focus),
        related=tuple(_place(program, ordinal) for ordinal in finding.related),
    )


def _place(program: Program, ordinal: int) -> CommandPlace:
    command = program.commands[ordinal]
    records = program.source.records_of(ordinal)
    values = [value.name for record in records for value in record.results]
    line, file = _line(program, records[0].line) if records else (0, "")
    return CommandPlace(
        ordinal=ordinal,
        token=command.token,
        name=command.name,
        core=command.core,
        asm=command.asm,
        line=line,
        file=file,
        op=records[0].opcode if records else "",
        location=values[0] if values else "",
    )


def _line(program: Program, line: int) -> tuple[int, str]:
    """The line as its file counts, and the file where each net has one of its own."""
    mlir = program.source.mlir
    if mlir is None:
        return line, ""
    file, number = mlir.place_of(line)
    return number, str(file.path) if len(mlir.files) > 1 else ""
