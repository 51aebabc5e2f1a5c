"""Leaving out findings at places that the user has named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.control.observers import Observer
from tdb_dap.engine.control.stops import Finding, Stop
from tdb_dap.engine.reference.name_patterns import fits

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.source_map import OpRecord


def is_suppressed(program: Program, finding: Finding, patterns: tuple[str, ...]) -> bool:
    """Whether a pattern fits the place of a finding or of a command that is related to it.

    A pattern is the name of a location, an op name (both may hold ``*``), ``mlir:31``, or the short name of a command
    (``B23``, of any core, or ``c1.B23``).
    """
    return any(
        fits(name, pattern)
        for ordinal in (finding.focus, *finding.related)
        for name in places_of(program, ordinal)
        for pattern in patterns
    )


def places_of(program: Program, ordinal: int) -> tuple[str, ...]:
    """Names by which a pattern can select a command."""
    command = program.commands[ordinal]
    names = [command.token, command.short_token]
    for record in program.source.records_of(ordinal):
        names += [f"mlir:{record.line}", record.opcode, *(value.name for value in record.results)]
    return tuple(names)


class Suppressing(Observer):
    """Another observer, without what it finds at suppressed places."""

    def __init__(self, inner: Observer, patterns: tuple[str, ...]) -> None:
        self.inner = inner
        self.looks_back = inner.looks_back
        self._patterns = patterns

    def keeps(self, inspector: Inspector, finding: Finding) -> bool:
        """Whether a finding is not suppressed."""
        return not is_suppressed(inspector.program, finding, self._patterns)

    def _kept(self, inspector: Inspector, finding: Finding | None) -> Finding | None:
        return finding if finding is not None and self.keeps(inspector, finding) else None

    def next_look(self, inspector: Inspector) -> int:
        return self.inner.next_look(inspector)

    def watched(self, inspector: Inspector) -> NDArray[np.int8] | None:
        return self.inner.watched(inspector)

    def before_command(self, inspector: Inspector, command: Command) -> Finding | None:
        return self._kept(inspector, self.inner.before_command(inspector, command))

    def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
        return self._kept(inspector, self.inner.after_command(inspector, command))

    def after_watched(self, inspector: Inspector, command: Command) -> Finding | None:
        return self._kept(inspector, self.inner.after_watched(inspector, command))

    def before_op(self, inspector: Inspector, record: OpRecord) -> Finding | None:
        return self._kept(inspector, self.inner.before_op(inspector, record))

    def after_op(self, inspector: Inspector, record: OpRecord) -> Finding | None:
        return self._kept(inspector, self.inner.after_op(inspector, record))

    def changed_after(self, inspector: Inspector, moment: int) -> None:
        self.inner.changed_after(inspector, moment)

    def stopped(self, inspector: Inspector, stop: Stop) -> None:
        self.inner.stopped(inspector, stop)

    def finished(self, inspector: Inspector) -> None:
        self.inner.finished(inspector)
