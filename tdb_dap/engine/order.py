"""The order in which the commands of both engines of one core are executed.

Each engine keeps its stream order; a command waits until the other engine has finished its dependency. Compilers make
the TIU command depend on the DMA command before it, so the order is: DMA first, each TIU command right after the DMA
command that it waits for. Streams for which that breaks a dependency are scheduled one command at a time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.target import Stream
from tdb_dap.errors import BadInput

Indices = NDArray[np.int64]


def merge(tiu: Stream, dma: Stream, what: str) -> tuple[NDArray[np.bool_], Indices]:
    """Execution order of two streams: for each position whether it is a DMA command, and its index in the stream.

    End commands are left out. BadInput if no order satisfies the dependencies.
    """
    own_tiu, own_dma = np.flatnonzero(~tiu.is_end), np.flatnonzero(~dma.is_end)
    # A dependency cannot be met later than that of a command before it in the same stream.
    waits = np.maximum.accumulate(tiu.dependencies[own_tiu]) if own_tiu.size else tiu.dependencies[own_tiu]
    keys = np.concatenate([dma.ids[own_dma], waits])
    order = np.argsort(keys, kind="stable")
    is_dma = order < own_dma.size
    indices = np.concatenate([own_dma, own_tiu])[order]
    if _in_order(indices[is_dma]) and _met(tiu, dma, is_dma, indices):
        return is_dma, indices
    return _schedule(tiu, dma, own_tiu, own_dma, what)


def _in_order(indices: Indices) -> bool:
    return bool((np.diff(indices) > 0).all())


def _met(tiu: Stream, dma: Stream, is_dma: NDArray[np.bool_], indices: Indices) -> bool:
    """Every dependency has been executed before the command that waits for it."""
    done_dma = np.where(is_dma, dma.ids[np.where(is_dma, indices, 0)] if dma.ids.size else 0, 0)
    done_tiu = np.where(is_dma, 0, tiu.ids[np.where(is_dma, 0, indices)] if tiu.ids.size else 0)
    last_dma, last_tiu = np.maximum.accumulate(done_dma), np.maximum.accumulate(done_tiu)
    dma_waits = dma.dependencies[indices[is_dma]] if dma.ids.size else np.zeros(0, np.int64)
    tiu_waits = tiu.dependencies[indices[~is_dma]] if tiu.ids.size else np.zeros(0, np.int64)
    return bool((dma_waits <= last_tiu[is_dma]).all() and (tiu_waits <= last_dma[~is_dma]).all())


def _schedule(
    tiu: Stream, dma: Stream, own_tiu: Indices, own_dma: Indices, what: str
) -> tuple[NDArray[np.bool_], Indices]:
    kinds: list[bool] = []
    chosen: list[int] = []
    t = d = 0
    last_tiu = last_dma = 0
    while t < own_tiu.size or d < own_dma.size:
        if d < own_dma.size and dma.dependencies[own_dma[d]] <= last_tiu:
            kinds.append(True)
            chosen.append(int(own_dma[d]))
            last_dma = int(dma.ids[own_dma[d]])
            d += 1
        elif t < own_tiu.size and tiu.dependencies[own_tiu[t]] <= last_dma:
            kinds.append(False)
            chosen.append(int(own_tiu[t]))
            last_tiu = int(tiu.ids[own_tiu[t]])
            t += 1
        else:
            raise BadInput(f"{what}: deadlock: {_waiting(tiu, dma, own_tiu[t:], own_dma[d:])}; the model is damaged")
    return np.array(kinds, np.bool_), np.array(chosen, np.int64)


def _waiting(tiu: Stream, dma: Stream, left_tiu: Indices, left_dma: Indices) -> str:
    parts: list[str] = []
    for letter, other, stream, left in (("B", "D", tiu, left_tiu), ("D", "B", dma, left_dma)):
        if left.size:
            parts.append(f"{letter}{stream.ids[left[0]]} waits for {other}{stream.dependencies[left[0]]}")
    return " and ".join(parts)
