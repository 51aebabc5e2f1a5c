"""Producers of an op's operands, by the memory that both use (a reshape moves no data and has no commands)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.byte_ranges import share_a_byte
from tdb_dap.engine.source.mapped_tensor import MappedTensor

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.source_map import OpRecord


class Producers:
    """Answers who wrote the operands of an op instance."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @cached_property
    def _by_end(self) -> list[OpRecord]:
        records = [record for record in self._program.source.records if record.ordinals]
        return sorted(records, key=lambda record: -record.last)

    def lines(self, line: int, names: set[str]) -> tuple[int, ...]:
        """Lines of the ops that wrote the operands called ``names`` of the op on ``line``, latest first."""
        numbers: dict[int, None] = {}
        for record in self._program.source.records_at(line):
            for value in record.operands:
                if value.name in names:
                    numbers.update(dict.fromkeys(self._writers(record, value)))
        numbers.pop(line, None)
        return tuple(numbers)

    def is_certain(self, line: int) -> bool:
        """Whether the commands of the op on ``line`` are known to be its own."""
        return all(record.is_certain for record in self._program.source.records_at(line))

    def _writers(self, reader: OpRecord, operand: MappedTensor) -> Iterator[int]:
        """The latest op before ``reader`` with a result in the operand's place, with all its instances."""
        view = operand.view
        if view is None:
            return
        for record in self._by_end:
            if record.first >= reader.first or record.line == reader.line:
                continue
            if any(value.view is not None and share_a_byte(value.view, view) for value in record.results):
                yield record.line
                return
