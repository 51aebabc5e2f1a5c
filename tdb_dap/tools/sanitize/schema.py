"""Schema of the findings of sanitizers, as written to JSON."""

from __future__ import annotations

from typing import Literal

from tdb_dap.tools.report_schema import Reported

Severity = Literal["error", "warning"]


class CommandPlace(Reported, frozen=True, kw_only=True):
    """A command, and where it stands in the source. ``line``: of final.mlir, 0 if it belongs to none.

    ``token``: engine and id: B23, D465; ``file``: that final.mlir; empty where the line is of the report's source;
    ``location``: the first result of the op.
    """

    ordinal: int
    token: str
    name: str
    core: int
    asm: str
    line: int
    file: str = ""
    op: str
    location: str


class SanitizerFinding(Reported, frozen=True, kw_only=True):
    """One thing that is wrong. ``related``: the other commands that have to do with it."""

    sanitizer: str
    severity: Severity
    title: str
    text: str
    details: tuple[str, ...]
    command: CommandPlace
    related: tuple[CommandPlace, ...]


class SanitizerReport(Reported, frozen=True, kw_only=True):
    """One model. ``source``: final.mlir, or the model itself where there is none.

    ``sanitizers``: those that looked, with their condition; ``stopped``: why the run did not reach the end, if it did
    not.
    """

    schema_version: Literal[1] = 1
    tool: str
    model: str
    source: str
    chip: str
    net: str
    commands: int
    sanitizers: dict[str, str | None]
    findings: tuple[SanitizerFinding, ...]
    stopped: str = ""

    def count(self, severity: Severity) -> int:
        """Findings of one severity."""
        return sum(finding.severity == severity for finding in self.findings)
