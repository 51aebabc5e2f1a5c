"""Accesses that look like faults and are none.

Ops that every core executes as a whole: the compiler does so with an op of several cores that it does not cut, such as
a softmax of ten numbers (SG2380). All cores leave the same numbers in the same place, and it does not matter whose come
last.

Loads that bring once more what is there, while others read it.

Results that nobody reads and nobody misses, although their commands compute something. Six kinds are known from what
commands and ops are, not from their names:

* the state of a loop, saved in the last round: ``new = f(state, x)``, ``state = new``, where ``new`` is used itself;
* what an op of several cores prepares on a core that gets no part of the work: there it loads and stores nothing;
* what firmware loads, into every core, for those that compute;
* what is computed from none of the op's operands: batches that packed words have room for, and the tensor has not;
* what the last round of a loop loads for a next one: the first part of an operand once more;
* a part of a tensor in DDR that no window of the op reaches which takes the tensor: it reads others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory, blank
from tdb_dap.engine.hardware.rectangles import rectangles
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.access_table import LOCAL, SPACES, AccessRows
from tdb_dap.engine.sanitizers.overlap import meet
from tdb_dap.engine.sanitizers.taint import dependent
from tdb_dap.engine.sanitizers.taint_sources import marked_words
from tdb_dap.errors import BadAccess, NotSimulated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.op_records import OpRecord

Rectangle: TypeAlias = tuple[int, ...]
"""Space, first and last byte of a lane, first and last lane."""

_WORD = 4
"""Bytes of the words that packed batches share."""
_NEAR = 64
"""Commands before and after one among which its op's are looked for, where none is known."""


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


def brings_nothing_new(program: Program, ordinal: int) -> bool:
    """Whether a load that its op needs leaves the bytes as an earlier one has left them.

    Products of matrices in parts load the left factor anew for each part (CV18xx). No command between the two writes to
    either place.
    """
    load = program.commands[ordinal]
    places = [view for view in (*load.description.reads, *load.description.results) if isinstance(view, View)]
    for near in _of_its_op(program, ordinal):
        for number in reversed([number for number in near if number < ordinal]):
            before = program.commands[number]
            if before.kind == load.kind and _same_move(before, load):
                is_read = any(_meets(program.access_rows, ordinal, later) for later in near if later > ordinal)
                return is_read and not any(_is_written(program, view, number + 1, ordinal) for view in places)
    return False


def _of_its_op(program: Program, ordinal: int) -> list[Sequence[int]]:
    """Ordinals of the ops of a command; those around it where no op is known."""
    records = program.source.records_of(ordinal)
    if records or program.source.records:
        return [record.ordinals for record in records]
    return [range(max(0, ordinal - _NEAR), min(len(program.commands), ordinal + _NEAR))]


def _is_written(program: Program, view: View, start: int, stop: int) -> bool:
    """Whether commands from one ordinal up to another write to a tensor."""
    writers = program.accesses.touching(ByteRanges.of(view), reads=False, writes=True, start=start, stop=stop)
    return next(iter(writers), None) is not None


def _is_overwritten(program: Program, ordinal: int, stop: int) -> bool:
    """Whether commands after one, and before another, write to its results."""
    results = [view for view in program.commands[ordinal].results if isinstance(view, View)]
    return any(_is_written(program, view, ordinal + 1, stop) for view in results)


def _same_move(one: Command, other: Command) -> bool:
    parts = ((command.description.reads, command.description.results) for command in (one, other))
    return next(parts) == next(parts)


def is_unneeded(program: Program, ordinal: int, is_read_later: Callable[[int], bool]) -> bool:
    """Whether nobody misses the results of a command. ``is_read_later``: of the bytes of a row of the access table."""
    if _is_for_every_core(program, ordinal):
        return True
    near = _of_its_op(program, ordinal)
    return any(_is_state(program.access_rows, ordinals, ordinal, is_read_later) for ordinals in near) or any(
        _has_no_part(program, record)
        or _is_of_nothing(program, record, ordinal)
        or _begins_again(program, record, ordinal)
        or _is_out_of_reach(program, record, ordinal)
        for record in program.source.records_of(ordinal)
    )


