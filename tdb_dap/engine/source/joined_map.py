"""Source maps of the launches of several nets as one, with the lines of the joined text."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.engine.source.op_records import OpRecord
from tdb_dap.engine.source.source_map import SourceMap


class MappedLaunch(Struct, frozen=True):
    """A launch of a net. ``start``: its first command; ``first_line``: lines of the joined text before its source's.

    ``subnets``: number of a subnet in the net -> number in the program.
    """

    map: SourceMap
    start: int
    first_line: int
    subnets: dict[int, int]


def joined_map(mlir: MlirFile | None, launches: Sequence[MappedLaunch], count: int) -> SourceMap:
    """One map for ``count`` commands; those that are of no launch have no line."""
    owners = np.full(count, -1, np.int32)
    lines: list[np.ndarray[Any, np.dtype[np.int64]]] = [np.zeros(0, np.int64)]
    starts: list[int] = []
    total = 0
    for launch in launches:
        own, own_lines = launch.map.ownership
        owners[launch.start : launch.start + own.size] = np.where(own >= 0, own + total, -1)
        lines.append(own_lines + launch.first_line)
        starts.append(total)
        total += own_lines.size
    return SourceMap(mlir, _JoinedRecords(launches, starts, total), owners, np.concatenate(lines))


class _JoinedRecords(Sequence[OpRecord]):
    """The records of all launches, made when asked for."""

    def __init__(self, launches: Sequence[MappedLaunch], starts: list[int], count: int) -> None:
        self._launches = launches
        self._starts = starts
        self._count = count
        self._made: dict[int, OpRecord] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(self._count))]
        number = index + self._count if index < 0 else index
        if not 0 <= number < self._count:
            raise IndexError(f"there is no record {index}")
        made = self._made.get(number)
        if made is None:
            # Launches without records begin where the next one does.
            position = bisect_right(self._starts, number) - 1
            launch = self._launches[position]
            record = launch.map.records[number - self._starts[position]]
            made = self._made[number] = replace(
                record,
                index=number,
                line=record.line + launch.first_line,
                subnet=launch.subnets[record.subnet],
                ordinals=tuple(ordinal + launch.start for ordinal in record.ordinals),
            )
        return made
