"""Whether the vendor's simulator agrees with itself.

Two more processes hold its library. What they allocate holds other bytes, and one of them has just executed the same
command on other numbers. An answer that depends on either comes from memory that was never written: the command is
undefined.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tdb_dap.backends.cmodel import VendorBackend
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory, Region
from tdb_dap.engine.machine.backend import Executable
from tdb_dap.errors import BackendFailed
from tdb_dap.system.child_processes import command
from tdb_dap.targets.chips.chip import Chip

_FILLINGS = (0x55, 0x3A)
"""Bytes that allocated memory holds in each process (freed memory: their complements)."""

_SPACES = (Space.L2, Space.LOCAL, Space.STATIC, Space.GLOBAL)


@dataclass(frozen=True)
class Written:
    """Bytes that a process wrote."""

    space: Space
    start: int
    data: bytes


class Filled:
    """One process whose allocated memory holds a byte."""

    def __init__(self, chip: Chip, library: Path, timeout: float, filling: int, ddr: Region) -> None:
        # glibc takes the complement for what is allocated, and fills nothing that comes from a thread's cache.
        tunables = f"GLIBC_TUNABLES=glibc.malloc.perturb={filling ^ 0xFF}:glibc.malloc.tcache_count=0"
        child = ("env", tunables, *command("tdb_dap.backends.child"))
        self._vendor = VendorBackend(chip, library, timeout=timeout, child=child)
        self._memory = self._vendor.open_memories(1, [Region(ddr.start, np.zeros_like(ddr.data), ddr.title)])

    def close(self) -> None:
        self._vendor.close()

    def answer(self, case: Executable, memory: Memory, invert: bool = False) -> tuple[Written, ...] | None:
        """What the process writes when it executes a command on a copy of ``memory``; None if it ends.

        ``invert``: on a copy with every bit of local memory and DDR inverted.
        """
        for space in _SPACES:
            for own, given in zip(self._memory.regions(space), memory.regions(space), strict=True):
                own.data[...] = ~given.data if invert and space in (Space.LOCAL, Space.GLOBAL) else given.data
        self._vendor.edited()
        self._vendor.refresh()
        try:
            ranges = self._vendor.run(case)
            self._vendor.take(ranges)
        except BackendFailed:
            self._vendor.restart()
            return None
        changes = self._vendor.overwritten(ranges)
        return tuple(Written(change.space, change.start, change.old.tobytes()) for change in changes)


class SelfComparison:
    """Both processes."""

    def __init__(self, chip: Chip, library: Path, timeout: float, ddr: Region) -> None:
        self._processes = [Filled(chip, library, timeout, filling, ddr) for filling in _FILLINGS]

    def close(self) -> None:
        for process in self._processes:
            process.close()

    def agrees(self, case: Executable, memory: Memory) -> bool:
        """Whether both answer alike on copies of ``memory``, and neither ends."""
        first, second = self._processes
        first.answer(case, memory, invert=True)
        found = first.answer(case, memory)
        return found is not None and found == second.answer(case, memory)
