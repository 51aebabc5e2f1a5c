"""Devices with their own memories (a board, a simulator elsewhere), and the backend made of one.

A device only has to execute commands and to give and take bytes. The debugger keeps the memories as well: what a
command needs is brought to the device before it, what the command has changed is fetched after it. So going back in
time, edits and checkpoints work without the device's help: the bytes that a command overwrites are known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
from msgspec import Struct

from tdb_dap.engine.device.page_sync import DevicePages, Extent
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Bytes, Memory
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.backend import Executable
from tdb_dap.engine.machine.undo_log import Outcome, OverwrittenBytes
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import BackendFailed, BadAccess, NotSimulated


class Content(Struct, frozen=True):
    """Bytes of a range: uint8, one dimension."""

    space: Space
    core: int
    start: int
    data: Bytes


class Layout(Struct, frozen=True):
    """Description of a program for a device."""

    chip: str
    cores: int
    ddr: tuple[Extent, ...]
    """The parts of DDR that it uses, by address."""
    size: int
    """Bytes of all its memories."""


class Effect(Struct, frozen=True):
    """Effect of a command on the device."""

    changed: tuple[Content, ...] | None = None
    """Every byte that is not what it was, and what it is now (bytes that have not changed may be among them); None: the
    device cannot tell, and the results that the command declares are read back.
    """
    divergence: str | None = None
    """As in ``Outcome``."""


class Device(Protocol):
    """Executes commands on its own memories. Every method may raise BackendFailed: the device is lost.

    ``name``: shown to the user. ``compares``: whether its effects report divergences.
    """

    @property
    def name(self) -> str: ...

    @property
    def compares(self) -> bool: ...

    def open(self, layout: Layout) -> None:
        """Get ready for a program, with all memories zero. BadInput if that cannot be."""
        ...

    def write(self, contents: Sequence[Content]) -> None:
        """Put bytes into the memories."""
        ...

    def read(self, extents: Sequence[Extent]) -> list[Bytes]:
        """Contents of the memories, for each extent."""
        ...

    def execute(self, command: Executable) -> Effect:
        """Carry out one command; NotSimulated or BadAccess where it cannot, and nothing has changed then."""
        ...

    def reset(self) -> bool:
        """Begin again: whatever belongs to none of the memories is as it was when the device was opened.

        Whether the memories still hold what they held; if not, what they hold does not matter.
        """
        ...

    def close(self) -> None:
        """Let go of it. May be called twice."""
        ...


class Attached:
    """The backend that a device is.

    Only what a command reads and writes is kept equal on both sides, and only when it is about to be executed: weights
    that no command has needed yet are not sent anywhere.
    """

    reversible = True

    def __init__(self, device: Device) -> None:
        self._device = device

    @property
    def name(self) -> str:
        return self._device.name

    @property
    def compares(self) -> bool:
        return self._device.compares

    def open(self, program: Program) -> Memory:
        memory = Memory(program.target.geometry, program.core_count, program.ddr_regions(to_write=True))
        self._pages = DevicePages(memory)
        ddr = (Extent(Space.GLOBAL, 0, region.start, region.data.size) for region in memory.regions(Space.GLOBAL))
        self._device.open(Layout(program.chip, program.core_count, tuple(ddr), self._pages.size))
        return memory

    def execute(self, command: Executable, memory: Memory) -> Outcome:
        description = _description(command)
        self._bring(memory, None if description is None else _needed(description, memory.cores))
        executed = False
        try:
            effect = self._device.execute(command)
            executed = True
            changed = self._read_back(description) if effect.changed is None else effect.changed
        except BaseException as error:
            if executed or not isinstance(error, NotSimulated | BadAccess):
                self._pages.forget()  # given up by the user, or not to be read back: nobody knows what it holds now
            raise
        return Outcome(tuple(self._take(memory, changed)), effect.divergence)

    def edited(self) -> None:
        self._pages.recheck()

    def restarted(self) -> None:
        if not self._device.reset():
            self._pages.forget()
        self._pages.recheck()

    def close(self) -> None:
        self._device.close()

    def _bring(self, memory: Memory, needed: list[ByteRanges] | None) -> None:
        """Have the device hold what our memories hold at some places; None: everywhere."""
        missing = self._pages.missing(needed)
        if missing:
            self._device.write(
                [Content(e.space, e.core, e.start, memory.bytes_at(e.space, e.start, e.size, e.core)) for e in missing]
            )

    def _read_back(self, description: Description | None) -> tuple[Content, ...]:
        """Read back the results of a command from the device."""
        if description is None:
            raise NotSimulated("what the command writes is not known, and the device does not report it")
        places = [ByteRanges.of(result) for result in description.results if isinstance(result, View)]
        extents = [
            Extent(place.space, place.core, start, stop - start)
            for place in places
            for start, stop in place.runs.tolist()
        ]
        contents = self._device.read(extents)
        return tuple(Content(e.space, e.core, e.start, data) for e, data in zip(extents, contents, strict=True))

    def _take(self, memory: Memory, changed: Sequence[Content]) -> Iterable[OverwrittenBytes]:
        """Bring bytes of the device into our memories; what was there before."""
        try:
            places = [memory.bytes_at(c.space, c.start, c.data.size, c.core) for c in changed]
        except BadAccess as error:
            raise BackendFailed(f"{self.name} has changed bytes that do not exist: {error}") from None
        for content, live in zip(changed, places, strict=True):
            old = live.copy()
            live[...] = content.data
            self._pages.took(content.space, content.core, content.start, content.data.size)
            yield OverwrittenBytes(content.space, content.core, content.start, old)


def _description(command: Executable) -> Description | None:
    """None for a form that has no description; the device may know it all the same."""
    try:
        return command.description
    except NotSimulated:
        return None


def _needed(description: Description, cores: int) -> list[ByteRanges]:
    """Ranges that a command reads and writes, and the constants of static memory that it may look up."""
    operands = (*description.reads, *description.operands, *description.results)
    places = [ByteRanges.of(operand) for operand in operands if isinstance(operand, View)]
    every = np.array([[0, 1 << 62]], np.int64)
    return places + [ByteRanges(Space.STATIC, core, every) for core in range(cores)]