def _is_for_every_core(program: Program, ordinal: int) -> bool:
    """Whether firmware loads something, which it does into all cores, whichever of them compute."""
    rows = program.access_rows
    spaces = {(bool(rows.is_write[row]), int(rows.space[row])) for row in rows.of_command(ordinal)}
    is_load = {space for is_write, space in spaces if is_write} == {LOCAL} and (False, LOCAL) not in spaces
    return program.core_count > 1 and ordinal in program.of_firmware and is_load


def _is_state(rows: AccessRows, ordinals: Sequence[int], ordinal: int, is_read_later: Callable[[int], bool]) -> bool:
    """Whether a command moves a value, which others use as well, to where the value was computed from."""
    source, target = (_tensors(rows, ordinal, is_write) for is_write in (False, True))
    if len(source) != 1 or len(target) != 1:
        return False
    moved = next(iter(source))
    if any(rectangle[0] != LOCAL for rectangle in moved):
        return False
    for other in reversed([number for number in ordinals if number < ordinal]):
        if moved in _tensors(rows, other, True):
            row = next(row for row in rows.of_command(ordinal) if not rows.is_write[row])
            return target <= _tensors(rows, other, False) and is_read_later(row)
    return False


def _tensors(rows: AccessRows, ordinal: int, is_write: bool) -> set[frozenset[Rectangle]]:
    """The rectangles of each tensor that a command writes, or reads."""
    by_ordinal: dict[int, set[Rectangle]] = {}
    columns = (rows.space, rows.start, rows.stop, rows.lane, rows.lane_stop)
    for row in rows.of_command(ordinal):
        if rows.is_write[row] == is_write:
            by_ordinal.setdefault(int(rows.view[row]), set()).add(tuple(int(column[row]) for column in columns))
    return {frozenset(rectangles) for rectangles in by_ordinal.values()}


def _has_no_part(program: Program, record: OpRecord) -> bool:
    """Whether an op works on what is in memory outside of the cores, and on this core takes and stores none of it."""
    if record.is_local or _reaches_out(program.access_rows, record):
        return False
    alike = program.source.records_at(record.line)
    return any(
        other.core != record.core and other.subnet == record.subnet and _reaches_out(program.access_rows, other)
        for other in alike
    )


def _reaches_out(rows: AccessRows, record: OpRecord) -> bool:
    return any(_is_outside(rows, row) for ordinal in record.ordinals for row in rows.of_command(ordinal))


def _is_outside(rows: AccessRows, row: int) -> bool:
    return SPACES[int(rows.space[row])] in (Space.GLOBAL, Space.L2)


def _is_out_of_reach(program: Program, record: OpRecord, ordinal: int) -> bool:
    """Whether a command stores a part of a result in DDR of which the next op that takes it reads another part."""
    rows = program.access_rows
    written = [row for row in rows.of_command(ordinal) if rows.is_write[row]]
    views = [value.view for value in record.results if value.view is not None and value.view.space is Space.GLOBAL]
    for start, stop in ((piece[0], piece[1]) for view in views for piece in rectangles(view)):
        if all(_is_within(rows, row, start, stop) for row in written):
            later = (other for other in program.source.records if other.ordinals and other.first > ordinal)
            takers = (other for other in later if _takes(other, start, stop))
            taker = min(takers, key=lambda other: other.first, default=None)
            if taker is None or _is_overwritten(program, ordinal, taker.first):
                return False
            accesses = (row for number in taker.ordinals for row in rows.of_command(number) if not rows.is_write[row])
            return any(_is_within(rows, row, start, stop) for row in accesses)
    return False


def _is_within(rows: AccessRows, row: int, start: int, stop: int) -> bool:
    """Whether an access is of these bytes of DDR."""
    return SPACES[int(rows.space[row])] is Space.GLOBAL and start <= rows.start[row] and rows.stop[row] <= stop


