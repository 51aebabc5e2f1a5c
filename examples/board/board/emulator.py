"""A backend for tdb-dap that only runs forward: whatever it has executed it cannot take back.

``tdb-dap debug CONTEXT --backend emulator`` has no step back; travelling to an earlier moment starts it again.
"""

from __future__ import annotations

from tdb_dap.api import BackendFailed, Executable, InProcess, Memory, Outcome, Program


class Emulator:
    """Counts commands as an emulator keeps its own state, and insists that they come in order."""

    name = "emulator"
    compares = False
    reversible = False

    def __init__(self, program: Program) -> None:
        self._chip = InProcess(program.target)
        self._latest = -1

    def open(self, program: Program) -> Memory:
        return self._chip.open(program)

    def execute(self, command: Executable, memory: Memory) -> Outcome:
        ordinal = getattr(command, "ordinal", 0)
        if ordinal <= self._latest:
            raise BackendFailed(f"the emulator is at command {self._latest} and cannot go back to {ordinal}")
        self._latest = ordinal
        return self._chip.execute(command, memory)

    def edited(self) -> None:
        """The memories are the debugger's."""

    def restarted(self) -> None:
        self._latest = -1

    def close(self) -> None:
        """There is nothing to end."""
