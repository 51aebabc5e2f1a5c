"""Map from commands to lines of final.mlir and their tensors.

The compiler writes a record per emitted op instance (``tensor_location.json``): the line, the ranges of TIU and DMA
ids it emitted, and where its operands and results are. An op cut into slices has one record per slice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.commands.commands import Columns
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.rendering.printable import elided
from tdb_dap.engine.source.common_paths import without_path
from tdb_dap.engine.source.mapped_tensor import MappedTensor
from tdb_dap.engine.source.marks import Marks
from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
from tdb_dap.engine.source.op_records import OpRecord, Records, check_against, complete, owners_of
from tdb_dap.engine.source.tensor_location import read_records
from tdb_dap.engine.source.value_flow import ValueFlow

__all__ = ["MappedTensor", "OpRecord", "SourceMap"]


class SourceMap:
    """Commands, records and lines of one program."""

    def __init__(
        self, mlir: MlirFile | None, records: Sequence[OpRecord], owners: NDArray[np.int32], lines: NDArray[np.int64]
    ) -> None:
        self.mlir = mlir
        self.records = records
        self._owners = owners
        self._lines = lines

    def op_at(self, line: int) -> MlirOp | None:
        """The op on a line of final.mlir; None if that is missing, or the line holds none."""
        return self.mlir.op_at(line) if self.mlir is not None else None

    def place_text(self, line: int) -> str:
        """``line 12``; where each net has a separate file ``block_0/final.mlir:12``."""
        return self.mlir.place_text(line) if self.mlir is not None else f"line {line}"

    def label_of(self, name: str, line: int, length: int) -> str:
        """Name of an op on a line in at most ``length`` letters: the path that most of its function have goes first."""
        op = self.op_at(line) if len(name) > length else None
        path = self.mlir.common_paths[op.function] if self.mlir is not None and op is not None else ""
        return elided(without_path(name, path), length)

    def op_of(self, record: OpRecord) -> MlirOp | None:
        """The op that a record is an instance of."""
        return self.op_at(record.line)

    @classmethod
    def empty(cls, mlir: MlirFile | None, count: int) -> SourceMap:
        """Without records no command has a line."""
        return cls(mlir, (), np.full(count, -1, np.int32), np.zeros(0, np.int64))

    @classmethod
    def build(
        cls,
        mlir: MlirFile | None,
        path: Path,
        columns: Columns,
        subnet_ids: Sequence[int],
        geometry: Geometry,
    ) -> SourceMap:
        """Read ``tensor_location.json``; BadInput if it is damaged or of another model."""
        raw = read_records(path)
        check_against(mlir, raw, path)
        complete(mlir, raw)
        owners = owners_of(raw, columns, subnet_ids, path)
        records = Records(raw, owners, geometry, Marks(mlir))
        lines = np.array([record.line for record in raw], np.int64)
        return cls(mlir, records, owners, lines)

    @cached_property
    def flow(self) -> ValueFlow | None:
        """Flow of the values of final.mlir; None without the file."""
        return ValueFlow(self.mlir) if self.mlir is not None else None

    @cached_property
    def weights(self) -> Mapping[str, MappedTensor]:
        """Weights by name, as the first op that reads them from DDR sees them."""
        ops = self.mlir.ops.values() if self.mlir is not None else ()
        wanted = {name for op in ops if op.name == "top.Weight" for name in op.locations}
        weights: dict[str, MappedTensor] = {}
        for named in (named for record in self.records for named in record.operands if named.name in wanted):
            if named.view is not None and named.view.space is Space.GLOBAL:
                weights.setdefault(named.name, named)
        return weights

    @property
    def ownership(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Index of the record that owns each command, or -1, and the line of each record."""
        return self._owners, self._lines

    def rearranged(self, ordinals: NDArray[np.int64]) -> SourceMap:
        """The same source for a program whose command i is the command ``ordinals[i]`` of this one."""
        owners = self._owners[ordinals]
        records = self.records.owned(owners) if isinstance(self.records, Records) else self.records
        return SourceMap(self.mlir, records, owners, self._lines)

    def records_of(self, ordinal: int) -> tuple[OpRecord, ...]:
        """The op instance that owns a command; empty for system commands and unmapped ones."""
        if not 0 <= ordinal < self._owners.size or self._owners[ordinal] < 0:
            return ()
        return (self.records[int(self._owners[ordinal])],)

    def line_of(self, ordinal: int) -> int:
        """Line of the op that owns a command; 0 where there is none."""
        return next((record.line for record in self.records_of(ordinal)), 0)

    def records_between(self, start: int, stop: int) -> Iterator[OpRecord]:
        """The op instances that own commands of [start, stop)."""
        return (self.records[index] for index in distinct(self._owners[start:stop]) if index >= 0)

    def lines_of(self, ordinal: int) -> tuple[int, ...]:
        """Lines of final.mlir that own a command."""
        if not 0 <= ordinal < self._owners.size or self._owners[ordinal] < 0:
            return ()
        return (int(self._lines[self._owners[ordinal]]),)

    @cached_property
    def last_owned(self) -> int | None:
        """The last command that is of an op; None if none is."""
        owned = np.flatnonzero(self._owners >= 0)
        return int(owned[-1]) if owned.size else None

    def beginning_at(self, ordinal: int) -> tuple[OpRecord, ...]:
        """Op instances whose first command this is."""
        return self._ends[0].get(ordinal, ())

    def ending_at(self, ordinal: int) -> tuple[OpRecord, ...]:
        """Op instances whose last command this is."""
        return self._ends[1].get(ordinal, ())

    @cached_property
    def borders(self) -> tuple[int, ...]:
        """Ordinals of the commands that an op instance begins or ends with, ascending."""
        first, last = self._ends
        return tuple(sorted({*first, *last}))

    @cached_property
    def _ends(self) -> tuple[dict[int, tuple[OpRecord, ...]], dict[int, tuple[OpRecord, ...]]]:
        first: dict[int, tuple[OpRecord, ...]] = {}
        last: dict[int, tuple[OpRecord, ...]] = {}
        for record in self.records:
            if record.ordinals:
                first[record.first] = (*first.get(record.first, ()), record)
                last[record.last] = (*last.get(record.last, ()), record)
        return first, last

    @cached_property
    def _by_line(self) -> dict[int, tuple[int, ...]]:
        ordinals: dict[int, list[int]] = {}
        for index in distinct(self._owners[self._owners >= 0]):
            ordinals.setdefault(int(self._lines[index]), []).append(index)
        return {line: tuple(indices) for line, indices in ordinals.items()}

    def records_at(self, line: int) -> tuple[OpRecord, ...]:
        """Instances of the op on a line that own commands: several if it is cut into slices or cores."""
        return tuple(self.records[index] for index in self._by_line.get(line, ()))

    @cached_property
    def lines_with_commands(self) -> tuple[int, ...]:
        """Lines that own commands, ascending."""
        return tuple(sorted(self._by_line))

    def next_line_with_commands(self, line: int) -> int | None:
        """The first line from ``line`` on that owns commands."""
        position = bisect_left(self.lines_with_commands, line)
        return self.lines_with_commands[position] if position < len(self.lines_with_commands) else None
