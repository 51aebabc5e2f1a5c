"""Going over a whole run beside the session: to chosen moments in their order, and back to where it was."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tdb_dap.errors import BackendFailed, NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.machine.machine import Machine

Progress = Callable[[int], None]
"""Receives the number of commands executed so far; what it raises ends the pass."""


def ignore(ordinal: int) -> None:
    """No progress is shown."""


class Pass:
    """A run over chosen moments. ``stopped``: why it did not reach the last of them, empty if it did."""

    def __init__(self, inspector: Inspector, progress: Progress = ignore) -> None:
        self._inspector = inspector
        self._progress = progress
        self.stopped = ""

    @contextmanager
    def beside(self, needs_changes: bool = False) -> Iterator[None]:
        """Inside, time moves; after it the session stands where it stood, unless it keeps no history.

        ``needs_changes``: what each command has changed is asked for.
        """
        machine = self._inspector.machine
        if machine.keeps_history:
            with machine.excursion():
                yield
        else:
            if not needs_changes:
                machine.keep_no_changes()
            yield

    @contextmanager
    def as_left(self) -> Iterator[None]:
        """Inside, memory is as the last command has left it: edits of this very moment are made after it."""
        machine = self._inspector.machine
        if machine.edits and machine.ordinal:
            with machine.before_edits():
                yield
        else:
            yield

    def moments(self, wanted: Iterable[int]) -> Iterator[int]:
        """Each moment of ``wanted``, which ascend, when the machine is there.

        It ends early before a command that cannot be executed.
        """
        machine = self._inspector.machine
        for moment in wanted:
            try:
                self._go(machine, moment)
            except (NotSimulated, BackendFailed) as error:
                self.stopped = f"command {machine.ordinal}: {error}"
                return
            self._progress(moment)
            yield moment

    def _go(self, machine: Machine, moment: int) -> None:
        if machine.keeps_history or moment < machine.ordinal:
            machine.travel(moment, self._is_interrupted)
        while machine.ordinal < moment:
            before = machine.ordinal
            machine.run_ahead(moment)
            if machine.ordinal == before:
                machine.step()
            self._progress(machine.ordinal)

    def _is_interrupted(self) -> bool:
        self._progress(self._inspector.ordinal)
        return False
