"""A run under sanitizers, from its options to its result."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.checks.exception_filters import FILTERS
from tdb_dap.engine.checks.reference_checks import BIRTH
from tdb_dap.engine.sanitizers import chosen, made
from tdb_dap.engine.sanitizers.survey import survey
from tdb_dap.errors import BadInput
from tdb_dap.system.progress import SILENT, Progress
from tdb_dap.tools.findings.baseline import Baseline, read_baseline
from tdb_dap.tools.model_options import Opens
from tdb_dap.tools.programs import remark_sources
from tdb_dap.tools.sanitize.findings import findings_of
from tdb_dap.tools.sanitize.report import report_of

if TYPE_CHECKING:
    from tdb_dap.tools.findings.findings import Findings
    from tdb_dap.tools.sanitize.schema import SanitizerReport

_MISMATCH = "mismatch"


class SanitizeOptions(Struct, frozen=True):
    """``sanitizers``: names, with conditions after a colon; ``suppressed``: places that are not reported.

    ``strict``: warnings count as errors; ``baseline``: file of known findings.
    """

    sanitizers: Sequence[str] = ("all",)
    suppressed: Sequence[str] = ()
    strict: bool = False
    baseline: Path | None = None


class Sanitized(Struct, frozen=True):
    """``findings``: those of the report, with the known ones marked."""

    report: SanitizerReport
    findings: Findings
    baseline: Baseline | None

    @property
    def problem(self) -> str:
        """Why the run is not complete; empty if it is."""
        stopped = self.report.stopped
        return f"{self.report.model}: {stopped}; findings up to there are listed" if stopped else ""

    @property
    def known(self) -> list[int]:
        """Numbers of the findings that the baseline has."""
        return [number for number, finding in enumerate(self.findings.findings) if finding.is_known]


def sanitize(model: Opens, options: SanitizeOptions, progress: Progress = SILENT) -> Sanitized:
    """Run a model to its end under sanitizers; BadInput for unknown ones and what cannot be read."""
    baseline = read_baseline(options.baseline) if options.baseline is not None else None
    conditions, others = _split(options.sanitizers)
    if model.references:
        conditions.append("")
    wanted = chosen(others)
    observers = made(wanted, options.suppressed)
    debugger = model.open()
    program = debugger.program
    remark_sources(program)
    if conditions:
        if debugger.reference is None:
            raise BadInput(f"{model.context}: mismatch: nothing to compare with; give --reference R.npz")
        wanted[_MISMATCH] = ", ".join(filter(None, (BIRTH, *conditions, *options.suppressed)))
        observers[_MISMATCH] = FILTERS[_MISMATCH].make(wanted[_MISMATCH])
    progress.start(len(program.commands))
    try:
        report = report_of(program, wanted, survey(debugger, observers, progress.update, False))
    finally:
        progress.clear()
        debugger.close()
    findings = findings_of(program, report, program.stage_index, options.strict)
    if baseline is not None and options.baseline is not None:
        findings = baseline.applied(findings, options.baseline)
    return Sanitized(report, findings, baseline)


def _split(entries: Sequence[str]) -> tuple[list[str], list[str]]:
    """The conditions of ``mismatch``, which needs a reference, and the entries for the other sanitizers."""
    conditions: list[str] = []
    others: list[str] = []
    for entry in entries:
        name, _, condition = (part.strip() for part in entry.partition(":"))
        if name == _MISMATCH:
            conditions.append(condition)
        else:
            others.append(entry)
    return conditions, others
