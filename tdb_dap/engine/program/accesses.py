"""Readers and writers of bytes: an index of all operands and results, made as far as it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from heapq import merge
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import BadAccess, NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command, Commands

_CHUNK = 16
"""Commands that are looked at at once."""

_SPACES = list(Space)


class Chunk(Struct, frozen=True):
    """The operands or results of a stretch of commands: a row each of ordinal, space, core, first and last byte + 1."""

    rows: NDArray[np.int64]
    views: tuple[View, ...]

    def touching(self, place: ByteRanges, start: int, stop: int) -> Iterator[int]:
        """Ordinals from ``start`` on and below ``stop``, ascending, of commands that touch a byte of ``place``."""
        if not len(self.rows) or not len(place.runs):
            return
        ordinal, space, core, first, last = self.rows.T
        near = (space == _SPACES.index(place.space)) & (core == place.core)
        near &= (first < int(place.runs[-1, 1])) & (last > place.start) & (ordinal >= start) & (ordinal < stop)
        previous = -1
        for row in np.flatnonzero(near).tolist():
            if int(ordinal[row]) != previous and ByteRanges.of(self.views[row]).overlaps(place):
                previous = int(ordinal[row])
                yield previous


class Accesses:
    """Finds readers and writers in one program. Operands of forms without a description are left out."""

    def __init__(self, commands: Commands) -> None:
        self._commands = commands
        self._chunks: dict[tuple[int, bool], Chunk] = {}

    def last_writer(self, place: ByteRanges, before: int, skipped: Callable[[int], bool]) -> int | None:
        """The last command with an ordinal below ``before`` that writes a byte of ``place``; None if none does.

        ``skipped``: whether a command is not executed.
        """
        for number in range((before - 1) // _CHUNK, -1, -1):
            for ordinal in reversed(list(self._chunk(number, True).touching(place, 0, before))):
                if not skipped(ordinal):
                    return ordinal
        return None

    def touching(
        self, place: ByteRanges, reads: bool, writes: bool, start: int = 0, stop: int | None = None
    ) -> Iterator[int]:
        """Ordinals from ``start`` on and below ``stop``, ascending, of the commands that read or write a byte."""
        stop = len(self._commands) if stop is None else min(stop, len(self._commands))
        for number in range(start // _CHUNK, -(-stop // _CHUNK)):
            kinds = (False,) * reads + (True,) * writes
            ordinals = merge(*(self._chunk(number, is_write).touching(place, start, stop) for is_write in kinds))
            yield from (ordinal for ordinal, _ in groupby(ordinals))

    def _chunk(self, number: int, is_write: bool) -> Chunk:
        key = (number, is_write)
        if key not in self._chunks:
            self._chunks[key] = self._made(number, is_write)
        return self._chunks[key]

    def _made(self, number: int, is_write: bool) -> Chunk:
        rows: list[tuple[int, int, int, int, int]] = []
        views: list[View] = []
        start = number * _CHUNK
        for ordinal in range(start, min(start + _CHUNK, len(self._commands))):
            for view in views_of(self._commands[ordinal], is_write):
                try:
                    first, last = hull(view)
                except BadAccess:  # a view that has no place in memory touches none
                    continue
                core = 0 if view.space.is_shared else view.core
                rows.append((ordinal, _SPACES.index(view.space), core, first, last))
                views.append(view)
        return Chunk(np.array(rows, np.int64).reshape(-1, 5), tuple(views))


def views_of(command: Command, is_write: bool) -> list[View]:
    """The places that a command writes, or reads: none where its form is not described."""
    if command.is_system:
        return []
    try:
        description = command.description
    except NotSimulated:
        return []
    operands = description.results if is_write else description.reads
    return [operand for operand in operands if isinstance(operand, View) and operand.size]


def hull(view: View) -> tuple[int, int]:
    """First byte, and the one after the last."""
    share = view.dtype.per_byte
    itemsize = 1 if share > 1 else view.dtype.itemsize
    first, last = 1 << 62, 0
    for segment in view.segments:
        length = sum((extent - 1) * stride for extent, stride in zip(segment.shape, segment.strides, strict=True))
        first, last = min(first, segment.offset), max(last, segment.offset + length + itemsize)
    return first // share, -(-last // share)
