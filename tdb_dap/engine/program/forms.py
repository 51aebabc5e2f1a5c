"""Forms of a program's commands, from their bytes: what is alike of them is worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import Form, Forming

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command, Commands


class Forms:
    """The form of each command of a program that one like it was met of before; no object is made for the command."""

    def __init__(self, commands: Commands) -> None:
        target, encoded = commands.target, commands.encoded
        self._forming = target if encoded is not None and isinstance(target, Forming) else None
        columns = commands.columns
        kinds = [kind for kind in distinct(columns.kind) if kind >= 0]
        self._sizes = {kind: target.kind_size(kind) for kind in kinds}
        self._systems = frozenset(kind for kind in kinds if target.is_system(kind))
        self._kind, self._offset, self._core = columns.kind, columns.offset, columns.core
        self._payload = commands.payload.data

    def __len__(self) -> int:
        return self._kind.size

    def is_system(self, ordinal: int) -> bool:
        """Whether a command synchronises or controls and moves no data."""
        return int(self._kind[ordinal]) in self._systems

    def of(self, ordinal: int) -> tuple[Form, Sequence[int]] | None:
        """The form of a command and the address of each tensor, reads first; None where none like it was met."""
        kind, offset = int(self._kind[ordinal]), int(self._offset[ordinal])
        if kind < 0 or self._forming is None:
            return None
        descriptor = bytes(self._payload[offset : offset + self._sizes[kind]])
        return self._forming.formed(kind, descriptor, self.core(ordinal))

    def core(self, ordinal: int) -> int:
        """The core that executes a command."""
        return int(self._core[ordinal])

    def meet(self, command: Command) -> None:
        """A command was described: others of its form need not be."""
        if self._forming is not None and command.has_descriptor:
            self._forming.meet(command.description, command.descriptor)
