"""The first wrong element of an op's tensors: its number, the expected one, and the command that wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.provenance import Provenance, provenance_of
from tdb_dap.engine.source.op_records import name_of

if TYPE_CHECKING:
    from tdb_dap.engine.expressions.scope import Scope
    from tdb_dap.engine.expressions.values import Value
    from tdb_dap.engine.machine.machine import Machine
    from tdb_dap.engine.reference.reference import Reference
    from tdb_dap.engine.source.source_map import OpRecord


class WrongElement(Struct, frozen=True):
    """``index``: in the tensor as it is in memory; ``actual``, ``expected``: as the reference has numbers.

    ``writer``: None if no command has written there. ``makers``: lines of final.mlir whose ops compute the tensor;
    empty if that is not known.
    """

    title: str
    index: tuple[int, ...]
    actual: float
    expected: float
    writer: Provenance | None
    makers: frozenset[int]


def wrong_elements(names: Scope) -> Iterator[WrongElement]:
    """One for each result, then each operand, of the op in focus that differs from the reference."""
    if names.reference is None:
        return
    for value in (*names.results(), *names.operands()):
        first = _first(names.machine, names.reference, value)
        if first is not None:
            yield first


def texts(names: Scope) -> Iterator[str]:
    """A line about each."""
    for wrong in wrong_elements(names):
        place = f"{wrong.title}[{','.join(map(str, wrong.index))}]"
        yield f"{place} is {wrong.actual:.6g}, expected {wrong.expected:.6g}; {_writer(names.machine, wrong)}"


def _first(machine: Machine, reference: Reference, value: Value) -> WrongElement | None:
    view, named = value.view, value.named
    if named is None or not isinstance(view, View) or value.absence:
        return None
    compared = reference.compare(machine, named)
    if compared is None or not compared.complaints or compared.metrics.first_bad is None:
        return None
    bad = compared.metrics.first_bad
    # The reference may have another shape of as many elements.
    flat = int(np.ravel_multi_index(bad, compared.expected.shape))
    index = tuple(int(i) for i in np.unravel_index(flat, view.shape))
    records = machine.program.source.records
    makers = frozenset(r.line for r in records if any(result.name == named.name for result in r.results))
    return WrongElement(
        value.title.partition(" ")[0],
        index,
        float(compared.actual[bad]),
        float(compared.expected[bad]),
        provenance_of(machine, ByteRanges.of(view, (index,))),
        makers,
    )


def _writer(machine: Machine, wrong: WrongElement) -> str:
    writer = wrong.writer
    if writer is None:
        return "no command has written it"
    if writer.edit is not None:
        return f"edited at command {writer.ordinal}: {writer.edit.text}"
    command = machine.program.commands[writer.ordinal]
    text = f"written by command {writer.ordinal}, {command.token} {command.name}"
    records = machine.program.source.records_of(writer.ordinal)
    if not records:
        return text
    text += f", for {_op(records[0])}"
    if wrong.makers and not any(record.line in wrong.makers for record in records):
        lines = ", ".join(map(str, sorted(wrong.makers)))
        text = f"over{text}: it is the result of line {lines}"
    return text


def _op(record: OpRecord) -> str:
    return " ".join(filter(None, (record.opcode, name_of(record), f"(line {record.line})")))
