"""``bounds``: an access leaves its memory, its lane, its bank, or the buffers that its op was given.

The whole program is looked at before it runs. The buffers of an op are its operands, results and scratch space in
``tensor_location.json``; they bind what it touches in DDR, and inside layer groups in local memory as well (outside of
groups an op has all of local memory for itself).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Region, adjoining
from tdb_dap.engine.hardware.rectangles import rectangles
from tdb_dap.engine.hardware.runs import RunList, distinct, merged_few
from tdb_dap.engine.hardware.strides import align
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.engine.program.access_table import LOCAL, SPACES, AccessRows, Column
from tdb_dap.engine.sanitizers.finding_text import title_of
from tdb_dap.errors import BadAccess

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.source_map import OpRecord

NAME = "bounds"

_WORD = 4
"""Packed batches share words of this number of bytes: a buffer ends with its last word."""

_PAGE = 4096
"""Compilers give out DDR in pages of this number of bytes: one that a tensor begins is its own to the end."""

_ROWS_OF_LANE_ROWS = 8
"""Parts of a lane that the layout T5 gives to one batch each."""

Rows = NDArray[np.int64]


def bounds(program: Program) -> Iterator[Finding]:
    """One finding for each access, in the order of execution."""
    rows = program.access_rows
    problems = {**_outside_of_memory(program, rows), **_outside_of_banks(program, rows)}
    # How long a stream is, only its bytes tell.
    passed_over = rows.views.which(lambda view: view.layout is Layout.STREAM)
    # The scratch space of commands that firmware makes is in no record.
    passes = ~passed_over[rows.view] & ~np.isin(rows.ordinal, [*rows.idle, *program.of_firmware])
    passes[list(problems)] = False
    for row, text in _outside_of_buffers(program, rows, np.flatnonzero(passes)):
        problems[row] = text
    reported: set[tuple[int, str]] = set()
    for row in sorted(problems):
        command = program.commands[int(rows.ordinal[row])]
        if (command.ordinal, problems[row]) in reported:
            continue
        reported.add((command.ordinal, problems[row]))
        verb = "writes" if rows.is_write[row] else "reads"
        text = f"{title_of(command)} {verb} {_bytes(program, rows, row)}: {problems[row]}"
        # What is read beyond a buffer and not used does no harm.
        harmless = problems[row].endswith((_OWN_PAGE, _FREE)) or (
            not rows.is_write[row] and problems[row].startswith((_BEYOND, _ADJOINING))
        )
        yield Finding(
            NAME,
            "An access leaves its bounds",
            text,
            command.ordinal,
            (command.asm,),
            severity="warning" if harmless else "error",
        )


def _bytes(program: Program, rows: AccessRows, row: int) -> str:
    start, stop = int(rows.start[row]), int(rows.stop[row])
    if int(rows.space[row]) != LOCAL:
        name = program.target.geometry.name(SPACES[int(rows.space[row])], start)
        return f"{stop - start:,} bytes from {name} on"
    lane, lane_stop = int(rows.lane[row]), int(rows.lane_stop[row])
    name = program.target.geometry.name(Space.LOCAL, start)
    return f"{stop - start:,} bytes from {name} on in lanes {lane} to {lane_stop - 1}"


def _outside_of_memory(program: Program, rows: AccessRows) -> dict[int, str]:
    """Row -> what it leaves."""
    geometry = program.target.geometry
    problems: dict[int, str] = {}
    sizes = {Space.L2: geometry.l2_bytes, Space.STATIC: geometry.static_bytes, Space.LOCAL: geometry.lane_bytes}
    for space, size in sizes.items():
        what = "lane" if space is Space.LOCAL else space.title
        beyond = np.flatnonzero((rows.space == SPACES.index(space)) & (rows.stop > size))
        for row, stop in zip(beyond.tolist(), _largest(rows, beyond, rows.stop), strict=True):
            problems[row] = f"{stop - size:,} bytes beyond the end of its {what} ({size:,} bytes)"
    beyond = np.flatnonzero((rows.space == LOCAL) & (rows.lane_stop > geometry.lanes))
    for row, stop in zip(beyond.tolist(), _largest(rows, beyond, rows.lane_stop), strict=True):
        problems[row] = f"lane {stop - 1} does not exist: there are {geometry.lanes}"
    for row in np.flatnonzero(rows.space == SPACES.index(Space.UNKNOWN)).tolist():
        problems[row] = "no memory has this address"
    regions = sorted(program.ddr_regions(), key=lambda region: region.start)
    starts = np.array([region.start for region in regions], np.int64)
    stops = np.maximum.accumulate(np.array([region.stop for region in regions], np.int64))
    in_ddr = np.flatnonzero(rows.space == SPACES.index(Space.GLOBAL))
    region = np.searchsorted(starts, rows.start[in_ddr], side="right") - 1
    outside = (region < 0) | (rows.least_stop[in_ddr] > stops[region]) if regions else np.ones(in_ddr.size, np.bool_)
    for row in in_ddr[outside].tolist():
        problems[row] = _into_the_next(regions, int(rows.start[row]), int(rows.stop[row])) or _NOWHERE
    return problems


def _largest(rows: AccessRows, chosen: Rows, column: Column) -> list[int]:
    """For each row the largest number of the rows of its tensor: its pieces have one finding."""
    views = rows.view[chosen]
    largest = np.zeros(int(views.max(initial=-1)) + 1, np.int64)
    np.maximum.at(largest, views, column[chosen])
    stops: list[int] = largest[views].tolist()
    return stops


_NOWHERE = "the model has no such bytes in DDR"
_ADJOINING = "past the end of the "


def _into_the_next(regions: list[Region], start: int, stop: int) -> str | None:
    """Text for an access of DDR that goes on from one region into those that adjoin it; None if it goes further."""
    for group in adjoining(regions):
        first, size = group[0], sum(region.data.size for region in group)
        if first.start <= start < first.stop < stop <= first.start + size:
            return f"{_ADJOINING}{first.title}, {stop - first.stop:,} bytes into the {group[1].title}"
    return None


def _outside_of_banks(program: Program, rows: AccessRows) -> dict[int, str]:
    """Layouts that keep each copy, or each batch, in its own part of the lane."""
    geometry = program.target.geometry
    units = {
        Layout.DMA_4BANK: (geometry.bank_bytes, "bank"),
        Layout.LANE_ROWS: (geometry.lane_bytes // _ROWS_OF_LANE_ROWS, "eighth of the lane"),
    }
    chosen = rows.views.which(lambda view: view.layout in units)
    problems: dict[int, str] = {}
    for row in np.flatnonzero(chosen[rows.view]).tolist():
        view = rows.views[int(rows.view[row])]
        size, what = units[view.layout]
        start, stop = int(rows.start[row]), int(rows.stop[row])
        if view.layout is Layout.LANE_ROWS and view.strides is not None:
            stop -= (view.shape[0] - 1) * view.strides[0] * view.dtype.itemsize
        if start // size != (stop - 1) // size:
            problems[row] = f"it leaves its {what} ({size:,} bytes)"
    return problems


_BEYOND = "beyond the buffers of "
_OWN_PAGE = ", in the page of one of them"
"""Padding that no other tensor shares: compilers clear or fill it in blocks."""


_FREE = ", which holds no tensor that is still read"
"""Scratch space that the compiler's record omits: its contents do not matter."""


