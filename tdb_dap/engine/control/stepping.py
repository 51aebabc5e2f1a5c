"""Units of stepping, and where a step of each unit ends.

Every unit gives each command a key; a step ends where the key changes. Commands without an op (synchronisation)
belong to whatever surrounds them. Interleaved ops (software pipelining) therefore take one step per stretch. Without a
source map an op is one command and a group is a subnet.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

Unit = Literal["command", "op", "slice", "group", "launch", "token"]
Key = Callable[[int], Hashable]
"""Ordinal to the unit it belongs to; None where it belongs to no op."""


class Stepper:
    """Finds the ends of steps in one program; knows nothing of the machine."""

    def __init__(self, program: Program) -> None:
        self._program = program
        mapped = bool(program.source.records)
        self._keys: dict[Unit, Key] = {
            "command": _itself,
            "op": self._line if mapped else _itself,
            "slice": self._record if mapped else _itself,
            "group": self._group if mapped else self._subnet,
            "launch": self._launch,
            "token": self._token,
        }

    def after(self, ordinal: int, unit: Unit, core: int | None = None) -> int:
        """First ordinal after ``ordinal`` that starts another unit; the program's length if there is none.

        ``core``: look at the commands of this core only.
        """
        key = self._keys[unit]
        here = self._settled(key, ordinal, core)
        if unit == "group" and here == self._ungrouped(ordinal):
            key, here = self._subnet, self._subnet(ordinal)
        for later in range(ordinal + 1, len(self._program.commands)):
            if self._on(later, core) and (there := key(later)) is not None and there != here:
                return later
        return len(self._program.commands)

    def before(self, ordinal: int, unit: Unit, core: int | None = None) -> int:
        """Start of the unit that ``ordinal`` is inside of, else of the previous unit; 0 if there is none."""
        key = self._keys[unit]
        here: Hashable = None
        first = 0
        for earlier in range(ordinal - 1, -1, -1):
            if not self._on(earlier, core) or (there := key(earlier)) is None:
                continue
            if here is None:
                here = there
            elif there != here:
                return first
            first = earlier
        return first

    def _settled(self, key: Key, ordinal: int, core: int | None) -> Hashable:
        """The key at ``ordinal``, or of the nearest earlier command that belongs to an op."""
        for earlier in range(min(ordinal, len(self._program.commands) - 1), -1, -1):
            if self._on(earlier, core) and (settled := key(earlier)) is not None:
                return settled
        return None

    def _on(self, ordinal: int, core: int | None) -> bool:
        return core is None or self._program.commands[ordinal].core == core

    def _line(self, ordinal: int) -> Hashable:
        """The op, which in a recording is another one in each launch."""
        records = self._program.source.records_of(ordinal)
        return (self._subnet(ordinal), records[0].line) if records else None

    def _record(self, ordinal: int) -> Hashable:
        records = self._program.source.records_of(ordinal)
        return records[0].index if records else None

    def _group(self, ordinal: int) -> Hashable:
        source = self._program.source
        records = source.records_of(ordinal)
        if not records or source.mlir is None:
            return None
        op = source.op_of(records[0])
        return (self._subnet(ordinal), op.group_line if op else None)

    def _ungrouped(self, ordinal: int) -> Hashable:
        return (self._subnet(ordinal), None)

    def _launch(self, ordinal: int) -> Hashable:
        launch = self._program.launch_at(ordinal)
        return launch.number if launch is not None else None

    def _token(self, ordinal: int) -> Hashable:
        launch = self._program.launch_at(ordinal)
        return launch.token if launch is not None else None

    def _subnet(self, ordinal: int) -> Hashable:
        commands = self._program.commands
        return commands[min(ordinal, len(commands) - 1)].subnet if len(commands) else None


def _itself(ordinal: int) -> Hashable:
    return ordinal
