"""Callbacks of run control: checks, sanitizers, profiles and plugins derive from ``Observer``."""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.control.stops import Finding, Stop
from tdb_dap.engine.hardware.target import Watched

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.source.source_map import OpRecord


NEVER = sys.maxsize
"""An ordinal that no program has."""


def next_of(ordinals: Sequence[int], ordinal: int) -> int:
    """The first of ``ordinals``, which ascend, from ``ordinal`` on; NEVER where there is none."""
    position = bisect_left(ordinals, ordinal)
    return ordinals[position] if position < len(ordinals) else NEVER


class Observer:
    """Override what is of interest; a returned ``Finding`` stops the run.

    Called going forwards only, except that going back looks at ``after_command`` and ``after_op`` of those that
    ``look_back``: what they find depends on nothing but the memories of the moment. What others have found on the way
    is remembered and stops the way back as well. ``before_op`` comes before the first command of an op instance,
    ``after_op`` after its last one; the commands of ops interleave, so the calls of different ops may overlap.
    """

    looks_back = False

    def next_look(self, inspector: Inspector) -> int:
        """Ordinal of the next command, this one or a later one, that it has to see; beyond the last one: none.

        Asked where nothing is kept of each command: those before it are executed many at a time, and of this one its
        hooks are called. By default who has a hook for commands sees all of them, and who has hooks for ops only the
        first and the last command of each op.
        """
        mine = type(self)
        if mine.before_command is not Observer.before_command or mine.after_command is not Observer.after_command:
            return inspector.ordinal
        if mine.before_op is not Observer.before_op or mine.after_op is not Observer.after_op:
            return next_of(inspector.program.source.borders, inspector.ordinal)
        return NEVER

    def watched(self, inspector: Inspector) -> NDArray[np.int8] | None:
        """Commands that it need see only where their results may hold a NaN, as in ``Watched``; None: there are none.

        They are not among those that ``next_look`` gives, and only ``after_watched`` is called for them.
        """
        return None

    def loaded(self, inspector: Inspector) -> None:
        """The program is loaded; nothing has been executed."""

    def before_command(self, inspector: Inspector, command: Command) -> Finding | None:
        """``command`` is about to be executed."""

    def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
        """``command`` has been executed."""

    def after_watched(self, inspector: Inspector, command: Command) -> Finding | None:
        """``command`` has been executed with others; its result may hold a NaN, and none was where it is now."""
        return self.after_command(inspector, command)

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


class Heard(Observer):
    """Lets an observer look at a run that does not stop for what it finds; ``found`` receives that."""

    def __init__(self, inner: Observer, findings: list[Finding]) -> None:
        self._inner = inner
        self._found = findings

    def _hear(self, finding: Finding | None) -> None:
        if finding is not None:
            self._found.append(finding)

    def next_look(self, inspector: Inspector) -> int:
        return self._inner.next_look(inspector)

    def watched(self, inspector: Inspector) -> NDArray[np.int8] | None:
        return self._inner.watched(inspector)

    def before_command(self, inspector: Inspector, command: Command) -> None:
        self._hear(self._inner.before_command(inspector, command))

    def after_command(self, inspector: Inspector, command: Command) -> None:
        self._hear(self._inner.after_command(inspector, command))

    def after_watched(self, inspector: Inspector, command: Command) -> None:
        self._hear(self._inner.after_watched(inspector, command))

    def before_op(self, inspector: Inspector, record: OpRecord) -> None:
        self._hear(self._inner.before_op(inspector, record))

    def after_op(self, inspector: Inspector, record: OpRecord) -> None:
        self._hear(self._inner.after_op(inspector, record))