def _outside_of_buffers(program: Program, rows: AccessRows, chosen: Rows) -> Iterator[tuple[int, str]]:
    """Of the ``chosen`` rows those that leave what their op was given."""
    source, kept, buffers = program.source, _Kept(program), _Buffers()
    mine, owner = _with_owners(program, rows, chosen)
    given = {index: buffers.of(source.records[index]) for index in distinct(owner)}
    for space in (Space.LOCAL, Space.GLOBAL):
        here = np.flatnonzero(rows.space[mine] == SPACES.index(space))
        bound = {index: runs[space] for index, runs in given.items() if space in runs}
        for pair in here[~_inside(rows, mine[here], owner[here], bound)].tolist():
            row, record = int(mine[pair]), source.records[owner[pair]]
            views = [value.view for value in (*record.operands, *record.results) if value.view is not None]
            is_padding = space is Space.GLOBAL and _takes_padding(rows, row, views)
            if is_padding and not rows.is_write[row]:
                continue
            text = f"{_BEYOND}{record.opcode} at {source.place_text(record.line)}"
            is_free = space is Space.LOCAL and not kept.is_hit(rows, row, record)
            yield row, text + (_OWN_PAGE if is_padding else _FREE if is_free and rows.is_write[row] else "")


def _with_owners(program: Program, rows: AccessRows, chosen: Rows) -> tuple[Rows, Rows]:
    """The ``chosen`` rows of commands that belong to an op, and the index of its record."""
    owners, _ = program.source.ownership
    owner = owners[rows.ordinal[chosen]]
    return chosen[owner >= 0], owner[owner >= 0].astype(np.int64)


