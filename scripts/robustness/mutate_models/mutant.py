"""A compiled model with one fault in it, as if the compiler had made it.

Streams are changed behind their decoding: ids are given anew, and the compiler's records of which command belongs to
which op stay right, so that no fault is betrayed by its traces in the file.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tdb_dap.engine.commands.commands import Columns
from tdb_dap.engine.hardware.target import Stream
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.source.source_map import SourceMap

Change = Callable[[str, Stream], Stream]
"""Of the streams of one core: engine and stream to what becomes of it."""


@dataclass(frozen=True)
class Fault:
    """``kind``: as in the table; ``text``: what was done to which command.

    ``changes``: one after another, each of the streams of a group (``subnet 0, core 1``); or ``descriptor``: new bytes
    at ``offset`` of the payload.
    """

    kind: str
    text: str
    changes: tuple[tuple[str, Change], ...] = ()
    offset: int = 0
    descriptor: bytes = b""


class Mutant(CompiledProgram):
    """A program with a fault. BadInput if it cannot be loaded: commands wait for each other for ever."""

    def __init__(self, program: Program, fault: Fault) -> None:
        bmodel = copy.copy(program.bmodel)
        if fault.descriptor:
            bmodel.payload = program.bmodel.payload.copy()
            stop = fault.offset + len(fault.descriptor)
            bmodel.payload[fault.offset : stop] = np.frombuffer(fault.descriptor, np.uint8)

        def target(chip: str, file: str) -> Any:
            return _FaultyDecoder(program.target, fault)

        self._original = program
        super().__init__(program.context, target, program.net.name, bmodel=bmodel)

    def _map_sources(self, columns: Columns) -> SourceMap:
        before = self._original.commands.columns.offset
        order = np.argsort(before)
        ordinals = order[np.searchsorted(before, columns.offset, sorter=order)]
        return self._original.source.rearranged(ordinals)


class _FaultyDecoder:
    """A chip that decodes streams with a fault; everything else is the chip's."""

    def __init__(self, chip: Any, fault: Fault) -> None:
        self._chip = chip
        self._fault = fault

    def __getattr__(self, name: str) -> Any:
        return getattr(self._chip, name)

    def decode_stream(self, engine: str, data: NDArray[np.uint8], count: int | None, what: str) -> Stream:
        stream: Stream = self._chip.decode_stream(engine, data, count, what)
        for group, change in self._fault.changes:
            if what.endswith(f"{group}, {engine.upper()} stream"):
                stream = change(engine, stream)
        return stream


_COLUMNS = ("offsets", "kinds", "dependencies", "listed", "is_end")


def dropped(engine: str, offset: int, id: int) -> Change:
    """Without the command at a byte of its stream; who waits for it waits for the one before."""

    def change(which: str, stream: Stream) -> Stream:
        if which != engine:
            waits = stream.dependencies
            return replace(stream, dependencies=waits - (waits >= id))
        row = _row(stream, offset)
        kept: dict[str, Any] = {name: np.delete(getattr(stream, name), row) for name in _COLUMNS}
        return replace(stream, ids=stream.ids[:-1], **kept)

    return change


def swapped(engine: str, offset: int) -> Change:
    """The command at a byte of its stream and the next one the other way round, each with what it waits for."""

    def change(which: str, stream: Stream) -> Stream:
        if which != engine:
            return stream
        row = _row(stream, offset)
        order = np.arange(stream.offsets.size)
        order[row], order[row + 1] = row + 1, row
        return replace(stream, **{name: getattr(stream, name)[order] for name in _COLUMNS})

    return change


def lowered(engine: str, offset: int, dependency: int) -> Change:
    """The command at a byte of its stream waits for an earlier one."""

    def change(which: str, stream: Stream) -> Stream:
        if which != engine:
            return stream
        waits = stream.dependencies.copy()
        waits[_row(stream, offset)] = dependency
        return replace(stream, dependencies=waits)

    return change


def _row(stream: Stream, offset: int) -> int:
    return int(np.flatnonzero(stream.offsets == offset)[0])
