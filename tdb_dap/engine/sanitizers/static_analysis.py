"""Sanitizers that know everything before the program runs, as stops."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.control.stops import Finding

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.program.program import Program

Analysis = Callable[["Program"], Iterable[Finding]]


class Known(Observer):
    """Stops after the commands that an analysis of the whole program names; works it out when it is first asked.

    The analysis is of the program as it was compiled: edits of commands do not count.
    """

    looks_back = True

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._found: dict[int, list[Finding]] | None = None

    def findings(self, program: Program) -> dict[int, list[Finding]]:
        """By ordinal."""
        if self._found is None:
            self._found = {}
            for finding in self._analysis(program):
                self._found.setdefault(finding.focus, []).append(finding)
        return self._found

    def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
        finding = self.findings(inspector.program).get(command.ordinal)
        return finding[0] if finding else None
