"""Whether memory still holds a tensor: local memory is used again within a group, and so is DDR."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.byte_ranges import ByteRanges, share_a_byte

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.views import View
    from tdb_dap.engine.machine.machine import Machine
    from tdb_dap.engine.source.source_map import MappedTensor, OpRecord


def overwriter_of_result(machine: Machine, record: OpRecord, named: MappedTensor) -> int | None:
    """The first command since an op ended that has written over one of its results; None if none has.

    Records of the same line write the same tensor: other cores their parts of it.
    """
    if named.view is None or not record.ordinals:
        return None
    source = machine.program.source
    place = ByteRanges.of(named.view)
    for ordinal in machine.accesses.touching(place, False, True, record.last + 1, machine.ordinal):
        if not any(other.line == record.line and _has(other, named.name) for other in source.records_of(ordinal)):
            return ordinal
    return None


def overwriter_of_operand(machine: Machine, record: OpRecord, named: MappedTensor) -> int | None:
    """The first command since an op began that has written over one of its operands; None if none has.

    The op itself may load parts of an operand; where a result is in the operand's place, it writes over it.
    """
    if named.view is None or not record.ordinals:
        return None
    place = ByteRanges.of(named.view)
    is_in_place = any(value.view is not None and share_a_byte(value.view, named.view) for value in record.results)
    start = record.first if is_in_place else record.last + 1
    return next(machine.accesses.touching(place, False, True, start, machine.ordinal), None)


def overwriter_of_border(machine: Machine, view: View, made_by: int) -> int | None:
    """The first command after ``made_by`` that has written over an input or output of the net; None if none has."""
    writers = machine.accesses.touching(ByteRanges.of(view), False, True, made_by + 1, machine.ordinal)
    return next(writers, None)


def _has(record: OpRecord, name: str) -> bool:
    return any(value.name == name for value in record.results)
