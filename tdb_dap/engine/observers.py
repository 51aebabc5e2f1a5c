"""Callbacks of run control: checks, sanitizers, profiles and plugins derive from ``Observer``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.stops import Finding, Stop

if TYPE_CHECKING:
    from tdb_dap.engine.commands import Command
    from tdb_dap.engine.debugger import Debugger
    from tdb_dap.engine.source_map import OpRecord


class Observer:
    """Override what is of interest; a returned ``Finding`` stops the run.

    Called going forwards only. ``before_op`` comes before the first command of an op instance, ``after_op`` after its
    last one; the commands of ops interleave, so the calls of different ops may overlap.
    """

    def before_command(self, debugger: Debugger, command: Command) -> Finding | None:
        """``command`` is about to be executed."""

    def after_command(self, debugger: Debugger, command: Command) -> Finding | None:
        """``command`` has been executed."""

    def before_op(self, debugger: Debugger, record: OpRecord) -> Finding | None:
        """The first command of ``record`` is about to be executed."""

    def after_op(self, debugger: Debugger, record: OpRecord) -> Finding | None:
        """The last command of ``record`` has been executed."""

    def stopped(self, debugger: Debugger, stop: Stop) -> None:
        """Execution has stopped."""

    def finished(self, debugger: Debugger) -> None:
        """The last command of the program has been executed."""