class Announcer:
    """Executes commands and calls observers; the last finding of several is the one that counts.

    ``heard``: all findings of the last command.
    """

    def __init__(self, inspector: Inspector, observers: Sequence[Observer]) -> None:
        self._inspector = inspector
        self._observers = observers
        self._asked: dict[int, tuple[Observer, int, int]] = {}
        """By identity: an observer, the moment at which it was asked for its next look, and what it has answered."""
        self._of: list[Observer] = []
        """The observers that ``_watchers`` are of."""
        self._watchers: list[tuple[Observer, NDArray[np.int8]]] = []
        self._together: Watched | None = None
        self.heard: list[Finding] = []

    def run_ahead(self, ordinal: int = NEVER) -> None:
        """Execute some of the commands before the next one that has to be seen, at most until ``ordinal``."""
        machine, self.heard = self._inspector.machine, []
        if not machine.can_run_ahead:
            return
        watched = self._watched()
        machine.run_ahead(min([ordinal, *map(self._next_of, self._observers)]), watched)
        if watched is not None and watched.is_found:
            watched.is_found = False
            command = self._inspector.program.commands[self._inspector.ordinal - 1]
            self._tell(self._watching(command.ordinal), "after_watched", (command,))

    def _watched(self) -> Watched | None:
        """The commands that any observer watches; None: nobody does."""
        if list(map(id, self._of)) != list(map(id, self._observers)):
            self._of = list(self._observers)
            each = ((observer, observer.watched(self._inspector)) for observer in self._observers)
            self._watchers = [(observer, formats) for observer, formats in each if formats is not None]
            formats = [formats for _, formats in self._watchers]
            self._together = Watched(np.maximum.reduce(formats)) if formats else None
        return self._together

    def _watching(self, ordinal: int) -> list[Observer]:
        return [observer for observer, formats in self._watchers if formats[ordinal]]

    def _next_of(self, observer: Observer) -> int:
        now = self._inspector.ordinal
        known = self._asked.get(id(observer))
        if known is not None and known[0] is observer and known[1] <= now <= known[2]:
            return known[2]
        answer = observer.next_look(self._inspector)
        self._asked[id(observer)] = observer, now, answer
        return answer

    def forget(self) -> None:
        """The program is another one from some moment on: what the observers have answered does not hold."""
        self._asked.clear()
        self._of = []

    def execute(self) -> Finding | None:
        """Execute the next command; nothing is reported of one that is passed over."""
        inspector = self._inspector
        ordinal, source = inspector.ordinal, inspector.program.source
        self.heard = []
        looking = self._observers
        if inspector.machine.can_run_ahead:
            self._watched()
            watching = {id(observer) for observer in self._watching(ordinal)}
            looking = [one for one in looking if id(one) in watching or self._next_of(one) == ordinal]
        if not looking or inspector.machine.passes_over(ordinal):
            inspector.machine.step()
            return None
        command = inspector.program.commands[ordinal]
        self._tell(looking, "before_op", source.beginning_at(ordinal))
        self._tell(looking, "before_command", (command,))
        inspector.machine.step()
        with inspector.machine.before_edits():
            self._tell(looking, "after_command", (command,))
            self._tell(looking, "after_op", source.ending_at(ordinal))
        return self.last_heard

    @property
    def last_heard(self) -> Finding | None:
        """The finding of the last command that counts."""
        return self.heard[-1] if self.heard else None

    def look_back(self) -> Finding | None:
        """Findings about the last command when time has gone back to the moment after it."""
        inspector = self._inspector
        if not inspector.ordinal or inspector.machine.passes_over(inspector.ordinal - 1):
            return None
        command = inspector.program.commands[inspector.ordinal - 1]
        finding: Finding | None = None
        for observer in self._observers:
            if observer.looks_back:
                finding = observer.after_command(inspector, command) or finding
                for record in inspector.program.source.ending_at(command.ordinal):
                    finding = observer.after_op(inspector, record) or finding
        return finding

    def _tell(self, looking: Sequence[Observer], hook: str, subjects: Sequence[Any]) -> None:
        if not subjects:
            return
        each = [getattr(observer, hook) for observer in looking]
        own = [tell for tell in each if getattr(tell, "__func__", None) is not getattr(Observer, hook)]
        for subject in subjects:
            for tell in own:
                finding = tell(self._inspector, subject)
                if finding is not None:
                    self.heard.append(finding)
