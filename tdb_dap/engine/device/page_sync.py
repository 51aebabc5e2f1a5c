"""Pages of the debugger's memories that a device also holds."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Bytes, Memory, Region

PAGE = 4096
"""Bytes: small, for a tensor in local memory has a little in every lane."""


class Extent(Struct, frozen=True):
    """``size`` bytes of a space from the offset ``start`` on. ``core``: whose; 0 for memories that all cores share."""

    space: Space
    core: int
    start: int
    size: int


class _Pages:
    """The pages of one region. ``equal``: known to be the same on both sides.

    A digest stands for what the device holds in a page: keeping the bytes would double the memories.
    """

    def __init__(self, region: Region) -> None:
        self.region = region
        self.count = -(-region.data.size // PAGE)
        self.equal = np.zeros(self.count, np.bool_)
        self._theirs: dict[int, bytes] = {}
        self._fresh: bytes | None = _digest(np.zeros(PAGE, np.uint8))

    def page(self, number: int) -> Bytes:
        return self.region.data[number * PAGE : (number + 1) * PAGE]

    def forget(self) -> None:
        """The device may hold anything."""
        self.equal[:] = False
        self._theirs.clear()
        self._fresh = None

    def missing(self, runs: NDArray[np.int64] | None) -> list[tuple[int, int]]:
        """Pages [first, last) that hold something else on the device; from now on they count as equal."""
        different: list[int] = []
        for number in np.flatnonzero(self._touched(runs) & ~self.equal).tolist():
            ours = _digest(self.page(number))
            if self._theirs.get(number, self._fresh) != ours:
                self._theirs[number] = ours
                different.append(number)
            self.equal[number] = True
        return _stretches(different)

    def _touched(self, runs: NDArray[np.int64] | None) -> NDArray[np.bool_]:
        """The pages that share a byte with half-open ranges of the space; None: all of them."""
        if runs is None:
            return np.ones(self.count, np.bool_)
        inside = np.clip(runs - self.region.start, 0, self.region.data.size)
        inside = inside[inside[:, 0] < inside[:, 1]]
        steps = np.zeros(self.count + 1, np.int64)
        np.add.at(steps, inside[:, 0] // PAGE, 1)
        np.add.at(steps, (inside[:, 1] - 1) // PAGE + 1, -1)
        return np.cumsum(steps[:-1]) > 0

    def took(self, start: int, size: int) -> None:
        """The device's bytes from ``start`` on (counted from the region's) are ours now."""
        for number in range(start // PAGE, -(-(start + size) // PAGE)):
            if self.equal[number]:
                self._theirs[number] = _digest(self.page(number))
            else:
                self._theirs[number] = b""  # the rest of the page is not known: it is no page's digest


class DevicePages:
    """All memories, for a device whose memories are zero at first."""

    def __init__(self, memory: Memory) -> None:
        spaces = [(Space.GLOBAL, 0), (Space.L2, 0)]
        spaces += [(space, core) for space in (Space.LOCAL, Space.STATIC) for core in range(memory.cores)]
        self._regions = {
            (space, core): [_Pages(region) for region in memory.regions(space, core)] for space, core in spaces
        }

    @property
    def size(self) -> int:
        """Bytes of all memories."""
        return sum(pages.region.data.size for regions in self._regions.values() for pages in regions)

    def forget(self) -> None:
        """Unknown what the device holds."""
        for pages in (p for regions in self._regions.values() for p in regions):
            pages.forget()

    def recheck(self) -> None:
        """Our memories have been changed, nobody knows where."""
        for pages in (p for regions in self._regions.values() for p in regions):
            pages.equal[:] = False

    def missing(self, places: list[ByteRanges] | None) -> list[Extent]:
        """Contents to write to the device so that it holds the same in some ranges (None: everywhere).

        It counts as written from now on. Places that do not exist are left out: the command will be refused.
        """
        if places is None:
            wanted = [(key, None) for key in self._regions]
            return [extent for key, runs in wanted for extent in self._missing(key, runs)]
        return [extent for p in places for extent in self._missing((p.space, p.core), p.runs)]

    def _missing(self, key: tuple[Space, int], runs: NDArray[np.int64] | None) -> list[Extent]:
        missing: list[Extent] = []
        for pages in self._regions.get(key, ()):
            for first, last in pages.missing(runs):
                stop = min(last * PAGE, pages.region.data.size)
                missing.append(Extent(*key, pages.region.start + first * PAGE, stop - first * PAGE))
        return missing

    def took(self, space: Space, core: int, start: int, size: int) -> None:
        """Bytes of the device have been brought into our memories."""
        for pages in self._regions[space, core]:
            if pages.region.start <= start and start + size <= pages.region.stop:
                pages.took(start - pages.region.start, size)
                return


def _digest(page: Bytes) -> bytes:
    return blake2b(page.data, digest_size=16).digest()


def _stretches(numbers: list[int]) -> list[tuple[int, int]]:
    """Ascending numbers as half-open ranges."""
    if not numbers:
        return []
    ordered = np.array(numbers)
    ends = np.flatnonzero(np.diff(ordered, append=ordered[-1] + 2) > 1)
    firsts = np.concatenate([[0], ends[:-1] + 1])
    return list(zip(ordered[firsts].tolist(), (ordered[ends] + 1).tolist(), strict=True))
