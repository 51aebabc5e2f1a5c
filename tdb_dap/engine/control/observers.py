"""Callbacks of run control: checks, sanitizers, profiles and plugins derive from ``Observer``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tdb_dap.engine.control.stops import Finding, Stop

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.source.source_map import OpRecord


class Observer:
    """Override what is of interest; a returned ``Finding`` stops the run.

    Called going forwards only, except that going back looks at ``after_command`` and ``after_op`` of those that
    ``look_back``: what they find depends on nothing but the memories of the moment. What others have found on the way
    is remembered and stops the way back as well. ``before_op`` comes before the first command of an op instance,
    ``after_op`` after its last one; the commands of ops interleave, so the calls of different ops may overlap.
    """

    looks_back = False

    def loaded(self, inspector: Inspector) -> None:
        """The program is loaded; nothing has been executed."""

    def before_command(self, inspector: Inspector, command: Command) -> Finding | None:
        """``command`` is about to be executed."""

    def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
        """``command`` has been executed."""

    def before_op(self, inspector: Inspector, record: OpRecord) -> Finding | None:
        """The first command of ``record`` is about to be executed."""

    def after_op(self, inspector: Inspector, record: OpRecord) -> Finding | None:
        """The last command of ``record`` has been executed."""

    def changed_after(self, inspector: Inspector, moment: int) -> None:
        """An edit was made or undone: what was known of later moments is not true any more."""

    def stopped(self, inspector: Inspector, stop: Stop) -> None:
        """Execution has stopped."""

    def finished(self, inspector: Inspector) -> None:
        """The last command of the program has been executed."""


class Gathering(Observer):
    """Lets observers look at a run that does not stop for what they find; ``found``: all of it, as it was found."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        self._observers = observers
        self.found: list[Finding] = []

    def _tell(self, hook: str, inspector: Inspector, subject: Any) -> None:
        for observer in self._observers:
            finding = getattr(observer, hook)(inspector, subject)
            if finding is not None:
                self.found.append(finding)

    def before_command(self, inspector: Inspector, command: Command) -> None:
        self._tell("before_command", inspector, command)

    def after_command(self, inspector: Inspector, command: Command) -> None:
        self._tell("after_command", inspector, command)

    def before_op(self, inspector: Inspector, record: OpRecord) -> None:
        self._tell("before_op", inspector, record)

    def after_op(self, inspector: Inspector, record: OpRecord) -> None:
        self._tell("after_op", inspector, record)


class Announcer:
    """Executes commands and calls observers; the last finding of several is the one that counts.

    ``heard``: all findings of the last command.
    """

    def __init__(self, inspector: Inspector, observers: Sequence[Observer]) -> None:
        self._inspector = inspector
        self._observers = observers
        self.heard: list[Finding] = []

    def execute(self) -> Finding | None:
        """Execute the next command; nothing is reported of one that is passed over."""
        inspector = self._inspector
        command = inspector.program.commands[inspector.ordinal]
        source = inspector.program.source
        self.heard = []
        if inspector.machine.passes_over(command.ordinal):
            inspector.machine.step()
            return None
        self._tell("before_op", source.beginning_at(command.ordinal))
        self._tell("before_command", (command,))
        inspector.machine.step()
        self._tell("after_command", (command,))
        self._tell("after_op", source.ending_at(command.ordinal))
        return self.heard[-1] if self.heard else None

    def look_back(self) -> Finding | None:
        """Findings about the last command when time has gone back to the moment after it."""
        inspector = self._inspector
        if not inspector.ordinal or inspector.machine.passes_over(inspector.ordinal - 1):
            return None
        command = inspector.program.commands[inspector.ordinal - 1]
        found: Finding | None = None
        for observer in self._observers:
            if observer.looks_back:
                found = observer.after_command(inspector, command) or found
                for record in inspector.program.source.ending_at(command.ordinal):
                    found = observer.after_op(inspector, record) or found
        return found

    def _tell(self, hook: str, subjects: tuple[Any, ...]) -> None:
        for subject in subjects:
            for observer in self._observers:
                finding = getattr(observer, hook)(self._inspector, subject)
                if finding is not None:
                    self.heard.append(finding)