def _takes(record: OpRecord, start: int, stop: int) -> bool:
    views = (value.view for value in record.operands)
    return any(view is not None and view.space is Space.GLOBAL and start <= view.address < stop for view in views)


def _begins_again(program: Program, record: OpRecord, ordinal: int) -> bool:
    """Whether a load, and any that its op has after it, takes from where an earlier load of the op began to.

    It waits for whoever reads what it overwrites; if not, two rounds disturb each other.
    """
    rows = program.access_rows
    loads = [number for number in record.ordinals if _is_load(rows, number)]
    if ordinal not in loads:
        return False
    last = loads.index(ordinal)
    begun = {tensor for number in loads[:last] for tensor in _begins(rows, number)}
    if not all(begun.issuperset(_begins(rows, number)) for number in loads[last:]):
        return False
    load = program.commands[ordinal]
    readers = (program.commands[number] for number in record.ordinals if number < ordinal)
    return not any(
        reader.engine != load.engine and reader.id > load.dep and _meets(rows, ordinal, reader.ordinal)
        for reader in readers
    )


def _meets(rows: AccessRows, writer: int, reader: int) -> bool:
    """Whether a command writes where another reads."""
    written = [row for row in rows.of_command(writer) if rows.is_write[row]]
    read = [row for row in rows.of_command(reader) if not rows.is_write[row]]
    pairs = np.array([(one, other) for one in written for other in read], np.int64).reshape(-1, 2)
    return bool(meet(rows, pairs).any())


def _is_load(rows: AccessRows, ordinal: int) -> bool:
    """Whether a command moves from outside of the cores to local memory, and nothing else."""
    sides = [[_is_outside(rows, row) for row in rows.of_command(ordinal) if rows.is_write[row] == w] for w in (0, 1)]
    return bool(sides[0] and sides[1]) and all(sides[0]) and not any(sides[1])


def _begins(rows: AccessRows, ordinal: int) -> set[tuple[int, int]]:
    """Space and first byte of what a command reads."""
    return {(int(rows.space[row]), int(rows.start[row])) for row in rows.of_command(ordinal) if not rows.is_write[row]}


def _is_of_nothing(program: Program, record: OpRecord, ordinal: int) -> bool:
    """Whether the results depend on no byte of the operands of an op that has room for more batches than there are."""
    operands = [value.view for value in record.operands]
    if not any(value.layout.endswith("_xn") and _has_room(value.view) for value in record.operands):
        return False
    marks, numbers = _empty(program), _empty(program)
    for view in operands:
        if view is not None:
            marks.write(view, np.full(view.shape, _all_bytes(view, 1), view.dtype.bits_dtype))
    for number in record.ordinals:
        results = _followed(program, program.commands[number], marks, numbers)
        if results is None:
            return False
        if number == ordinal:
            return not any(words.any() for words in results.values())
        for view, words in results.items():
            marks.write(view, words)
    return False


def _empty(program: Program) -> Memory:
    return Memory(program.target.geometry, program.core_count, blank(program.ddr_regions()))


def _has_room(view: View | None) -> bool:
    return view is not None and bool(view.shape[0] % max(1, _WORD // view.dtype.itemsize))


def _all_bytes(view: View, mark: int) -> int:
    return int.from_bytes(bytes([mark]) * view.dtype.itemsize, "little")


def _followed(program: Program, command: Command, marks: Memory, numbers: Memory) -> dict[View, Array] | None:
    """The marks of the results of a command; None where that is not known."""
    try:
        description = command.description
        reads = {view: marks.read(view) for view in description.reads if isinstance(view, View)}
    except (BadAccess, NotSimulated):
        return None
    marked = {view: words for view, words in reads.items() if words.any()}
    results = [view for view in description.results if isinstance(view, View)]
    if not marked:
        return {view: np.zeros(view.shape, view.dtype.bits_dtype) for view in results}
    depends = dependent(program.target, description, numbers, marked).results
    return {view: marked_words(depends[view], view, 1) for view in results}