class _Kept:
    """Tensors in local memory, each from the op that computes it to the last one that reads it."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @cached_property
    def _spans(self) -> Rows:
        """By row: core, line, first and last ordinal, bytes and lanes: start, stop, first lane, lane after the last.

        By column: the tensors.
        """
        records = [record for record in self._program.source.records if record.ordinals]
        read: dict[tuple[int, str], int] = {}
        for record in records:
            for value in record.operands:
                key = (record.core, value.name)
                read[key] = max(read.get(key, -1), record.last)
        spans = [
            (record.core, record.line, record.first, read[record.core, value.name], *piece)
            for record in records
            for value in record.results
            if (record.core, value.name) in read and value.view is not None and value.view.space is Space.LOCAL
            for piece in _pieces(value.view)
        ]
        return np.array(spans, np.int64).reshape(-1, 8).T

    def is_hit(self, rows: AccessRows, row: int, own: OpRecord) -> bool:
        """Whether an access of an op shares a byte with a tensor of another one that is still to be read."""
        core, line, first, last, start, stop, lane, lane_stop = self._spans
        ordinal = int(rows.ordinal[row])
        hits = (core == own.core) & (line != own.line) & (first <= ordinal) & (ordinal < last)
        hits &= (start < rows.stop[row]) & (rows.start[row] < stop)
        hits &= (lane < rows.lane_stop[row]) & (rows.lane[row] < lane_stop)
        return bool(hits.any())


def _pieces(view: View) -> list[tuple[int, int, int, int]]:
    try:
        return [(start, stop, lane, lane_stop) for start, stop, lane, lane_stop in rectangles(view)]
    except BadAccess:
        return []


class _Buffers:
    """Buffers of ops in each memory. Most tensors are those of several ops."""

    def __init__(self) -> None:
        self._extents: dict[int, list[tuple[int, int]]] = {}

    def of(self, record: OpRecord) -> dict[Space, RunList]:
        """Of an op, by memory; none where it is not known for certain, or in that memory it may use all.

        A buffer in local memory is its bytes in every lane, up to what the execution units take at once: so they are
        given out.
        """
        if not record.is_certain:
            return {}
        extents: dict[Space, list[tuple[int, int]]] = {Space.GLOBAL: []}
        if record.is_local:
            extents[Space.LOCAL] = []
        values = [value.view for value in (*record.operands, *record.results)]
        for view in (*record.buffers, *values):
            if view is None:
                return {}
            if view.space in extents:
                try:
                    extents[view.space] += self._extents_of(view)
                except BadAccess:
                    return {}
        return {space: merged_few(runs) for space, runs in extents.items()}

    def _extents_of(self, view: View) -> list[tuple[int, int]]:
        extents = self._extents.get(id(view))  # records keep their views
        if extents is None:
            unit = view.geometry.eu_bytes if view.space is Space.LOCAL else _WORD
            extents = self._extents[id(view)] = [(start, align(stop, unit)) for start, stop, _, _ in rectangles(view)]
        return extents


def _takes_padding(rows: AccessRows, row: int, tensors: list[View]) -> bool:
    """Whether an access begins at the first byte of a tensor and ends no further than with its last page.

    Lines of equal length are read, of which the tensor does not fill the last. If such padding were used, the
    sanitizer of undefined bytes would say so.
    """
    start, stop = int(rows.start[row]), int(rows.stop[row])
    if start % _PAGE:
        return False
    extents = [rectangles(view) for view in tensors if view.space is Space.GLOBAL and view.address == start]
    return any(stop <= align(max(piece[1] for piece in pieces), _PAGE) for pieces in extents if pieces)


def _inside(rows: AccessRows, chosen: Rows, owner: Rows, bound: Mapping[int, RunList]) -> NDArray[np.bool_]:
    """Whether each row is in one of the ranges that its owner has in ``bound``, or that has none there."""
    begins, counts = (np.zeros(1 + max([int(owner.max(initial=0)), *bound]), np.int64) for _ in range(2))
    runs: RunList = []
    for index, own in bound.items():
        begins[index], counts[index] = len(runs), len(own)
        runs += own
    is_inside = ~np.isin(owner, list(bound))
    table = np.array(runs, np.int64).reshape(-1, 2)
    for step in range(int(counts.max(initial=0))):
        has = np.flatnonzero(~is_inside & (step < counts[owner]))
        run = table[begins[owner[has]] + step]
        is_inside[has] = (run[:, 0] <= rows.start[chosen[has]]) & (rows.stop[chosen[has]] <= run[:, 1])
    return is_inside


def leaves_buffers(finding: Finding) -> bool:
    """Whether a finding is about the buffers of an op, as the compiler has recorded them."""
    return finding.filter == NAME and f": {_BEYOND}" in finding.text
