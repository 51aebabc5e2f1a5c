"""The accesses of a whole program as columns of numbers: one row for each piece of a tensor that a command touches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.rectangles import rectangles
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import BadAccess, NotSimulated, Undefined

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command

SPACES = tuple(Space)
SHARED = frozenset((SPACES.index(Space.GLOBAL), SPACES.index(Space.L2)))
"""Codes of the memories that all cores share."""

LOCAL = SPACES.index(Space.LOCAL)

Column = NDArray[np.int64]


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
    undefined: tuple[tuple[int, str], ...]
    """Ordinals of commands whose operands make no sense, and what is wrong with them."""

    def __len__(self) -> int:
        return self.ordinal.size

    @classmethod
    def of(cls, commands: Sequence[Command]) -> AccessRows:
        """All pieces of all operands and results; operands of forms without a description are left out."""
        rows: list[tuple[int, int, int, int, int, int, int, bool, int]] = []
        views: list[View] = []
        undefined: list[tuple[int, str]] = []
        for command in commands:
            if command.is_system:
                continue
            try:
                description = command.description
            except NotSimulated as error:
                if isinstance(error, Undefined):
                    undefined.append((command.ordinal, str(error)))
                continue
            nowhere = False
            for is_write, operands in ((False, description.reads), (True, description.results)):
                for view in operands:
                    if not isinstance(view, View):
                        continue
                    if not view.size:
                        undefined.append((command.ordinal, f"%{view.name} has no elements: {view.memref}"))
                        continue
                    core = 0 if view.space.is_shared else view.core
                    place = command.ordinal, SPACES.index(view.space), core
                    try:
                        found = rectangles(view)
                    except BadAccess as error:
                        if not nowhere:
                            undefined.append((command.ordinal, str(error)))
                        found, nowhere = [], True
                    rows += [(*place, *rectangle, is_write, len(views)) for rectangle in found]
                    views.append(view)
        table = np.array(rows, np.int64).reshape(-1, 9)
        columns = [np.ascontiguousarray(column) for column in table.T]
        ordinals, spaces, cores, starts, stops, lanes, lane_stops, writes, numbers = columns
        is_writes = writes.astype(np.bool_)
        return cls(
            ordinals,
            spaces,
            cores,
            starts,
            stops,
            lanes,
            lane_stops,
            is_writes,
            numbers,
            tuple(views),
            tuple(undefined),
        )
