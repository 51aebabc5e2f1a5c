"""The vendor's simulator as a backend, alone or in lockstep with the target's own semantics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from tdb_dap.backends.divergence import Results, compare
from tdb_dap.backends.messages import ENGINE_NUMBERS, Execute
from tdb_dap.backends.process import ChildProcess
from tdb_dap.backends.shared import SharedMemory
from tdb_dap.engine.hardware.memory import Memory, Region
from tdb_dap.engine.machine.backend import Executable, InProcess
from tdb_dap.engine.machine.undo_log import Outcome, OverwrittenBytes
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BackendFailed, BadInput, NotSimulated
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.vendor_library import VendorLibrary


class VendorBackend:
    """Commands are executed by the vendor's library in a child process.

    What a command has changed is found by comparing all memories, not from what it declares. ``timeout``: seconds for
    one command; None: any time. ``child``: what to start instead of the process that loads the library.
    """

    name = "cmodel"
    compares = False
    reversible = True

    def __init__(
        self, chip: Chip, library: Path, timeout: float | None = None, child: Sequence[str] | None = None
    ) -> None:
        if chip.vendor_library is None:
            raise BadInput(f"backend {self.name!r}: how to drive the vendor's simulator of {chip.name} is not known")
        self._chip = chip
        self._vendor: VendorLibrary = chip.vendor_library
        self._library = library
        self._options = {"timeout": timeout, **({"command": tuple(child)} if child is not None else {})}
        self._registers: tuple[bytes, ...] = ()
        self._stale = True

    def open(self, program: Program) -> Memory:
        return self.open_memories(program.core_count, program.ddr_regions())

    def open_memories(self, cores: int, ddr: Iterable[Region]) -> Memory:
        """Start the process, with memories for that number of cores and these regions of DDR."""
        if cores > self._vendor.cores:
            raise BadInput(
                f"the vendor's simulator of {self._chip.name} has {self._vendor.cores} cores and the model needs "
                f"{cores}; run it without a backend: the built-in simulator has them all"
            )
        self._shared = SharedMemory(self._chip.geometry, cores, ddr, self._vendor, str(self._library))
        self._start()
        return self._shared.memory

    def _start(self) -> None:
        self._process = ChildProcess(self._shared.setup, **self._options)  # type: ignore[arg-type]
        self._registers = ()
        self._stale = True

    def restart(self) -> None:
        """A new process in place of one that has died; the memories are what they are now."""
        self._process.close()
        self._start()

    def execute(self, command: Executable, memory: Memory) -> Outcome:
        self.refresh()
        ranges = self.run(command)
        changes = self.overwritten(ranges)
        self._process.take(ranges)
        return Outcome(changes)

    def refresh(self) -> None:
        """Make the library's memories what ours are, where somebody has changed ours."""
        if self._stale:
            self._process.refresh()
            self._stale = False

    def run(self, command: Executable) -> tuple[tuple[int, int, int], ...]:
        """Have the library execute a command; (area, start, stop) of what differs from the memories now.

        To be called when the library's memories are ``refresh``-ed.
        """
        if command.engine not in ENGINE_NUMBERS:
            raise NotSimulated(f"the vendor's simulator is not given commands of the engine {command.engine!r}")
        if self._chip.writes_registers(command.kind):
            return ()  # goes out before the command that uses it
        setup = command.register_setup
        # The library keeps one set of registers for all cores: whatever differs from the last set goes out again.
        before = tuple(("tiu", descriptor) for descriptor in setup) if setup != self._registers else ()
        request = Execute(command.core, (*before, (command.engine, command.descriptor)))
        self._registers = setup
        return self._process.execute(request)

    def overwritten(self, ranges: tuple[tuple[int, int, int], ...]) -> tuple[OverwrittenBytes, ...]:
        """The bytes that are in the memories now."""
        overwrites: list[OverwrittenBytes] = []
        for index, start, stop in ranges:
            place = self._shared.offsets[index]
            first = place.start + start
            old = self._shared.memory.bytes_at(place.space, first, stop - start, place.core).copy()
            overwrites.append(OverwrittenBytes(place.space, place.core, first, old))
        return tuple(overwrites)

    def take(self, ranges: tuple[tuple[int, int, int], ...]) -> None:
        """Bring the library's bytes into the memories."""
        self._process.take(ranges)

    def edited(self) -> None:
        self._stale = True

    def restarted(self) -> None:
        self._stale = True

    def close(self) -> None:
        if hasattr(self, "_process"):
            self._process.close()
            self._shared.close()


class Lockstep:
    """Every command is executed twice, from the same memories, and all memories are compared.

    NaNs count as equal whatever their sign and payload: the library's own are not reproducible. After a divergence
    the memories hold what the vendor's library has computed.
    """

    name = "lockstep"
    compares = True
    reversible = True

    def __init__(self, own: InProcess, vendor: VendorBackend) -> None:
        self._own = own
        self._vendor = vendor

    def open(self, program: Program) -> Memory:
        return self._vendor.open(program)

    def execute(self, command: Executable, memory: Memory) -> Outcome:
        self._vendor.refresh()
        changes = self._own.execute(command, memory).changes
        try:
            ranges = self._vendor.run(command)
        except (BackendFailed, NotSimulated):
            for change in reversed(changes):
                change.undo(memory)
            self._vendor.edited()
            raise
        if not ranges:
            return Outcome(changes)
        ours = Results(command.description, memory)
        differing = self._vendor.overwritten(ranges)
        self._vendor.take(ranges)
        comparison = compare(ours, differing, memory)
        return Outcome((*changes, *differing), comparison.text)

    def edited(self) -> None:
        self._vendor.edited()

    def restarted(self) -> None:
        self._vendor.restarted()

    def close(self) -> None:
        self._vendor.close()
