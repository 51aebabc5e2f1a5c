"""Copies of the memories at some moments of a run, so that any moment is near one of them.

A copy holds the pages that differ from the memories of a chip that has just been started, and shares with the copy
before it what has not changed in between. When copies need more room than they are given, those are dropped that have
others near them, and the next are taken half as often: a run of any length has copies all along it.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.memory import Bytes, Memory, Region, used_pages

PAGE = 1 << 16
"""Bytes that are copied and compared at once."""

_ROOM_AFTER = 0.75
"""Part of the room that may still be full when some checkpoints have been dropped."""

PageKey = tuple[int, int]
"""Index of a region in the order of ``_regions``, and first byte of a page in it."""


class Snapshot(Struct, frozen=True):
    """The memories at one moment: the pages that are not as at the start, by their place."""

    pages: dict[PageKey, Bytes]


class Snapshots:
    """Takes and restores copies of ``memory``. ``fresh``: the regions of DDR as they are at the start."""

    def __init__(self, memory: Memory, fresh: list[Region]) -> None:
        self._memory = memory
        self._fresh = {region.start: region.data for region in fresh if region.is_filled}

    def take(self, before: Snapshot | None = None) -> Snapshot:
        """A copy of the memories as they are; pages that are equal in ``before`` are shared with it."""
        taken = self.begin(before)
        self.keep(taken)
        return taken

    def begin(self, before: Snapshot | None = None) -> Snapshot:
        """The same, but what is not shared is still the memories themselves: nothing is copied before ``keep``."""
        known = before.pages if before else {}
        pages: dict[PageKey, Bytes] = {}
        for page in self._unlike({}):
            old = known.get(page.key)
            pages[page.key] = old if old is not None and np.array_equal(page.live, old) else page.live
        return Snapshot(pages)

    def keep(self, begun: Snapshot) -> None:
        """Copy what a snapshot does not share with the one before it."""
        for key, page in begun.pages.items():
            if not page.flags.owndata:
                begun.pages[key] = page.copy()

    def restore(self, snapshot: Snapshot) -> None:
        """Make the memories what they were; pages that are so already are not written."""
        for page in self._unlike(snapshot.pages):
            page.live[...] = 0 if page.wanted is None else page.wanted

    def differences(self, snapshot: Snapshot) -> Iterator[tuple[Space, int, int, Bytes, Bytes]]:
        """Space, core, first byte, bytes now and bytes then of every page that differs from the copy."""
        for page in self._unlike(snapshot.pages):
            then = np.zeros_like(page.live) if page.wanted is None else page.wanted.copy()
            yield page.space, page.core, page.first, page.live.copy(), then

    def _unlike(self, wanted: Mapping[PageKey, Bytes]) -> Iterator[_Page]:
        """The pages that are not as ``wanted``, those it does not have: as at the start."""
        given: dict[int, list[int]] = {}
        for index, start in wanted:
            given.setdefault(index, []).append(start)
        for index, (space, core, region) in enumerate(_regions(self._memory)):
            fresh = self._fresh.get(region.start) if space is Space.GLOBAL else None
            for start in sorted({*_changed(region.data, fresh), *given.get(index, ())}):
                live = region.data[start : start + PAGE]
                page = wanted.get((index, start))
                if page is None:
                    page = None if fresh is None else fresh[start : start + PAGE]
                elif np.array_equal(live, page):
                    continue
                yield _Page((index, start), space, core, region.start + start, live, page)


class _Page(NamedTuple):
    """A page that is not as it is wanted (None: zeros). ``first``: its first byte in the space."""

    key: PageKey
    space: Space
    core: int
    first: int
    live: Bytes
    wanted: Bytes | None


def _changed(live: Bytes, fresh: Bytes | None) -> list[int]:
    """First bytes of the pages of a region that differ from ``fresh`` (None: zeros)."""
    if fresh is None:
        return used_pages(live, PAGE)
    pages = [slice(start, start + PAGE) for start in range(0, live.size, PAGE)]
    return [page.start for page in pages if not np.array_equal(live[page], fresh[page])]


def _regions(memory: Memory) -> list[tuple[Space, int, Region]]:
    """Every region of every space, with its core."""
    shared = [(space, 0, region) for space in (Space.GLOBAL, Space.L2) for region in memory.regions(space)]
    own = [
        (space, core, region)
        for space in (Space.LOCAL, Space.STATIC)
        for core in range(memory.cores)
        for region in memory.regions(space, core)
    ]
    return shared + own


class Checkpoints:
    """Snapshots along a run. ``limit``: bytes they may take; 0: none are taken.

    ``every``: seconds of execution between two, at least. ``share``: part of the time that taking them may cost.
    """

    def __init__(self, snapshots: Snapshots, limit: int, every: float = 0.4, share: float = 0.04) -> None:
        self._snapshots = snapshots
        self._limit = limit
        self.every = every
        self.share = share
        self._ordinals: list[int] = []
        self._taken: list[Snapshot] = []
        self._spent = 0.0
        self._cost = 0.0

    @property
    def ordinals(self) -> tuple[int, ...]:
        """The moments that have a checkpoint."""
        return tuple(self._ordinals)

    def executed(self, ordinal: int, seconds: float) -> None:
        """A command has been executed, and ``ordinal`` is now; takes a checkpoint if one is due."""
        self._spent += seconds
        if self._spent < self.every or self._cost > self.share * self._spent or not self._limit:
            return
        self._spent = 0.0
        if not self._ordinals or ordinal > self._ordinals[-1]:
            self._take(ordinal)

    def _take(self, ordinal: int) -> None:
        started = time.perf_counter()
        self._ordinals.append(ordinal)
        begun = self._snapshots.begin(self._taken[-1] if self._taken else None)
        self._taken.append(begun)
        # What is too much is dropped before there is a copy of it.
        if self.nbytes > self._limit:
            while self._taken and self.nbytes > _ROOM_AFTER * self._limit:
                position = self._least_missed()
                del self._ordinals[position], self._taken[position]
            self.every *= 2
        if self._taken and self._taken[-1] is begun:
            self._snapshots.keep(begun)
        self._cost = time.perf_counter() - started

    def _least_missed(self) -> int:
        """Position of the checkpoint whose neighbours are nearest; the latest, where the run is, goes last."""
        bounds = [0, *self._ordinals]
        gaps = [bounds[i + 2] - bounds[i] for i in range(len(self._ordinals) - 1)]
        return gaps.index(min(gaps)) if gaps else 0

    @property
    def nbytes(self) -> int:
        """Bytes of all pages; shared ones count once."""
        pages = {id(page): page.size for taken in self._taken for page in taken.pages.values()}
        return sum(pages.values())

    def nearest(self, ordinal: int) -> int | None:
        """The last moment up to ``ordinal`` that has a checkpoint."""
        position = bisect_right(self._ordinals, ordinal)
        return self._ordinals[position - 1] if position else None

    def restore(self, ordinal: int) -> None:
        """Make the memories what they were at a moment that has a checkpoint."""
        self._snapshots.restore(self._taken[self._ordinals.index(ordinal)])

    def forget_after(self, ordinal: int) -> None:
        """Drop those of later moments: the run goes another way from here."""
        keep = bisect_right(self._ordinals, ordinal)
        del self._ordinals[keep:], self._taken[keep:]
