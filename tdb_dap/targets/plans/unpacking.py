"""Compressed operands of plans: unpacked once, as long as the memory has the same bytes whenever they are used."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.errors import TdbError
from tdb_dap.targets.plans.batches import UNPACKED, Batch
from tdb_dap.targets.plans.known import Known
from tdb_dap.targets.plans.making import Made, Unpacks
from tdb_dap.targets.semantics.registry import UNPACKS, Semantic

_MOST_BYTES = 1 << 27
"""Bytes of compressed data and numbers that are kept."""
_SPACES = list(Space)

Run = tuple[int, NDArray[np.int8], NDArray[np.int64], list[Array]]
"""The end of a run; spaces and offsets; numbers that have to live as long as it lasts."""


class Unpacked:
    """The numbers of compressed data that were unpacked."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Semantic, Unpacks, int, int], tuple[bytes, Array]] = {}
        """By where they are: the compressed data, and their numbers."""
        self._size = 0

    def located(self, batch: Batch, known: Known, begin: int, end: int, memory: Memory) -> Run:
        """Spaces and offsets of the commands [begin, end) of a batch, with those of the numbers that they unpack.

        The run is shorter where it has to end anyway, or where data cannot be unpacked.
        """
        singles = batch.is_single[begin + 1 : end]
        if singles.size and singles[first := int(singles.argmax())]:
            end = begin + 1 + first
        if not batch.packed:
            return end, batch.spaces, batch.offsets, []
        rows = list(batch.packed)
        rows = rows[bisect_left(rows, begin) : bisect_left(rows, end)]
        spaces, offsets, held = batch.spaces, batch.offsets, list[Array]()
        if rows:  # copies: others may run the same commands on another memory
            spaces, offsets = spaces.copy(), offsets.copy()
        for row in rows:
            slot, space, offset, number = batch.packed[row]
            made = known.plans[number]
            assert made is not None
            words = self._words(made, space, offset, memory)
            if words is None:
                return row, spaces, offsets, held
            held.append(words)
            spaces[row, slot], offsets[row, slot] = UNPACKED, words.__array_interface__["data"][0]
        return end, spaces, offsets, held

    def _words(self, made: Made, space: int, offset: int, memory: Memory) -> Array | None:
        """The numbers of the data that are there now; None where there are none."""
        assert made.unpacks is not None
        _, count, size, most = made.unpacks
        key = made.function, made.unpacks, space, offset
        try:
            region = memory.region(_SPACES[space], offset, offset + 1)
            data = region.data[offset - region.start : offset - region.start + most]
            packed, words = self._kept.get(key, (b"", None))
            if words is not None and data[: len(packed)].tobytes() == packed:
                return words
            words, used = UNPACKS[made.function](data, count, size)
        except (TdbError, ValueError, IndexError):
            return None  # the function itself says what is wrong
        words = np.ascontiguousarray(words)
        self._size += words.nbytes + used
        if self._size > _MOST_BYTES:
            self._kept.clear()
            self._size = words.nbytes + used
        self._kept[key] = data[:used].tobytes(), words
        return words
