"""A chip at one moment of a program: its memories, and how many commands have been executed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tdb_dap.engine.backend import Backend, InProcess, Outcome
from tdb_dap.engine.commands import Command
from tdb_dap.engine.dtypes import Array
from tdb_dap.engine.geometry import Space
from tdb_dap.engine.history import DEFAULT_LIMIT, Change, History, OverwrittenView
from tdb_dap.engine.program import Program
from tdb_dap.engine.subnets import Source, known_elsewhere, on_the_host
from tdb_dap.engine.views import Operand, View
from tdb_dap.errors import BackendFailed, BadAccess, EndOfProgram, NotSimulated


def never() -> bool:
    """The default of interruptible work: go on."""
    return False


class Machine:
    """Executes a program forwards and backwards. Knows nothing of breakpoints or files.

    ``static_tables``: how the static memory is filled, ``firmware`` or ``tdb``. ``history_limit``: bytes kept to undo
    commands; what lies further back is reached by running again from the start. ``backend``: who executes; default:
    the target's own semantics. ``divergence``: where the backends did not agree on the last command, in words.
    ``sources``: who knows the outputs of subnets that cannot be computed, the first that counts first; ``say``: told
    where they were used; ``shapes``: tensors that turned out smaller than the room they have.
    """

    def __init__(
        self,
        program: Program,
        static_tables: str = "firmware",
        history_limit: int = DEFAULT_LIMIT,
        backend: Backend | None = None,
    ) -> None:
        self.program = program
        self.backend: Backend = backend or InProcess(program.target)
        self.memory = self.backend.open(program)
        self.divergence: str | None = None
        self._static_tables = static_tables
        self._history = History(history_limit)
        self._inputs: dict[str, Array] = {}
        self.sources: list[Source] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.say: Callable[[str], None] = lambda text: None
        self.ordinal = 0
        self._initialise()

    def _initialise(self) -> None:
        self.program.target.fill_tables(self.memory, self._static_tables)
        for tensor in self.program.inputs:
            if tensor.name in self._inputs:
                self.memory.write(tensor.view, self._inputs[tensor.name])
        self.backend.edited()

    def load_inputs(self, words: Mapping[str, Array]) -> None:
        """Stored words for the net's inputs, by name; they are written now and at every restart."""
        self._inputs = dict(words)
        self._initialise()

    @property
    def inputs(self) -> Mapping[str, Array]:
        """Stored words of the net's inputs, by name, as they were given."""
        return self._inputs

    def reset(self) -> None:
        """Back to the start as if nothing had been executed."""
        self.memory.reset(self.program.ddr_regions())
        self._history.clear()
        self.ordinal = 0
        self.divergence = None
        self._initialise()

    def fall_back(self) -> None:
        """Go on with the target's own semantics, from the memories as they are."""
        self.backend.close()
        self.backend = InProcess(self.program.target)

    def close(self) -> None:
        """End what the backend runs elsewhere; what is in the memories can still be looked at."""
        self.backend.close()

    def step(self) -> None:
        """Execute the next command. NotSimulated and BackendFailed leave everything as it was.

        EndOfProgram behind the last command.
        """
        if self.ordinal >= len(self.program.commands):
            raise EndOfProgram("the program has ended; there is no further command")
        command = self.program.commands[self.ordinal]
        outcome = Outcome()
        if not command.has_descriptor:
            outcome = Outcome(self._subnet(command))
        elif not command.is_system:
            try:
                outcome = self.backend.execute(command, self.memory)
            except (NotSimulated, BadAccess, BackendFailed) as trouble:
                if isinstance(trouble, NotSimulated) and trouble.ordinal is not None:
                    raise
                text = f"command {self.ordinal} ({command.token} {command.name}): {trouble}"
                if isinstance(trouble, BackendFailed):
                    raise BackendFailed(text) from None
                raise NotSimulated(text, self.ordinal) from None
        self._history.record(outcome.changes)
        self.divergence = outcome.divergence
        self.ordinal += 1

    def _subnet(self, command: Command) -> tuple[Change, ...]:
        """Carry out a subnet that is not made of commands; the old words of what it overwrites."""
        info = command.subnet_info
        try:
            if command.engine == "cpu":
                outcome = on_the_host(info, command.name, self.program.bmodel, self.memory)
            else:
                outcome = known_elsewhere(info, command.name, self.memory, self.sources)
        except (NotSimulated, BadAccess) as trouble:
            raise NotSimulated(f"command {self.ordinal}: {trouble}", self.ordinal) from None
        changes = tuple(OverwrittenView(view, self.memory.read(view)) for view, _ in outcome.writes)
        for view, words in outcome.writes:
            self.memory.write(view, words)
        self.backend.edited()
        self.shapes.update(outcome.shapes)
        if outcome.note:
            self.say(outcome.note)
        return changes

    def step_back(self) -> None:
        """Undo the last command; at the start nothing happens."""
        if self.ordinal == 0:
            return
        if self.ordinal > self._history.first:
            self._history.undo(self.memory)
            self.backend.edited()
            self.ordinal -= 1
        else:
            self._replay(self.ordinal - 1, never)

    def travel(self, ordinal: int, interrupt: Callable[[], bool] = never) -> None:
        """Go to the moment when ``ordinal`` commands have been executed, or until ``interrupt`` returns true."""
        if ordinal < self._history.first:
            self._replay(ordinal, interrupt)
            return
        while self.ordinal > ordinal and not interrupt():
            self.step_back()
        while self.ordinal < ordinal and not interrupt():
            self.step()

    def _replay(self, ordinal: int, interrupt: Callable[[], bool]) -> None:
        self.reset()
        while self.ordinal < ordinal and not interrupt():
            self.step()

    def read(self, what: Operand) -> Array:
        """Numbers of a view in its logical shape (f16 as float16, bf16 widened to float32), or of a constant."""
        if isinstance(what, View):
            return what.dtype.decode(self.memory.read(what))
        return np.array(what.value, what.dtype.numpy)

    def write(self, view: View, numbers: Array) -> None:
        """Overwrite a view with numbers, broadcast to its shape; undone when time goes back before this moment."""
        old = self.memory.read(view)
        bits = view.dtype.encode(np.broadcast_to(np.asarray(numbers), view.shape))
        self._history.record_edit(self.ordinal, OverwrittenView(view, old))
        self.memory.write(view, bits)
        self.backend.edited()

    def read_bytes(self, space: Space, core: int, start: int, size: int) -> bytes:
        """Bytes of a space; BadAccess outside of what exists."""
        return self.memory.read_bytes(space, start, size, core)

    def write_bytes(self, space: Space, core: int, start: int, data: bytes) -> None:
        """Overwrite bytes of a space."""
        self.memory.write_bytes(space, start, data, core)
        self.backend.edited()

    def last_writer(self, view: View) -> int | None:
        """Ordinal of the last executed command whose result overlaps ``view``; None if none did."""
        wanted = view.byte_ranges()
        for ordinal in range(self.ordinal - 1, -1, -1):
            command = self.program.commands[ordinal]
            if command.is_system:
                continue
            for result in command.results:
                if isinstance(result, View) and _same_place(result, view) and _overlap(result.byte_ranges(), wanted):
                    return ordinal
        return None


def _same_place(a: View, b: View) -> bool:
    """Whether two views lie in one memory; DDR and L2 are shared by all cores."""
    return a.space is b.space and (a.space in (Space.GLOBAL, Space.L2) or a.core == b.core)


def _overlap(a: list[tuple[int, int]], b: list[tuple[int, int]]) -> bool:
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i][1] <= b[j][0]:
            i += 1
        elif b[j][1] <= a[i][0]:
            j += 1
        else:
            return True
    return False
