"""When memory begins to belong to an op: its contents are then stale, and must not be used.

An op's results and buffers begin with its first command. The scratchpad of a core holds nothing that lasts from one
layer group, or op outside of groups, to the next. Groups may overlap: the next one loads its weights before the last
results of the one before it are stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.runs import distinct, merged
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.access_table import LOCAL, Column
from tdb_dap.engine.program.program import Program
from tdb_dap.engine.source.op_records import is_doubtful
from tdb_dap.engine.source.source_map import OpRecord

Period = tuple[int, bool, "int | None"]
"""Subnet, whether it is a layer group, and the line of the group, or of the op outside of groups."""


class LifetimeStart(Struct, frozen=True):
    """Lifetimes that begin with a command. ``left``: stale ranges of every lane of its core."""

    record: OpRecord
    left: tuple[tuple[int, int], ...]
    results: tuple[View, ...]


class Lifetimes:
    """The births of a program by ordinal."""

    def __init__(self, program: Program) -> None:
        self._starts: dict[int, list[LifetimeStart]] = {}
        mlir = program.source.mlir
        seen: set[tuple[int, str]] = set()
        records = [record for record in program.source.records if record.ordinals]
        periods: dict[int, Period] = {}
        ends: dict[tuple[int, Period], int] = {}
        for record in records:
            op = program.source.op_of(record)
            line = record.line if not record.is_local else op.group_line if op is not None else None
            now = periods[record.index] = record.subnet, record.is_local, line
            ends[record.core, now] = max(ends.get((record.core, now), 0), record.last)
        written = _Written(program, records, periods)
        begun: set[tuple[int, Period]] = set()
        for record in sorted(records, key=lambda record: record.first):
            now = periods[record.index]
            # Without final.mlir it is not known where one group ends and the next begins.
            clears = (record.core, now) not in begun and (mlir is not None or not record.is_local)
            begun.add((record.core, now))
            still = {period for core, period in begun if core == record.core and ends[core, period] >= record.first}
            left = written.until(record.core, record.first, still) if clears else ()
            self._starts.setdefault(record.first, []).append(LifetimeStart(record, left, tuple(_results(record, seen))))

    def at(self, ordinal: int) -> list[LifetimeStart]:
        """Lifetimes that begin with a command."""
        return self._starts.get(ordinal, [])


class _Written:
    """Bytes of the scratchpads that were written and not yet said to be left over."""

    def __init__(self, program: Program, records: Sequence[OpRecord], periods: Mapping[int, Period]) -> None:
        rows = program.access_rows
        self._of_core: dict[int, tuple[Column, Column]] = {}
        for core in distinct(rows.core):
            mine = np.flatnonzero((rows.space == LOCAL) & (rows.core == core) & rows.is_write)
            self._of_core[core] = rows.ordinal[mine], np.stack([rows.start[mine], rows.stop[mine]], axis=1)
        self._waiting = {core: np.arange(0) for core in self._of_core}
        self._done = dict.fromkeys(self._of_core, 0)
        self._period = {ordinal: periods[record.index] for record in records for ordinal in record.ordinals}
        self._lane_bytes = program.target.geometry.lane_bytes

    def until(self, core: int, ordinal: int, still: set[Period]) -> tuple[tuple[int, int], ...]:
        """Stretches of bytes of a lane, in any lane, by commands before ``ordinal``.

        What the periods that go on ``still`` have written is not left over yet.
        """
        if core not in self._of_core:
            return ()
        ordinals, runs = self._of_core[core]
        first, last = self._done[core], int(np.searchsorted(ordinals, ordinal))
        self._done[core] = last
        rows = np.concatenate([self._waiting[core], np.arange(first, last)])
        in_use = np.array([self._period.get(int(ordinals[row])) in still for row in rows], np.bool_)
        self._waiting[core] = rows[in_use]
        over, kept = (
            merged(np.minimum(runs[chosen], self._lane_bytes)).tolist() for chosen in (rows[~in_use], rows[in_use])
        )
        return tuple(_without(over, kept))


def _without(stretches: list[list[int]], kept: list[list[int]]) -> Iterator[tuple[int, int]]:
    """The stretches less those that are kept; both ascend."""
    for start, stop in stretches:
        for begin, end in kept:
            if end > start and begin < stop:
                if start < begin:
                    yield start, begin
                start = max(start, end)
        if start < stop:
            yield start, stop


def _results(record: OpRecord, seen: set[tuple[int, str]]) -> Iterator[View]:
    yield from record.buffers
    for value in record.results:
        view = value.view
        if view is None or value.rearranged or is_doubtful(record, value):
            continue
        if view.space is Space.LOCAL:
            yield view
        elif (key := (record.line, value.name)) not in seen:
            # Slices and cores write the same tensor one after another.
            seen.add(key)
            yield view
