"""Cutting a program into segments that can be executed on their own, each started from reference data.

A cut is where nothing is under way: no op has begun and not ended, nothing in local memory is still to be read, and
whatever is in memory that all cores share is a weight, an input, or in the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.hardware.byte_ranges import share_a_byte
from tdb_dap.engine.reference.reference import stored_form
from tdb_dap.engine.source.mapped_tensor import MappedTensor

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.machine.machine import Machine
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.reference.reference import Reference
    from tdb_dap.engine.source.source_map import OpRecord


def segments(program: Program, reference: Reference | None, count: int) -> list[tuple[int, int]]:
    """At most ``count`` half-open ranges of ordinals that cover the program, about equally long.

    Without ``reference`` they run one after another on the same memories: then it is enough that no op is cut in two.
    """
    total = len(program.commands)
    cuts = _cuts(program, reference) if count > 1 else np.zeros(0, np.intp)
    wanted = (total * i // count for i in range(1, count))
    chosen = sorted({int(cuts[np.abs(cuts - place).argmin()]) for place in wanted} if cuts.size else set())
    bounds = [0, *(cut for cut in chosen if 0 < cut < total), total]
    return list(pairwise(bounds))


def start_at(debugger: Debugger, ordinal: int) -> None:
    """Bring a debugger at the start of its program to a cut, with the reference's numbers for all that is before it."""
    program, machine, reference = debugger.program, debugger.machine, debugger.reference
    assert reference is not None
    for record in sorted((r for r in program.source.records if r.ordinals), key=lambda r: r.last):
        if record.last < ordinal:
            for value in record.results:
                if value.view is not None and value.view.space.is_shared:
                    put(machine, reference, value)
    machine.backend.edited()
    # Nobody goes back beyond a cut: the history of such a machine begins here.
    machine.ordinal = ordinal


def put(machine: Machine, reference: Reference, value: MappedTensor) -> bool:
    """Write the reference's numbers where a value is; whether there were such. The backend is not told."""
    expected = reference.expected(value)
    words = stored_form(value, expected) if expected is not None else None
    if words is None or value.view is None:
        return False
    machine.memory.write(value.view, words)
    return True


def _cuts(program: Program, reference: Reference | None) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    """Ordinals before which the program can be cut."""
    total = len(program.commands)
    if any(subnet.run_mode != "TPU_STATIC" for subnet in program.subnets if subnet.stop > subnet.start):
        return np.zeros(0, np.intp)  # what such a subnet writes is not described by records
    busy = np.zeros(total + 2, np.int64)
    for start, stop in _spans(program, reference):
        busy[start + 1] += 1
        busy[stop + 1] -= 1
    return np.flatnonzero(np.cumsum(busy)[:total] == 0)


def _spans(program: Program, reference: Reference | None) -> Iterator[tuple[int, int]]:
    """First and last ordinal of what must not be cut in two."""
    records = sorted((r for r in program.source.records if r.ordinals), key=lambda r: r.first)
    writers: list[tuple[OpRecord, MappedTensor]] = []
    spans: dict[int, tuple[int, int]] = {}
    for record in records:
        # The slices and cores of an op make one tensor, which is judged when it is whole.
        start, stop = spans.get(record.line, (record.first, record.last))
        spans[record.line] = (min(start, record.first), max(stop, record.last))
        for operand in record.operands if reference is not None else ():
            writer = _writer(writers, operand)
            if writer is not None and not _is_known(writer[1], reference):
                yield writer[0].first, record.last
        writers += [(record, value) for value in record.results]
    yield from spans.values()


def _writer(
    writers: list[tuple[OpRecord, MappedTensor]], operand: MappedTensor
) -> tuple[OpRecord, MappedTensor] | None:
    view = operand.view
    if view is None:
        return None
    local = not view.space.is_shared
    for record, value in reversed(writers):
        if local and value.name != operand.name:
            continue
        if value.view is not None and share_a_byte(value.view, view):
            return record, value
    return None


def _is_known(value: MappedTensor, reference: Reference | None) -> bool:
    if reference is None or value.view is None or not value.view.space.is_shared:
        return False
    return reference.expected(value) is not None
