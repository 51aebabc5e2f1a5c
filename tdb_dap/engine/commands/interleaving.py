"""The order in which the commands of both engines of one core are executed.

Each engine keeps its stream order; a command waits until the other engine has finished its dependency. Compilers make
the TIU command depend on the DMA command before it, so the order is: DMA first, each TIU command right after the DMA
command that it waits for. Streams for which that breaks a dependency are scheduled one command at a time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.target import Message, Stream
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


def interleave(cores: Sequence[Sequence[Message | None]], what: str) -> list[tuple[int, int]]:
    """One order for several cores: (core, index) for every command.

    Cores take turns; each runs up to its next wait, and a wait is passed once all sends that it expects have been made
    (the count starts anew when every waiting command has passed). The order is the same every time. BadInput if all
    cores wait for sends that nobody makes.
    """
    positions = [0] * len(cores)
    sent: Counter[int] = Counter()
    passed: Counter[int] = Counter()
    chosen: list[tuple[int, int]] = []
    while any(position < len(core) for position, core in zip(positions, cores, strict=True)):
        before = len(chosen)
        for core, messages in enumerate(cores):
            moved = False
            while positions[core] < len(messages):
                message = messages[positions[core]]
                if message is not None and not message.is_send:
                    first_of_turn = not moved or _follows_wait(messages, positions[core])
                    if sent[message.number] < message.count or not first_of_turn:
                        break
                    passed[message.number] += 1
                    if passed[message.number] == message.count:
                        sent[message.number] = passed[message.number] = 0
                elif message is not None:
                    sent[message.number] += 1
                chosen.append((core, positions[core]))
                positions[core] += 1
                moved = True
        if len(chosen) == before:
            raise BadInput(f"{what}: deadlock: {_stuck(cores, positions, sent)}; the model is damaged")
    return chosen


def _follows_wait(messages: Sequence[Message | None], position: int) -> bool:
    """Both engines of a core wait: the second wait belongs to the first."""
    before = messages[position - 1]
    return before is not None and not before.is_send


def _stuck(cores: Sequence[Sequence[Message | None]], positions: list[int], sent: Counter[int]) -> str:
    parts: list[str] = []
    for core, (messages, position) in enumerate(zip(cores, positions, strict=True)):
        message = messages[position] if position < len(messages) else None
        if message is not None:
            parts.append(
                f"core {core} waits for message {message.number} ({sent[message.number]} of {message.count} sent)"
            )
    return " and ".join(parts)
