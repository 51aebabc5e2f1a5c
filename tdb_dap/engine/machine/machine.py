"""A chip at one moment of a program: its memories, and how many commands have been executed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.target import Watched
from tdb_dap.engine.hardware.views import Operand, View
from tdb_dap.engine.machine.backend import Backend, InProcess
from tdb_dap.engine.machine.branches import Branches
from tdb_dap.engine.machine.checkpoints import Checkpoints, Snapshots
from tdb_dap.engine.machine.edited_accesses import EditedAccesses
from tdb_dap.engine.machine.edits import CommandEdit, Edit, Edits, MemoryEdit, MovedBack, Skip
from tdb_dap.engine.machine.execution import compute_subnet, execute
from tdb_dap.engine.machine.host_subnets import Source
from tdb_dap.engine.machine.undo_log import DEFAULT_LIMIT, Change, Outcome, OverwrittenBytes, OverwrittenView, UndoLog
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import EndOfProgram

_AT_ONCE = 512
"""Commands that are executed without a look at whether to stop, at most; the kernel ends earlier if they are large."""
_CHECKPOINTS = 4
"""The fraction 1/N of the history's room is for checkpoints."""


def never() -> bool:
    """The default of interruptible work: go on."""
    return False


class MachineListener:
    """Notifications of a machine; override what is of interest."""

    def note(self, text: str) -> None:
        """Outputs of a subnet that cannot be computed were taken from a source."""

    def edited(self, moment: int) -> None:
        """An edit was made or undone; ``moment``: the last moment that is still as it was."""


