"""Batches of consecutive commands, with the forms and locations of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import ReferenceType

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.target import EncodedCommands
from tdb_dap.targets.kernel.constants import MOST_ADDRESSES, NO_DATA
from tdb_dap.targets.plans.forms import SPACES, AddressSlot, Shape

NOTHING = NO_DATA
"""Number of a command that moves no data."""
UNKNOWN = -1
"""Number of a command that has to be executed by itself."""
MOST_SLOTS = MOST_ADDRESSES

Locations = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Numbers of spaces, and offsets."""


@dataclass(frozen=True)
class Batch:
    """Commands [first, stop) of a program."""

    commands: ReferenceType[EncodedCommands]
    memory: ReferenceType[Memory]
    first: int
    stop: int
    numbers: NDArray[np.int32]
    """The number of each command's form."""
    spaces: NDArray[np.int8]
    """(commands, slots): the number of the space that each slot is in."""
    offsets: NDArray[np.int64]
    """(commands, slots): and where in it."""

    def holds(self, commands: EncodedCommands, memory: Memory, ordinal: int) -> bool:
        """Whether a command is one of these."""
        return self.commands() is commands and self.memory() is memory and self.first <= ordinal < self.stop


def locations_of(raw: NDArray[np.uint8], slot: AddressSlot, geometry: Geometry) -> Locations:
    """Space and offset of a slot in many descriptors, (commands, bytes and eight more); as ``AddressSlot.located``."""
    low = _bits(raw, slot.low, slot.low_mask)
    if slot.high >= 0:
        return _located(_bits(raw, slot.high, slot.high_mask) << 32 | low, geometry)
    low = low + slot.first
    if slot.is_static:
        return np.full(low.size, SPACES[Space.STATIC]), low % geometry.static_bytes
    spaces, offsets = _located(low, geometry)
    is_local = low < geometry.local_bytes
    return np.where(is_local, SPACES[Space.LOCAL], spaces), np.where(is_local, low, offsets)


def _bits(raw: NDArray[np.uint8], first: int, mask: int) -> NDArray[np.int64]:
    start = first >> 3
    words = np.ascontiguousarray(raw[:, start : start + 8]).view("<u8")[:, 0]
    return (words >> np.uint64(first & 7) & np.uint64(mask)).astype(np.int64)


def _located(addresses: NDArray[np.int64], geometry: Geometry) -> Locations:
    spaces, offsets = np.full(addresses.size, SPACES[Space.UNKNOWN]), addresses.copy()
    for window in reversed(geometry.windows):
        inside = (addresses >= window.start) & (addresses < window.stop)
        spaces[inside] = SPACES[window.space]
        offsets[inside] = addresses[inside] - window.base
    return spaces, offsets


def keys_of(raw: NDArray[np.uint8], shape: Shape, locations: Sequence[Locations], geometry: Geometry) -> list[bytes]:
    """The key of each command's form, as ``key_of`` gives it."""
    mask = np.frombuffer(shape.mask.to_bytes(shape.size, "little"), np.uint8)
    parts: list[Array] = [raw[:, : shape.size] & mask]
    for spaces, offsets in locations:
        is_local = spaces == SPACES[Space.LOCAL]
        lanes = np.where(is_local, offsets // geometry.lane_bytes, -1 - spaces).astype("<i8")
        parts.append(lanes.reshape(-1, 1).view(np.uint8))
    keys = np.concatenate(parts, axis=1)
    data, width = keys.tobytes(), keys.shape[1]
    return [data[start : start + width] for start in range(0, len(data), width)]


def regions_of(memory: Memory) -> NDArray[np.int64]:
    """The locations of a memory's regions in this process, valid as long as it is: (regions, 5).

    Of each the number of the space, core or -1, first offset, offset after the last one, and the address of offset 0.
    """
    rows = [
        (SPACES[space], core if space in (Space.LOCAL, Space.STATIC) else -1, region)
        for space in (Space.LOCAL, Space.STATIC, Space.L2, Space.GLOBAL)
        for core in range(memory.cores if space in (Space.LOCAL, Space.STATIC) else 1)
        for region in memory.regions(space, core)
    ]
    table = [
        (space, core, region.start, region.stop, region.data.__array_interface__["data"][0] - region.start)
        for space, core, region in rows
    ]
    return np.array(table, np.int64).reshape(-1, 5)
