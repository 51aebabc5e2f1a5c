"""Transposition, copies and broadcasts inside the local memory: words are moved, never changed."""

from __future__ import annotations

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.families import transpose as op
from tdb_dap.targets.semantics.registry import Operation, moves, semantics


@moves(in_order=False)
@semantics("tsbc", op.LANE_TO_WIDTH, op.WIDTH_TO_LANE)
def swap(x: Operation) -> Array:
    """(n, w, h, c) to (n, c, h, w)."""
    return x["input"].bits.transpose(0, 3, 2, 1)


@moves(in_order=True)
@semantics("tsbc", op.COPY, op.LANE_BROADCAST, op.STATIC_BROADCAST, op.STATIC_DISTRIBUTE)
def copy(x: Operation) -> Array:
    """The source, repeated where it has fewer lanes."""
    return x["input"].bits
