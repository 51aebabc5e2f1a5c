"""Protocol of a backend, and the execution in this process that every chip with semantics has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Protocol

from tdb_dap.engine.hardware.memory import Memory, Region, zeros
from tdb_dap.engine.hardware.target import Description, Keeping, Planning, Target, Watched, Watching
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.undo_log import Outcome, OverwrittenView
from tdb_dap.errors import NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Commands
    from tdb_dap.engine.program.program import Program


_NOTHING = Outcome()


class Executable(Protocol):
    """Interface of a command for a backend; ``Command`` has it."""

    @property
    def engine(self) -> str: ...

    @property
    def core(self) -> int: ...

    @property
    def kind(self) -> int: ...

    @property
    def descriptor(self) -> bytes: ...

    @property
    def target(self) -> Target:
        """The chip with the addresses as they are valid for this command."""
        ...

    @property
    def description(self) -> Description: ...

    @property
    def registers(self) -> Mapping[int, int]:
        """The configuration registers before the command."""
        ...

    @property
    def register_setup(self) -> tuple[bytes, ...]:
        """Descriptors that bring the configuration registers into the state that this command expects."""
        ...


class Backend(Protocol):
    """Executes commands on memories that it provides.

    The memories are the machine's; a backend that computes elsewhere keeps its own copy and brings back what a command
    has changed. ``name``: as in ``--backend``.
    """

    @property
    def name(self) -> str: ...

    @property
    def compares(self) -> bool:
        """Whether it executes twice and reports divergences."""
        ...

    @property
    def reversible(self) -> bool:
        """Whether the memories can be brought into an earlier state at any moment.

        If not, nothing is kept for going back: every way back begins at the start, and clients are notified.
        """
        ...

    def open(self, program: Program) -> Memory:
        """Get ready for a program; its memories as they are before the first command, without tables and inputs."""
        ...

    def execute(self, command: Executable, memory: Memory) -> Outcome:
        """Carry out one command.

        NotSimulated or BadAccess where the command cannot be executed: nothing has changed. BackendFailed where the
        backend itself is lost: the memories are as before the command, and nothing can be executed with it any more.
        """
        ...

    def edited(self) -> None:
        """The memories were changed from outside: edits, time travel, a restart."""
        ...

    def restarted(self) -> None:
        """The memories are those before the first command again; what belongs to none of them is to be, too."""
        ...

    def close(self) -> None:
        """End what runs elsewhere; the memories stay readable. May be called twice."""
        ...


class InProcess:
    """The target's own semantics, straight on the memories."""

    name = "numpy"
    compares = False
    reversible = True

    def __init__(self, target: Target) -> None:
        self._target = target
        self._asked: Target | None = None
        self._plans: Planning | None = None
        self.keeps_old = True
        """Whether an outcome has what a command overwrote."""

    def open(self, program: Program) -> Memory:
        if isinstance(program.target, Keeping) and (encoded := program.commands.encoded) is not None:
            program.target.recall(encoded)
        return self.open_memories(program.core_count, program.ddr_regions(to_write=True), program.is_dense)

    def open_memories(self, cores: int, ddr: Iterable[Region], is_dense: bool = False) -> Memory:
        """Memories for that number of cores, with these regions of DDR. ``is_dense``: as for ``zeros``."""
        return Memory(self._target.geometry, cores, ddr, partial(zeros, is_dense=is_dense))

    def execute(self, command: Executable, memory: Memory) -> Outcome:
        plans, form = self._plans_of(command.target), (command.kind, command.descriptor, command.core)
        if plans is not None and not self.keeps_old and plans.carry_out(*form, memory, command.registers):
            return _NOTHING
        description = command.description
        changes: list[OverwrittenView] = []
        try:
            for view in description.results if self.keeps_old else ():
                if isinstance(view, View):
                    changes.append(OverwrittenView(view, memory.read(view)))
            if plans is None or not (self.keeps_old and plans.carry_out(*form, memory, command.registers)):
                self._target.execute(description, memory)
        except MemoryError:
            raise NotSimulated(f"{description.name}: its operands are larger than the memory of this machine") from None
        return Outcome(tuple(changes)) if changes else _NOTHING

    def execute_watched(self, commands: Commands, first: int, stop: int, memory: Memory, watched: Watched) -> int:
        """As ``execute_some``; it ends after a command that may have left what is ``watched``, or before it.

        A backend that has its own way to execute some, and a chip that does not look, leave each of them to be seen.
        """
        part = commands.encoded_from(first)
        plans = None if part is None else self._plans_of(part[0].target)
        is_own = type(self).execute_some is not InProcess.execute_some
        if part is None or self.keeps_old or is_own or not isinstance(plans, Watching):
            return self.execute_some(commands, first, watched.first_in(first, stop), memory)
        own, before = part
        if own.encoded is None:
            return first
        stop = min(stop - before, len(own))
        return before + plans.carry_out_watched(own.encoded, first - before, stop, memory, watched.starting_at(before))

    def execute_some(self, commands: Commands, first: int, stop: int, memory: Memory) -> int:
        """Execute commands from ``first`` on, at most to ``stop``, as far as nothing has to be known of each of them.

        The first one that was not executed.
        """
        part = commands.encoded_from(first)
        if part is None or self.keeps_old:
            return first
        own, before = part
        encoded, plans = own.encoded, self._plans_of(own.target)
        if encoded is None or plans is None:
            return first
        return before + plans.carry_out_some(encoded, first - before, min(stop - before, len(own)), memory)

    def _plans_of(self, target: Target) -> Planning | None:
        if target is not self._asked:
            self._asked, self._plans = target, target if isinstance(target, Planning) else None
        return self._plans

    def edited(self) -> None:
        """The memories are the only ones there are."""

    def restarted(self) -> None:
        """The memories are all there is."""

    def close(self) -> None:
        """Keep what was learned of the program; there is nothing to end."""
        if isinstance(self._target, Keeping):
            self._target.keep()
