"""The accesses of a whole program as columns of numbers: one row for each piece of a tensor that a command touches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View, as_bytes, template
from tdb_dap.engine.program.accesses import views_of
from tdb_dap.errors import BadAccess

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command

SPACES = tuple(Space)
SHARED = frozenset((SPACES.index(Space.GLOBAL), SPACES.index(Space.L2)))
"""Codes of the memories that all cores share."""

LOCAL = SPACES.index(Space.LOCAL)

Column = NDArray[np.int64]
Rectangle = tuple[int, int, int, int]
"""First byte, the one after the last, first lane, the one after the last."""


@dataclass(frozen=True)
class AccessRows:
    """One row per piece. ``ordinal`` ascends; ``space`` indexes SPACES; ``core``: 0 in the memories that cores share.

    [``start``, ``stop``) encloses the bytes: in local memory counted in each of the lanes [``lane``, ``lane_stop``),
    elsewhere in the space, with lanes [0, 1). ``view`` indexes ``views``.
    """

    ordinal: Column
    space: Column
    core: Column
    start: Column
    stop: Column
    lane: Column
    lane_stop: Column
    is_write: NDArray[np.bool_]
    view: Column
    views: tuple[View, ...]

    def __len__(self) -> int:
        return self.ordinal.size

    @classmethod
    def of(cls, commands: Sequence[Command]) -> AccessRows:
        """All pieces of all operands and results; operands of forms without a description are left out."""
        rows: list[tuple[int, int, int, int, int, int, int, bool, int]] = []
        views: list[View] = []
        for command in commands:
            for is_write in (False, True):
                for view in views_of(command, is_write):
                    core = 0 if view.space.is_shared else view.core
                    space = SPACES.index(view.space)
                    for start, stop, lane, lane_stop in rectangles(view):
                        rows.append((command.ordinal, space, core, start, stop, lane, lane_stop, is_write, len(views)))
                    views.append(view)
        table = np.array(rows, np.int64).reshape(-1, 9)
        columns = [np.ascontiguousarray(column) for column in table.T]
        ordinals, spaces, cores, starts, stops, lanes, lane_stops, writes, numbers = columns
        is_writes = writes.astype(np.bool_)
        return cls(ordinals, spaces, cores, starts, stops, lanes, lane_stops, is_writes, numbers, tuple(views))


def rectangles(view: View) -> Iterator[Rectangle]:
    """The pieces of a view; none where it has no place in memory."""
    share = view.dtype.per_byte
    plain = view if share == 1 else as_bytes(view)
    try:
        shared, shift = template(plain)
    except BadAccess:
        return
    lane_bytes, itemsize = plain.geometry.lane_bytes, plain.dtype.itemsize
    for segment in shared.segments:
        if segment.length < 0:
            continue
        offset, length, lanes = segment.offset + shift, segment.length, 1
        lane = 0
        if plain.space is Space.LOCAL:
            lane, offset = divmod(offset, lane_bytes)
            if segment.lane_axis is not None:
                lanes = segment.shape[segment.lane_axis]
                length -= (lanes - 1) * segment.strides[segment.lane_axis]
        yield offset // share, -(-(offset + length + itemsize) // share), lane, lane + lanes
