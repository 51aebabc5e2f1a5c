"""Ops that every core executes as a whole.

The compiler does so with an op of several cores that it does not cut, such as a softmax of ten numbers (SG2380): all
cores leave the same numbers in the same place, and it does not matter whose come last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.views import View

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.op_records import OpRecord


def is_repeated(program: Program, one: int, other: int) -> bool:
    """Whether two cores write the same tensor of the same op, each of them having executed all of it."""
    first, second = (program.source.records_of(ordinal) for ordinal in (one, other))
    if not first or not second or first[0].core == second[0].core or _work(first[0]) != _work(second[0]):
        return False
    return _places(program.commands[one]) == _places(program.commands[other])


def _work(record: OpRecord) -> tuple[object, ...]:
    """Key of an op instance that is the same on every core that executes the same."""
    values = (*record.operands, *record.results)
    return record.subnet, record.line, record.slice_text, tuple((value.name, value.address) for value in values)


def _places(command: Command) -> list[tuple[object, ...]]:
    views = (view for view in command.results if isinstance(view, View))
    return [(view.space, view.address, view.shape, view.strides, view.dtype) for view in views]
