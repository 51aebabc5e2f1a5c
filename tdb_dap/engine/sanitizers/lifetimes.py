"""When memory begins to belong to an op: what it holds then is left over from others, and not to be used.

An op's results and buffers begin with its first command. The scratchpad of a core holds nothing that lasts from one
layer group, or op outside of groups, to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tdb_dap.engine.geometry import Space
from tdb_dap.engine.program import Program
from tdb_dap.engine.source_map import OpRecord
from tdb_dap.engine.views import View


@dataclass(frozen=True)
class Birth:
    """What begins with a command. ``clears``: the whole scratchpad of the record's core is free before."""

    record: OpRecord
    clears: bool
    results: tuple[View, ...]


class Lifetimes:
    """The births of a program by ordinal."""

    def __init__(self, program: Program) -> None:
        self._births: dict[int, list[Birth]] = {}
        mlir = program.source.mlir
        period: dict[int, object] = {}
        seen: set[tuple[int, str]] = set()
        records = [record for record in program.source.records if record.ordinals]
        for record in sorted(records, key=lambda record: record.first):
            op = mlir.op_at(record.line) if mlir is not None else None
            line = record.line if not record.is_local else op.group_line if op is not None else None
            now = record.subnet, record.is_local, line
            # Without final.mlir it is not known where one group ends and the next begins.
            clears = period.get(record.core) != now and (mlir is not None or not record.is_local)
            period[record.core] = now
            births = list(_results(record, seen))
            self._births.setdefault(record.first, []).append(Birth(record, clears, tuple(births)))

    def at(self, ordinal: int) -> list[Birth]:
        """What begins with a command."""
        return self._births.get(ordinal, [])


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
