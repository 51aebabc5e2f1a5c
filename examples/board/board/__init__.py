"""A device for tdb-dap: it executes on memories of its own and can do nothing else.

Where a driver would talk to a card, this one calls the built-in simulator on memories that the debugger does not see.
``tdb-dap run CONTEXT --backend board``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tdb_dap.api import (
    Attached,
    Backend,
    Bytes,
    Content,
    Device,
    Effect,
    Executable,
    Extent,
    InProcess,
    Program,
    Region,
    target_for,
)
from tdb_dap.api import DeviceLayout as Layout


def attach(program: Program) -> Backend:
    """What the entry point names: the backend for a program."""
    device: Device = Board()
    return Attached(device)


class Board:
    """The device. It does not tell what a command has changed: the debugger reads the declared results back."""

    name = "board"
    compares = False

    def open(self, layout: Layout) -> None:
        self._chip = InProcess(target_for(layout.chip, "the program"))
        regions = [Region(extent.start, np.zeros(extent.size, np.uint8), "DDR") for extent in layout.ddr]
        self._memory = self._chip.open_memories(layout.cores, regions)

    def write(self, contents: Sequence[Content]) -> None:
        for content in contents:
            place = self._memory.bytes_at(content.space, content.start, content.data.size, content.core)
            place[...] = content.data

    def read(self, extents: Sequence[Extent]) -> list[Bytes]:
        return [self._memory.bytes_at(e.space, e.start, e.size, e.core).copy() for e in extents]

    def execute(self, command: Executable) -> Effect:
        self._chip.execute(command, self._memory)
        return Effect()

    def reset(self) -> bool:
        for core in range(self._memory.cores):
            self._memory.local(core).fill(0xA5)  # a card that has been reset holds anything
        return False

    def close(self) -> None:
        """A driver would let go of the card here."""
