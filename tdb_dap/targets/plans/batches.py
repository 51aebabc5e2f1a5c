"""Batches of consecutive commands, with the forms and locations of all."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import EncodedCommands
from tdb_dap.targets.kernel.constants import MOST_ADDRESSES, NO_DATA
from tdb_dap.targets.plans.forms import ALIGNMENT, SPACES, WORD, AddressSlot, Registers, Shape
from tdb_dap.targets.plans.known import Instructions, Known

NOTHING = NO_DATA
"""Number of a command that moves no data."""
UNKNOWN = -1
"""Number of a command that has to be executed by itself."""
MOST_SLOTS = MOST_ADDRESSES

Locations = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Numbers of spaces, and offsets."""


UNPACKED = len(SPACES)
"""Number of the space of numbers that are unpacked: all of this process, by address."""
_NOWHERE = -1
"""Number of no space: operands that are not unpacked yet."""


class Packed(NamedTuple):
    """A command's compressed data in memory."""

    slot: int
    space: int
    offset: int
    number: int
    """Of the form."""


class _Rows:
    """The commands of one kind in a batch."""

    def __init__(self, rows: NDArray[np.intp], raw: NDArray[np.uint8]) -> None:
        self.rows = rows
        self.raw = raw
        """(commands, bytes of a descriptor and eight more)."""
        self.registers: list[Registers] = []
        """Of each command, where forms of the kind depend on them."""
        self.keys: list[list[bytes]] = []
        """By each shape of the kind, the keys of all commands."""
        self.locations: list[list[Locations]] = []


class Batch:
    """Commands [first, stop) of a program, with the forms and locations of those that were asked for."""

    def __init__(self, chip: Instructions, known: Known, commands: EncodedCommands, first: int, stop: int) -> None:
        self.first = first
        self.stop = stop
        self._chip = chip
        self._known = known
        self._commands = ref(commands)
        count, kinds, offsets = stop - first, commands.kinds[first:stop], commands.offsets[first:stop]
        self.numbers = np.full(count, UNKNOWN, np.int32)
        """The number of each command's form."""
        self.spaces = np.zeros((count, MOST_SLOTS), np.int8)
        """(commands, slots): the number of the space that each slot is in."""
        self.offsets = np.zeros((count, MOST_SLOTS), np.int64)
        """(commands, slots): and where in it."""
        self.is_single = np.zeros(count, np.bool_)
        """Commands at which a run ends, as far as that is known: they have no plan, or theirs does not fit."""
        self.packed: dict[int, Packed] = {}
        """Commands with compressed data that no command of the batch overwrites, in order."""
        self._stores: dict[int, list[tuple[int, int]]] = {}
        """By space the first byte, and the one after the last one, of results outside of the local memory."""
        self._is_open = np.zeros(count, np.bool_)
        self._has_open = True
        self._positions = np.zeros(count, np.int32)
        self._kinds = kinds
        self._rows: dict[int, _Rows] = {}
        for kind in distinct(kinds):
            rows = np.flatnonzero(kinds == kind)
            if kind < 0:
                continue
            if chip.moves_nothing(kind):
                self.numbers[rows] = NOTHING
                continue
            size = chip.size(kind)
            raw = np.zeros((rows.size, size + 8), np.uint8)
            raw[:, :size] = commands.payload[offsets[rows][:, None] + np.arange(size)]
            self._rows[kind] = _Rows(rows, raw)
            self._positions[rows] = np.arange(rows.size)
            self._is_open[rows] = True

    def holds(self, commands: EncodedCommands, known: Known) -> bool:
        """Whether these are commands of that program, with forms that are known there."""
        return self._commands() is commands and self._known is known

    def decide(self, begin: int, end: int) -> None:
        """Find the forms of commands [begin, end), and plan those that are new."""
        if not self._has_open:
            return
        still_open = begin + np.flatnonzero(self._is_open[begin:end])
        if not still_open.size:
            return
        commands, chosen = self._commands(), dict[tuple[int, int], list[int]]()
        assert commands is not None
        for row in still_open.tolist():
            kind = int(self._kinds[row])
            own, position = self._rows[kind], int(self._positions[row])
            number, which = self._found(kind, own, position)
            if number == UNKNOWN:
                descriptor = own.raw[position, :-8].tobytes()
                form = self._known.meet(kind, descriptor, *self._state(commands, row))
                number, which = (UNKNOWN, 0) if form is None else form[:2]
            self.is_single[row] = True
            if number != UNKNOWN and len(self._known.shapes[kind][which].shape.slots) <= MOST_SLOTS:
                self.numbers[row] = number
                self.is_single[row] = self._known.plans[number] is None
                chosen.setdefault((kind, which), []).append(position)
        self._is_open[begin:end] = False
        self._has_open = bool(self._is_open.any())
        for (kind, which), positions in chosen.items():
            own = self._rows[kind]
            self._see(kind, own)
            for slot, (space, offset) in enumerate(own.locations[which]):
                rows = own.rows[positions]
                self.spaces[rows, slot], self.offsets[rows, slot] = space[positions], offset[positions]
            for row in own.rows[positions].tolist():
                self._note(row)
        self._leave_out_overwritten()

    def _note(self, row: int) -> None:
        """Take down the compressed data of a command, and what it writes outside of the local memory."""
        number = int(self.numbers[row])
        made = self._known.plans[number]
        if made is None:
            return
        slot, low, high = made.slots[-1]
        space, offset = int(self.spaces[row, slot]), int(self.offsets[row, slot])
        if space != SPACES[Space.LOCAL]:
            self._stores.setdefault(space, []).append((offset + low, offset + high))
        if made.unpacks is not None:
            slot = made.slots[0][0]
            self.packed[row] = Packed(slot, int(self.spaces[row, slot]), int(self.offsets[row, slot]), number)
            self.spaces[row, slot] = _NOWHERE

    def _leave_out_overwritten(self) -> None:
        """Execute commands by themselves whose compressed data may be others when it is their turn."""
        if not self.packed:
            return
        written = {space: _Intervals(stores) for space, stores in self._stores.items()}
        for row, (_, space, offset, number) in sorted(self.packed.items()):
            made = self._known.plans[number]
            assert made is not None
            assert made.unpacks is not None
            if space in written and written[space].touch(offset, offset + made.unpacks.most):
                del self.packed[row]
                self.is_single[row] = True
        self.packed = dict(sorted(self.packed.items()))

    def _found(self, kind: int, own: _Rows, position: int) -> tuple[int, int]:
        """Number and shape of the form of a command, if it is known."""
        self._see(kind, own)
        for which, (keys, (_, numbers)) in enumerate(zip(own.keys, self._known.shapes.get(kind, ()), strict=False)):
            number = numbers.get(keys[position])
            if number is not None:
                return number, which
        return UNKNOWN, 0

    def _see(self, kind: int, own: _Rows) -> None:
        """Take locations and keys of all commands by the shapes of their kind that are new."""
        shapes = self._known.shapes.get(kind, ())
        while len(own.keys) < len(shapes):
            shape = shapes[len(own.keys)].shape
            if shape.needs_registers and not own.registers:
                commands = self._commands()
                assert commands is not None
                own.registers = [self._state(commands, row)[1] or {} for row in own.rows.tolist()]
            locations = [locations_of(own.raw, slot, self._chip.geometry, own.registers) for slot in shape.slots]
            own.locations.append(locations)
            own.keys.append(keys_of(own.raw, shape, locations, self._chip.geometry, own.registers))

    def _state(self, commands: EncodedCommands, row: int) -> tuple[int, Registers | None]:
        """The core of a command, and its registers, if these are known."""
        core = int(commands.cores[self.first + row])
        return core, None if commands.registers is None else commands.registers(core, self.first + row)


