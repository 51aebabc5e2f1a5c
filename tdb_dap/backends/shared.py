"""A chip's memories in a block that a child process can map as well."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterable

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.backends.messages import Area, Emulator, Setup
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.memory import Bytes, Memory, Region
from tdb_dap.targets.chips.vendor_library import VendorLibrary

_PAGE = 4096
_CHUNK = 1 << 20
_MOST_BEYOND = 256 << 20

_KINDS = {Space.GLOBAL: "ddr", Space.L2: "l2", Space.LOCAL: "local", Space.STATIC: "static"}


class AreaOffset(Struct, frozen=True):
    """Position of an area in the debugger's memories: ``start`` is the offset of its first byte in the space."""

    space: Space
    core: int
    start: int


class SharedMemory:
    """``memory``: the memories, all of whose bytes are in the block. ``offsets``: one for each area of ``setup``."""

    def __init__(
        self, geometry: Geometry, cores: int, ddr: Iterable[Region], library: VendorLibrary, path: str
    ) -> None:
        regions = sorted(ddr, key=lambda region: region.start)
        # What no address selects is not shared: the library may have no such memory.
        has_l2 = any(window.space is Space.L2 for window in geometry.windows)
        spaces = [(Space.L2, 0, geometry.l2_bytes if has_l2 else 0)]
        spaces += [(Space.LOCAL, core, geometry.local_bytes) for core in range(cores)]
        spaces += [(Space.STATIC, core, geometry.static_bytes) for core in range(cores)]
        bases, ddr_size = placement(geometry, regions, library)
        self.offsets: list[AreaOffset] = []
        areas: list[Area] = []
        offset = 0
        for space, core, size, start, inside in (
            *((space, core, size, 0, 0) for space, core, size in spaces),
            *((Space.GLOBAL, 0, r.data.size, r.start, ddr_index(geometry, bases, r.start, library)) for r in regions),
        ):
            if size:
                areas.append(Area(_KINDS[space], core, offset, size, inside))
                self.offsets.append(AreaOffset(space, core, start))
                offset += -(-size // _PAGE) * _PAGE
        self._descriptor = os.memfd_create("tdb-dap memories")
        os.ftruncate(self._descriptor, offset)
        block: Bytes = np.frombuffer(mmap.mmap(self._descriptor, offset), np.uint8)
        parts = [block[area.offset : area.offset + area.size] for area in areas]
        for part, region in zip(parts[len(parts) - len(regions) :], regions, strict=True):
            _copy(part, region.data)
        shared = [replace(r, data=p) for p, r in zip(parts[len(parts) - len(regions) :], regions, strict=True)]
        self.memory = Memory(geometry, cores, shared, _handing_out(parts[: len(parts) - len(regions)]))
        self.setup = Setup(
            path,
            library.single_call,
            max(cores, 1),
            ddr_size,
            tuple(_core_bases(bases, library, core) for core in range(cores)) if geometry.tag_shift else (),
            tuple(areas),
            (self._descriptor, offset),
            _emulator(geometry, library),
        )

    def close(self) -> None:
        """Let go of the name of the block; the memories stay."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _emulator(geometry: Geometry, library: VendorLibrary) -> Emulator | None:
    single = library.single_chip
    if single is None:
        return None
    sizes = geometry.lanes, geometry.lane_bytes, geometry.bank_bytes, geometry.eu_bytes
    return Emulator(single.version, *sizes, single.shared_memory, single.ddr, dict(single.functions))


def placement(geometry: Geometry, regions: Iterable[Region], library: VendorLibrary) -> tuple[dict[int, int], int]:
    """Base register per tag, and bytes of DDR that the library has to have. Without tags: no bases.

    What is below the lowest address of a tag needs no memory: its base may be below zero, and the sum of base and
    address wraps around as the library's 64-bit addresses do. Beyond the last one there is more than a tensor takes:
    the library insists on room for a whole step after the last element.
    """
    bases: dict[int, int] = {}
    end = _PAGE
    regions = list(regions)
    beyond = _CHUNK + min(_MOST_BEYOND, max((region.data.size for region in regions), default=0))
    if not geometry.tag_shift:
        return bases, max([end, *(region.stop for region in regions)]) + beyond
    mask = (1 << geometry.tag_shift) - 1
    extents: dict[int, tuple[int, int]] = {}
    for region in regions:
        tag, start = region.start >> geometry.tag_shift & geometry.tag_mask, region.start & mask
        low, high = extents.get(tag, (start, start))
        extents[tag] = min(low, start), max(high, start + region.data.size)
    for tag, (low, high) in sorted(extents.items()):
        skipped = low // _PAGE * _PAGE
        bases[tag] = library.ddr_start + end - skipped
        end += -(-(high - skipped) // _PAGE) * _PAGE + _PAGE
    return bases, end + beyond


def ddr_index(geometry: Geometry, bases: dict[int, int], offset: int, library: VendorLibrary) -> int:
    """Position in the library's DDR of an offset in our DDR space."""
    if not geometry.tag_shift:
        return offset
    tag = offset >> geometry.tag_shift & geometry.tag_mask
    return bases[tag] - library.ddr_start + (offset & ((1 << geometry.tag_shift) - 1))


def _core_bases(bases: dict[int, int], library: VendorLibrary, core: int) -> dict[int, int]:
    if library.local_tag is None:
        return bases
    return {**bases, library.local_tag: library.local_start + core * library.local_step}


def _handing_out(parts: list[Bytes]) -> Callable[[int], Bytes]:
    """Gives out the part that is next where it has the size that is asked for, else memory that nobody shares."""
    rest = list(parts)

    def allocate(size: int) -> Bytes:
        return rest.pop(0) if rest and rest[0].size == size else np.zeros(size, np.uint8)

    return allocate


def _copy(target: Bytes, source: Bytes) -> None:
    """Copy what is not zero: pages that nobody has touched stay so."""
    for start in range(0, source.size, _CHUNK):
        part = source[start : start + _CHUNK]
        if part.any():
            target[start : start + _CHUNK] = part