class Machine:
    """Executes a program forwards and backwards. Knows nothing of breakpoints or files.

    ``static_tables``: how the static memory is filled, ``firmware`` or ``tdb``. ``history_limit``: bytes kept to undo
    commands, and for ``checkpoints``: what is further back than commands can be undone is reached by running again
    from the nearest checkpoint; 0 keeps nothing, and every way back begins at the start. ``backend``: what executes the
    commands; default: the target's own semantics. ``divergence``: where the backends disagreed on the last command, or
    where it has not left what was recorded.
    ``sources``: who knows the outputs of subnets that cannot be computed, the first that counts first; ``listener``:
    told where they were used, and of edits; ``shapes``: tensors that turned out smaller than the room they have;
    ``expected``: of those that a source gave, whether it is the reference and they were not computed.
    ``accesses``: which commands read and write which bytes, edits included.
    """

    def __init__(
        self,
        program: Program,
        static_tables: str = "firmware",
        history_limit: int = DEFAULT_LIMIT,
        backend: Backend | None = None,
    ) -> None:
        self.program = program
        self._content = program.content
        self.backend: Backend = backend or InProcess(program.target)
        self._memory = self.backend.open(program)
        self.divergence: str | None = None
        self._static_tables = static_tables
        if not self.backend.reversible:
            history_limit = 0
        room = history_limit // _CHECKPOINTS
        self._history = UndoLog(history_limit - room)
        self._snapshots = Snapshots(self._memory, program.ddr_regions())
        self.checkpoints = Checkpoints(self._snapshots, room)
        self._edits = Edits()
        self._branches = Branches(program.stage.subnets, program.subnets)
        self.accesses = EditedAccesses(program, self._edits, self.command_at, self.passes_over)
        self._excursions = 0
        self._latest: Outcome | None = None
        self.listener = MachineListener()
        self._inputs: dict[str, Array] = {}
        self.sources: list[Source] = []
        self.shapes: dict[str, tuple[int, ...]] = {}
        self.expected: dict[str, bool] = {}
        self.ordinal = 0
        self._initialise()

    def _initialise(self) -> None:
        self.program.fill_tables(self._memory, self._static_tables)
        for tensor in self.program.inputs:
            if tensor.name in self._inputs:
                self._memory.write(tensor.view, self._inputs[tensor.name])
        self.backend.edited()

    @property
    def memory(self) -> Memory:
        """The memories; BadInput if they are mapped from a file that was written since."""
        self._require_intact()
        return self._memory

    def _require_intact(self) -> None:
        if self._content is not None:
            self._content.require_intact()

    def load_inputs(self, words: Mapping[str, Array]) -> None:
        """Stored words for the net's inputs, by name; they are written now and at every restart."""
        self._inputs = dict(words)
        self._initialise()
        self._changed_after(-1)

    @property
    def inputs(self) -> Mapping[str, Array]:
        """Stored words of the net's inputs, by name, as they were given."""
        return self._inputs

    @property
    def compares(self) -> bool:
        """Whether it finds out that a command does not leave what it should, see ``divergence``."""
        return self.backend.compares or self.program.verifies

    @property
    def keeps_history(self) -> bool:
        """Whether anything is kept for going back."""
        return self._history.limit > 0

    @property
    def oldest_kept(self) -> int:
        """The first moment to which going back executes nothing again."""
        return self._history.first if self.keeps_history else self.ordinal

    @property
    def edits(self) -> tuple[Edit, ...]:
        """Edits of the user up to now, oldest first."""
        return tuple(self._edits)

    def reset(self) -> None:
        """Back to the start as if nothing had been executed or edited; so it is, too, after BackendFailed."""
        try:
            self._start()
        finally:
            self._forget_edits(-1)

    def _start(self) -> None:
        self._memory.reset(self.program.ddr_regions())
        self._begin(0)
        self._initialise()
        self.backend.restarted()

    def _begin(self, ordinal: int) -> None:
        """The memories are those of a moment whose past cannot be undone."""
        self._history.begin(ordinal)
        self._edits.restart_at(ordinal)
        self._latest = None
        self.divergence = None
        self.ordinal = ordinal

    def fall_back(self) -> None:
        """Go on with the target's own semantics, from the memories as they are."""
        self.backend.close()
        self.backend = InProcess(self.program.target)

    def close(self) -> None:
        """End what the backend runs elsewhere; what is in the memories can still be looked at."""
        self.backend.close()

    def command_at(self, ordinal: int) -> Command:
        """A command as it is executed: the program's own, or what an edit has made of it."""
        changed = self._edits.descriptor_of(ordinal) if len(self._edits) else None
        commands = self.program.commands
        return commands[ordinal] if changed is None else commands.changed(ordinal, changed)

    def passes_over(self, ordinal: int) -> bool:
        """Whether a command is not executed: an edit has it left out, or it is of a branch that is not taken."""
        return self._branches.leaves_out(ordinal) or (len(self._edits) > 0 and self._edits.skips(ordinal))

    def step(self) -> None:
        """Execute the next command. NotSimulated and BackendFailed leave everything as it was.

        EndOfProgram after the last command.
        """
        if self.ordinal >= len(self.program.commands):
            raise EndOfProgram("the program has ended; there is no further command")
        self._require_intact()
        started = time.perf_counter()
        outcome = Outcome() if self.passes_over(self.ordinal) else self._carry_out(self.command_at(self.ordinal))
        if self.program.verifies and not len(self._edits):
            outcome = replace(outcome, divergence=self.program.mismatch(self.ordinal, self._memory))
        self._history.record(outcome)
        self._latest = outcome
        self.divergence = outcome.divergence
        self.ordinal += 1
        self.checkpoints.executed(self.ordinal, time.perf_counter() - started)
        if self._edits.waiting:
            self._edits.arrive(self._memory, self.ordinal)
            self.backend.edited()

    @property
    def can_run_ahead(self) -> bool:
        """Whether nothing is kept of each command, and nothing is to be found out about it."""
        is_seen = self.keeps_history or self.program.verifies or len(self._edits) or self._branches.leaves_out_any
        return not is_seen and isinstance(self.backend, InProcess) and not self.backend.keeps_old

    def run_ahead(self, ordinal: int, watched: Watched | None = None) -> None:
        """Execute some of the next commands at once, at most until ``ordinal`` or what is ``watched``; perhaps none."""
        ordinal = min(ordinal, self.ordinal + _AT_ONCE, len(self.program.commands))
        if ordinal <= self.ordinal or not self.can_run_ahead or not isinstance(self.backend, InProcess):
            return
        self._require_intact()
        some = self.program.commands, self.ordinal, ordinal, self._memory
        reached = self.backend.execute_some(*some) if watched is None else self.backend.execute_watched(*some, watched)
        if reached > self.ordinal:
            self._begin(reached)

    def run_in_order(self, ordinals: Iterable[int]) -> None:
        """Execute all commands from the start in another order; nothing of it can be undone."""
        self.reset()
        for ordinal in ordinals:
            self._begin(ordinal)
            self.step()
        self._begin(len(self.program.commands))
        self._changed_after(-1)  # what was on the way is not what the program's own order leaves

    def _carry_out(self, command: Command) -> Outcome:
        if command.has_descriptor:
            return execute(command, self.backend, self._memory)
        outcome = compute_subnet(command, self.program, self._memory, self.sources, self._branches)
        changes = tuple(OverwrittenView(view, self._memory.read(view)) for view, _ in outcome.writes)
        for view, words in outcome.writes:
            self._memory.write(view, words)
        self.backend.edited()
        self.shapes.update(outcome.shapes)
        self.expected.update(outcome.expected)
        if outcome.note:
            self.listener.note(outcome.note)
        return Outcome(changes)

    def travel(self, ordinal: int, interrupt: Callable[[], bool] = never) -> None:
        """Go to the moment when ``ordinal`` commands have been executed, or until ``interrupt`` returns true.

        Edits that were made later are undone and forgotten.
        """
        try:
            self._go(ordinal, interrupt)
        finally:
            if not self._excursions:
                self._forget_edits(self.ordinal)

    @contextmanager
    def excursion(self) -> Iterator[None]:
        """Whatever is travelled inside, the machine comes back to this moment, and all edits are in force again."""
        here = self.ordinal
        self._excursions += 1
        try:
            yield
        finally:
            self._go(here, never)
            self._excursions -= 1

    @contextmanager
    def before_edits(self) -> Iterator[None]:
        """Inside, the memories are as the last command has left them: this very moment's edits are not made yet."""
        self._edits.go_back(self._memory, self.ordinal - 1)
        try:
            yield
        finally:
            self._edits.arrive(self._memory, self.ordinal)

    def _go(self, ordinal: int, interrupt: Callable[[], bool]) -> None:
        """Checkpoints are left by executing at least one command: then it is known what the last command has done."""
        if ordinal < self._history.first:
            nearest = self.checkpoints.nearest(ordinal - 1)
            self._start() if nearest is None else self._resume(nearest)
            self._edits.arrive(self._memory, self.ordinal)
        while self.ordinal > ordinal and not interrupt():
            self._undo()
        ahead = self.checkpoints.nearest(ordinal - 1)
        if ahead is not None and ahead > self.ordinal:
            self._resume(ahead)
            self._edits.arrive(self._memory, self.ordinal)
        while self.ordinal < ordinal and not interrupt():
            self.step()

    def _undo(self) -> None:
        self._edits.go_back(self._memory, self.ordinal - 1)
        self._history.undo(self._memory)
        self._latest = self._history.latest
        self.divergence = self._latest.divergence if self._latest else None
        self.ordinal -= 1
        self.backend.edited()

    def _resume(self, checkpoint: int) -> None:
        self.checkpoints.restore(checkpoint)
        self._begin(checkpoint)
        self.backend.edited()

    def keep_no_changes(self) -> None:
        """From now on nobody asks for ``latest_changes``: it is empty where the commands are executed here."""
        if isinstance(self.backend, InProcess):
            self.backend.keeps_old = False

    def latest_changes(self) -> tuple[Change, ...]:
        """Changes of the last command; none at the start."""
        return self._latest.changes if self._latest else ()

    # Edits

    def _edit(self, edit: Edit) -> None:
        self._edits.add(edit, self._memory)
        self._changed_after(edit.made_at)

    def _forget_edits(self, moment: int) -> None:
        if len(self._edits) and (origin := self._edits.forget(moment)) is not None:
            self._changed_after(origin)

    def _changed_after(self, moment: int) -> None:
        """Forget what was known of later moments."""
        self.checkpoints.forget_after(moment)
        self.backend.edited()
        self.listener.edited(moment)

    @contextmanager
    def without(self, edits: Sequence[Edit]) -> Iterator[None]:
        """Inside, these edits of commands are not in force. The machine is brought back to where it was before."""
        here = self.ordinal
        hidden = self._edits.hide(edits)
        try:
            yield
        finally:
            self._go(here, never)
            self._edits.show(hidden)
            self._changed_after(here)

    def take_back(self) -> Edit | None:
        """Undo the last edit, at the moment at which it was made; None if there is none."""
        if not len(self._edits):
            return None
        edit = self.edits[-1]
        self.travel(min(edit.made_at, self.ordinal))
        if len(self._edits) and self.edits[-1] is edit:
            self._edits.take_back(self._memory)
            self._changed_after(edit.made_at)
            if isinstance(edit, MovedBack):
                self._edits.await_again(edit.later)
                self._go(edit.came_from, never)
        return edit

    def change_command(self, ordinal: int, descriptor: bytes, text: str) -> None:
        """From now on a command is executed with another descriptor; it must not have been executed yet."""
        self._edit(CommandEdit(self.ordinal, text, ordinal, descriptor))

    def skip_to(self, ordinal: int) -> None:
        """Go on at another command with the memories as they are: nothing is executed and nothing is undone."""
        here = self.ordinal
        if ordinal > here:
            self._edit(Skip(here + 1, f"commands {here} to {ordinal - 1} skipped", here, ordinal))
            self._go(ordinal, never)
        elif ordinal < here:
            now = self._snapshots.take()
            later = tuple(edit for edit in self.edits if edit.moment > ordinal)
            self.travel(ordinal)
            pages = list(self._snapshots.differences(now))
            before = tuple(OverwrittenBytes(space, core, start, old) for space, core, start, old, _ in pages)
            after = tuple(OverwrittenBytes(space, core, start, new) for space, core, start, _, new in pages)
            text = f"moved back from {here} to {ordinal} with the memories as they were"
            self._edit(MovedBack(ordinal, text, before, after, None, here, later))

    def write_words(self, view: View, words: Array, text: str, place: ByteRanges | None = None) -> None:
        """Overwrite a view with stored words of its shape; undone when time goes back before this moment.

        ``place``: what of it the user has set, if it is not all.
        """
        old = OverwrittenView(view, self._memory.read(view))
        self._edit(MemoryEdit(self.ordinal, text, (old,), (OverwrittenView(view, words.copy()),), place))

    def read(self, what: Operand) -> Array:
        """Numbers of a view in its logical shape (f16 as float16, bf16 widened to float32), or of a constant."""
        if isinstance(what, View):
            return what.dtype.decode(self.memory.read(what))
        return np.array(what.value, what.dtype.numpy)

    def write(self, view: View, numbers: Array) -> None:
        """Overwrite a view with numbers, broadcast to its shape; undone when time goes back before this moment.

        BadExpression for numbers that its format cannot hold.
        """
        bits = view.dtype.words_for(np.broadcast_to(np.asarray(numbers), view.shape))
        self.write_words(view, bits, f"%{view.name} overwritten")

    def write_bytes(self, space: Space, core: int, start: int, data: bytes) -> None:
        """Overwrite bytes of a space, as ``write``."""
        old = self._memory.bytes_at(space, start, len(data), core).copy()
        new = np.frombuffer(data, np.uint8)
        before, after = (OverwrittenBytes(space, core, start, content) for content in (old, new))
        text = f"{len(data):,} bytes from {self._memory.geometry.name(space, start)} overwritten"
        self._edit(MemoryEdit(self.ordinal, text, (before,), (after,)))

    @property
    def changed_commands(self) -> frozenset[int]:
        """Ordinals of the commands that edits have changed."""
        return self._edits.changed
