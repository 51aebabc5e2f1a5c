"""Callbacks of run control: checks, sanitizers, profiles and plugins derive from ``Observer``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tdb_dap.engine.control.stops import Finding, Stop

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.source.source_map import OpRecord


class Observer:
    """Override what is of interest; a returned ``Finding`` stops the run.

    Called going forwards only, except that going back looks at ``after_command`` and ``after_op`` of those that
    ``look_back``: what they find depends on nothing but the memories of the moment. What others have found on the way
    is remembered and stops the way back as well. ``before_op`` comes before the first command of an op instance,
    ``after_op`` after its last one; the commands of ops interleave, so the calls of different ops may overlap.
    """

    looks_back = False

    def loaded(self, debugger: Debugger) -> None:
        """The program is loaded; nothing has been executed."""

    def before_command(self, debugger: Debugger, command: Command) -> Finding | None:
        """``command`` is about to be executed."""

    def after_command(self, debugger: Debugger, command: Command) -> Finding | None:
        """``command`` has been executed."""

    def before_op(self, debugger: Debugger, record: OpRecord) -> Finding | None:
        """The first command of ``record`` is about to be executed."""

    def after_op(self, debugger: Debugger, record: OpRecord) -> Finding | None:
        """The last command of ``record`` has been executed."""

    def changed_after(self, debugger: Debugger, moment: int) -> None:
        """An edit was made or undone: what was known of later moments is not true any more."""

    def stopped(self, debugger: Debugger, stop: Stop) -> None:
        """Execution has stopped."""

    def finished(self, debugger: Debugger) -> None:
        """The last command of the program has been executed."""


class Announcer:
    """Executes commands of a debugger and tells its observers; the last finding of several is the one that counts.

    ``observers``: these instead of the debugger's; ``heard``: all findings of the last command.
    """

    def __init__(self, debugger: Debugger, observers: list[Observer] | None = None) -> None:
        self._debugger = debugger
        self._given = observers
        self.heard: list[Finding] = []

    @property
    def _observers(self) -> list[Observer]:
        return self._debugger.observers if self._given is None else self._given

    def execute(self) -> Finding | None:
        """Execute the next command; there is nothing to tell of one that is passed over."""
        debugger = self._debugger
        command = debugger.program.commands[debugger.ordinal]
        source = debugger.program.source
        self.heard = []
        if debugger.machine.passes_over(command.ordinal):
            debugger.machine.step()
            return None
        self._tell("before_op", source.beginning_at(command.ordinal))
        self._tell("before_command", (command,))
        debugger.machine.step()
        self._tell("after_command", (command,))
        self._tell("after_op", source.ending_at(command.ordinal))
        return self.heard[-1] if self.heard else None

    def look_back(self) -> Finding | None:
        """What there is to find about the last command now that time has come back to the moment after it."""
        debugger = self._debugger
        if not debugger.ordinal or debugger.machine.passes_over(debugger.ordinal - 1):
            return None
        command = debugger.program.commands[debugger.ordinal - 1]
        found: Finding | None = None
        for observer in self._observers:
            if observer.looks_back:
                found = observer.after_command(debugger, command) or found
                for record in debugger.program.source.ending_at(command.ordinal):
                    found = observer.after_op(debugger, record) or found
        return found

    def _tell(self, hook: str, subjects: tuple[Any, ...]) -> None:
        for subject in subjects:
            for observer in self._observers:
                finding = getattr(observer, hook)(self._debugger, subject)
                if finding is not None:
                    self.heard.append(finding)
