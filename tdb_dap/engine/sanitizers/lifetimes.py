"""When memory begins to belong to an op: what it holds then is left over from others, and not to be used.

An op's results and buffers begin with its first command. The scratchpad of a core holds nothing that lasts from one
layer group, or op outside of groups, to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.runs import merged
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.access_table import LOCAL, Column
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.source.source_map import OpRecord


@dataclass(frozen=True)
class Birth:
    """Lifetimes that begin with a command. ``left``: stretches of every lane of its core left over from before."""

    record: OpRecord
    left: tuple[tuple[int, int], ...]
    results: tuple[View, ...]


class Lifetimes:
    """The births of a program by ordinal."""

    def __init__(self, program: Program) -> None:
        self._births: dict[int, list[Birth]] = {}
        mlir = program.source.mlir
        period: dict[int, object] = {}
        seen: set[tuple[int, str]] = set()
        records = [record for record in program.source.records if record.ordinals]
        written = _Written(program)
        for record in sorted(records, key=lambda record: record.first):
            op = program.source.op_of(record)
            line = record.line if not record.is_local else op.group_line if op is not None else None
            now = record.subnet, record.is_local, line
            # Without final.mlir it is not known where one group ends and the next begins.
            clears = period.get(record.core) != now and (mlir is not None or not record.is_local)
            period[record.core] = now
            left = written.until(record.core, record.first) if clears else ()
            self._births.setdefault(record.first, []).append(Birth(record, left, tuple(_results(record, seen))))

    def at(self, ordinal: int) -> list[Birth]:
        """Lifetimes that begin with a command."""
        return self._births.get(ordinal, [])


class _Written:
    """Bytes of the scratchpads written since the last query."""

    def __init__(self, program: Program) -> None:
        rows = program.access_rows
        self._of_core: dict[int, tuple[Column, Column]] = {}
        for core in np.unique(rows.core).tolist():
            mine = np.flatnonzero((rows.space == LOCAL) & (rows.core == core) & rows.is_write)
            self._of_core[core] = rows.ordinal[mine], np.stack([rows.start[mine], rows.stop[mine]], axis=1)
        self._done = dict.fromkeys(self._of_core, 0)
        self._lane_bytes = program.target.geometry.lane_bytes

    def until(self, core: int, ordinal: int) -> tuple[tuple[int, int], ...]:
        """Stretches of bytes of a lane, in any lane, by commands before ``ordinal``."""
        if core not in self._of_core:
            return ()
        ordinals, runs = self._of_core[core]
        first, last = self._done[core], int(np.searchsorted(ordinals, ordinal))
        self._done[core] = last
        pieces = np.minimum(runs[first:last], self._lane_bytes)
        return tuple((start, stop) for start, stop in merged(pieces).tolist() if start < stop)


def _results(record: OpRecord, seen: set[tuple[int, str]]) -> Iterator[View]:
    yield from record.buffers
    for value in record.results:
        view = value.view
        if view is None or value.rearranged:
            continue
        if view.space is Space.LOCAL:
            yield view
        elif (key := (record.line, value.name)) not in seen:
            # Slices and cores write the same tensor one after another.
            seen.add(key)
            yield view
