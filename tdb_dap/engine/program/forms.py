"""Forms of a program's commands, from their bytes: what is alike of them is worked out once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.hardware.target import Form, Forming

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command, Commands


class Forms:
    """The form of each command of a program that one like it was met of before; no object is made for the command."""

    def __init__(self, commands: Commands) -> None:
        target, encoded = commands.target, commands.encoded
        self._forming = target if encoded is not None and isinstance(target, Forming) else None
        columns = commands.columns
        kinds = [kind for kind in np.unique(columns.kind).tolist() if kind >= 0]
        self._sizes = {kind: target.kind_size(kind) for kind in kinds}
        self._systems = frozenset(kind for kind in kinds if target.is_system(kind))
        self._columns = (columns.kind.tolist(), columns.offset.tolist(), columns.core.tolist())
        self._payload = commands.payload.data

    def __len__(self) -> int:
        return len(self._columns[0])

    def is_system(self, ordinal: int) -> bool:
        """Whether a command synchronises or controls and moves no data."""
        return self._columns[0][ordinal] in self._systems

    def of(self, ordinal: int) -> tuple[Form, Sequence[int]] | None:
        """The form of a command and the address of each tensor, reads first; None where none like it was met."""
        kind, offset, core = (column[ordinal] for column in self._columns)
        if kind < 0 or self._forming is None:
            return None
        return self._forming.formed(kind, bytes(self._payload[offset : offset + self._sizes[kind]]), core)

    def core(self, ordinal: int) -> int:
        """The core that executes a command."""
        found: int = self._columns[2][ordinal]
        return found

    def meet(self, command: Command) -> None:
        """A command was described: others of its form need not be."""
        if self._forming is not None and command.has_descriptor:
            self._forming.meet(command.description, command.descriptor)