class _Intervals:
    """The bytes that some stores write, each from low to before high."""

    def __init__(self, stores: Sequence[tuple[int, int]]) -> None:
        ordered = sorted(stores)
        self._lows = [low for low, _ in ordered]
        self._ends = list(accumulate((high for _, high in ordered), max))
        """The highest end of each and those before it."""

    def touch(self, low: int, high: int) -> bool:
        """Whether any of them writes into [low, high)."""
        before = bisect_left(self._lows, high)
        return before > 0 and self._ends[before - 1] > low


def locations_of(
    raw: NDArray[np.uint8], slot: AddressSlot, geometry: Geometry, registers: Sequence[Registers]
) -> Locations:
    """Space and offset of a slot in many descriptors, (commands, bytes and eight more); as ``AddressSlot.located``."""
    if slot.register >= 0:
        low = np.array([own.get(slot.register, 0) for own in registers], np.int64)
    else:
        low = np.zeros(len(raw), np.int64)
        for bit, mask, shift in slot.parts:
            low += _bits(raw, bit, mask) << shift
    if slot.is_device:
        spaces, offsets = _located(low, geometry)
        if geometry.repeats is not None:
            spaces[(low >= geometry.repeats[0]) & (low < geometry.repeats[1])] = SPACES[Space.UNKNOWN]
        return spaces, offsets
    low = low + slot.first
    if slot.space is not None:
        return np.full(low.size, SPACES[slot.space]), low
    spaces, offsets = _located(low, geometry)
    is_local = low < geometry.named_by_offset
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


def keys_of(
    raw: NDArray[np.uint8],
    shape: Shape,
    locations: Sequence[Locations],
    geometry: Geometry,
    registers: Sequence[Registers],
) -> list[bytes]:
    """The key of each command's form, as ``key_of`` gives it."""
    mask = np.frombuffer(shape.mask.to_bytes(shape.size, "little"), np.uint8)
    parts: list[Array] = [raw[:, : shape.size] & mask]
    for spaces, offsets in locations:
        is_local = spaces == SPACES[Space.LOCAL]
        lanes = offsets // geometry.lane_bytes * ALIGNMENT + offsets % ALIGNMENT
        places = np.where(is_local, lanes, -1 - spaces * WORD - offsets % WORD).astype("<i8")
        parts.append(places.reshape(-1, 1).view(np.uint8))
    for register in shape.registers:
        values = np.array([own.get(register, 0) for own in registers], "<i8")
        parts.append(values.reshape(-1, 1).view(np.uint8))
    keys = np.concatenate(parts, axis=1)
    data, width = keys.tobytes(), keys.shape[1]
    return [data[start : start + width] for start in range(0, len(data), width)]


def regions_of(memory: Memory) -> NDArray[np.int64]:
    """The locations of a memory's regions in this process, valid as long as it is: (regions, 5).

    Of each the number of the space, core or -1, first offset, offset after the last one, and the address of offset 0.
    The last one is that of numbers that are unpacked.
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
    return np.array([*table, (UNPACKED, -1, 0, np.iinfo(np.int64).max, 0)], np.int64)
