"""Sanitizers in a session: those of the launch configuration, what they have found, and a survey in the console."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdb_dap.adapter.protocol.model import plain
from tdb_dap.adapter.requests.sources import mlir_path, mlir_place
from tdb_dap.adapter.session.handlers import request
from tdb_dap.engine.sanitizers import BY_NAME, chosen, made
from tdb_dap.tools.report_schema import json_form

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.responses import Findings
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.control.observers import Observer
    from tdb_dap.engine.control.stops import Finding


_CAUSES = ("hazard", "decode", "legal")
"""Sanitizers that need no run, and whose findings make results wrong."""

_MOST_CAUSES = 3


class Sanitizing:
    """``wanted``: the sanitizers that the launch configuration has switched on, name -> condition."""

    def __init__(self) -> None:
        self.wanted: dict[str, str | None] = {}
        self._findings: dict[tuple[str, int, str], Finding] = {}
        self._ahead: dict[str, Observer] = {}

    def begin(self, entries: list[str]) -> None:
        """A program is loaded: nothing is known of it yet."""
        self.forget()
        self.wanted = chosen(entries)
        self._ahead = made(dict.fromkeys(_CAUSES))

    def forget(self) -> None:
        """Switch them off."""
        self.wanted = {}
        self._findings = {}

    def note(self, finding: Finding) -> bool:
        """Keep what a sanitizer has found; False for what is known, or not a sanitizer's."""
        key = finding.filter, finding.focus, finding.text
        if finding.filter not in BY_NAME or key in self._findings:
            return False
        self._findings[key] = finding
        return True

    def causes(self, debugger: Debugger, focus: int) -> list[str]:
        """Findings ahead of the run about the commands of an op and of its operands, a line each."""
        from tdb_dap.engine.sanitizers.survey import known_causes

        causes = known_causes(debugger, self._ahead.values(), focus)
        return [f"{finding.text} [{finding.filter}]" for finding in causes[:_MOST_CAUSES]]

    @property
    def findings(self) -> list[Finding]:
        """Everything up to now, in the order of execution."""
        return sorted(self._findings.values(), key=lambda finding: finding.focus)


def announce(session: Session) -> None:
    """Tell what is known before the program runs, with the places it is about."""
    from tdb_dap.engine.sanitizers.survey import known_ahead

    say = session.traits.localised
    for finding in known_ahead(session.debugger, session.debugger.observers):
        if session.feature(Sanitizing).note(finding):
            session.output(
                f"{say(finding.severity)}: {say(finding.text)} [{finding.filter}]",
                "important",
                **_place(session, finding),
            )


def _place(session: Session, finding: Finding) -> dict[str, Any]:
    lines = session.debugger.program.source.lines_of(finding.focus)
    source, line = mlir_place(session, lines[0]) if lines else (None, 0)
    return {"source": plain(source), "line": line} if source is not None else {}


@request("tdb/findings", while_running="answer")
def findings(session: Session) -> Findings:
    """Findings of sanitizers up to now, which editors show as diagnostics.

    ``path`` is missing where a finding belongs to no line of a file on disk.
    """
    from tdb_dap.tools.sanitize.report import finding_of

    program, say = session.debugger.program, session.traits.localised
    rows: list[dict[str, Any]] = []
    for finding in session.feature(Sanitizing).findings:
        row = json_form(finding_of(program, finding))
        row.update({name: say(row[name]) for name in ("title", "text")}, details=[say(one) for one in row["details"]])
        lines = program.source.lines_of(finding.focus)
        path = mlir_path(session, lines[0]) if lines else None
        if path is not None:
            row["path"] = path
        rows.append(row)
    return {"findings": rows}
