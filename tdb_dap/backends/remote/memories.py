"""The server's side of one program: its memories, and the backend that executes on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np
from msgspec import Struct

from tdb_dap.backends.choice import in_lockstep, vendor_backend
from tdb_dap.backends.remote.messages import Execute, Open
from tdb_dap.engine.device.device import Content
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Region
from tdb_dap.engine.hardware.runs import Runs, merged
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.machine.backend import Backend, InProcess
from tdb_dap.engine.machine.undo_log import Change, Outcome, OverwrittenBytes, OverwrittenView
from tdb_dap.errors import BadInput, NotSimulated
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.chips.registry import target_for

_GAP = 64
"""Bytes: what is between two changes that are nearer than this is sent along."""


class Received(Struct, frozen=True, dict=True):
    """A command without a program around it."""

    chip: Chip
    engine: str
    core: int
    descriptor: bytes
    register_setup: tuple[bytes, ...]

    @property
    def target(self) -> Chip:
        return self.chip

    @cached_property
    def kind(self) -> int:
        return _kind(self.chip, self.engine, self.descriptor)

    @cached_property
    def description(self) -> Description:
        return self.chip.describe(self.kind, self.descriptor, self.core, self.registers)

    @cached_property
    def registers(self) -> dict[int, int]:
        registers: dict[int, int] = {}
        for descriptor in self.register_setup:
            registers.update(self.chip.register_writes(_kind(self.chip, "tiu", descriptor), descriptor))
        return registers


def _kind(chip: Chip, engine: str, descriptor: bytes) -> int:
    kind = chip.kind_of(engine, descriptor)
    if kind is None or len(descriptor) != chip.kind_size(kind):
        raise NotSimulated(f"{len(descriptor)} bytes for the engine {engine[:16]!r} are no command of {chip.name}")
    return kind


class Memories:
    """Memories and backend for one client.

    ``backend``: ``numpy``, ``cmodel`` or ``lockstep``; ``most``: bytes of memory that a client may ask for.
    """

    def __init__(self, request: Open, backend: str, cmodel_path: Path | None, most: int) -> None:
        self._chip = chip = target_for(request.chip, "the client's program")
        geometry = chip.geometry
        own = request.cores * (geometry.local_bytes + geometry.static_bytes) + geometry.l2_bytes
        wanted = own + sum(part.size for part in request.ddr)
        if wanted > most:
            raise BadInput(
                f"the program needs {wanted:,} bytes of memory; clients are given at most {most:,} (--memory)"
            )
        if any(part.space != Space.GLOBAL.value or not part.size for part in request.ddr):
            raise BadInput("a region that is not of DDR or has no bytes was asked for")
        ddr = sorted(request.ddr, key=lambda part: part.start)
        if any(a.start + a.size > b.start for a, b in pairwise(ddr)):
            raise BadInput("regions of DDR that overlap were asked for")
        regions = [Region(part.start, np.zeros(part.size, np.uint8), "the client's") for part in ddr]
        self.cores = request.cores
        self.backend: Backend
        if backend == "numpy":
            self.backend = in_process = InProcess(chip)
            self.memory = in_process.open_memories(request.cores, regions)
        else:
            vendor = vendor_backend(chip, cmodel_path)
            self.memory = vendor.open_memories(request.cores, regions)
            self.backend = vendor if backend == "cmodel" else in_lockstep(chip, vendor)

    def write(self, contents: Iterable[Content]) -> None:
        """Put bytes where the client wants them; BadAccess outside of its memories."""
        for content in contents:
            self.memory.bytes_at(content.space, content.start, content.data.size, content.core)[...] = content.data
        self.backend.edited()

    def content(self, space: Space, core: int, start: int, size: int) -> Content:
        """Bytes of a range; BadAccess outside of the memories."""
        return Content(space, core, start, self.memory.bytes_at(space, start, size, core))

    def execute(self, request: Execute) -> tuple[list[Content], str | None]:
        """Carry out a command: what it has changed, as it is now, and where two backends do not agree."""
        if request.core >= self.cores:
            raise NotSimulated(f"there is no core {request.core}")
        command = Received(self._chip, request.engine, request.core, request.descriptor, tuple(request.setup))
        if command.kind >= 0 and self._chip.writes_registers(command.kind):
            return [], None  # goes out before the command that uses it
        outcome = self.backend.execute(command, self.memory)
        return list(self._changed(outcome)), outcome.divergence

    def _changed(self, outcome: Outcome) -> Iterator[Content]:
        seen: set[tuple[Space, int, int, int]] = set()
        for change in outcome.changes:
            for extent in _extents(change):
                if extent not in seen:
                    seen.add(extent)
                    yield self.content(*extent)

    def restarted(self) -> None:
        self.backend.restarted()

    def close(self) -> None:
        self.backend.close()


def _extents(change: Change) -> Iterator[tuple[Space, int, int, int]]:
    """Space, core, start and size of what a change is about."""
    if isinstance(change, OverwrittenBytes):
        yield change.space, change.core, change.start, change.old.size
    elif isinstance(change, OverwrittenView):
        place = ByteRanges.of(change.view)
        if len(place.runs):
            for start, stop in _bridged(place.runs).tolist():
                yield place.space, place.core, start, stop - start
    else:
        raise AssertionError(f"{type(change).__name__} does not say what it is about")


def _bridged(runs: Runs) -> Runs:
    """Ranges with nothing but small gaps between them as one."""
    wider = runs.copy()
    wider[:, 1] += _GAP
    wider = merged(wider)
    wider[:, 1] -= _GAP
    return wider
