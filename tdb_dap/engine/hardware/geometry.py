"""The numbers in which chips differ: lanes, banks, memories and how addresses select them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace


class Space(Enum):
    """A memory of the chip; the value is the letter printed in listings (``%R4.64``)."""

    GLOBAL = "G"
    L2 = "L"
    LOCAL = "R"
    STATIC = "S"
    UNKNOWN = "?"

    __hash__ = object.__hash__  # that of Enum is a function in Python, for each access to the memory

    @property
    def title(self) -> str:
        return {"G": "DDR", "L": "L2", "R": "local memory", "S": "static memory", "?": "unknown memory"}[self.value]

    @property
    def is_shared(self) -> bool:
        """Whether all cores share one memory of this kind, where the others are one for each core."""
        return self in (Space.GLOBAL, Space.L2)


LINKED = 1 << 60
"""Device address of the first byte of DDR where several nets share it; no command can hold such an address."""


class Window(Struct, frozen=True):
    """Device addresses [start, stop) that select one space; offsets in the space count from ``base``."""

    space: Space
    start: int
    stop: int
    base: int


def window(space: Space, start: int, stop: int, base: int | None = None) -> Window:
    """A window whose offsets count from its start, or from ``base``."""
    return Window(space, start, stop, start if base is None else base)


class Geometry(Struct, frozen=True, eq=False, dict=True):
    """Sizes (bytes unless said otherwise) of one chip's memories and the address windows that select them.

    ``lanes``: number of NPUs; ``lane_bytes``: local memory of one lane; ``bank_bytes``: one bank of a lane;
    ``eu_bytes``: bytes that the execution units of one lane take at once, the unit of the aligned layout;
    ``cube_channels``: input channels that the matrix cube takes at once, for 8-bit data; ``cube_halves``: for 16-bit
    data (0: half as many).

    Chips with tagged addresses (``tag_shift`` bits of offset, a tag above) keep one space for all of DDR, whose offset
    is the tagged address. ``hexadecimal``: offsets print in hexadecimal. ``static_by_offset``: TIU commands name static
    memory by its offset. ``message_bits``: width of the message number in synchronisation commands (0: none);
    ``message_count_bit``: first bit of the count in those of the DMA (0: behind the number, bit 8 at the least).
    ``tiu_by_address``: TIU commands name local memory by device addresses, and not by its offsets.
    ``repeats``: bytes after which local and static memory repeat in the addresses of moves, and where that ends: the
    bits between select nothing.
    ``processor_memory``: memory of the chip's processor, which only commands of its firmware address; in a run it is
    the static memory of a chip that has no other.
    """

    lanes: int
    lane_bytes: int
    bank_bytes: int
    eu_bytes: int
    cube_channels: int
    static_bytes: int
    l2_bytes: int
    windows: tuple[Window, ...]
    tag_shift: int = 0
    tag_mask: int = 0
    hexadecimal: bool = False
    static_by_offset: bool = False
    message_bits: int = 0
    message_count_bit: int = 0
    cube_halves: int = 0
    tiu_by_address: bool = False
    repeats: tuple[int, int] | None = None
    processor_memory: Window | None = None

    @cached_property
    def local_bytes(self) -> int:
        return self.lanes * self.lane_bytes

    def with_bases(self, bases: Mapping[int, int]) -> Geometry:
        """The geometry of a run, in which DDR is one space of absolute addresses.

        ``bases``: tag -> absolute address of its first byte, as the base registers have it; 0 for tags that are not in
        it. Without tags addresses are absolute anyway.
        """
        if self.processor_memory is not None:
            size = self.processor_memory.stop - self.processor_memory.start
            moved = replace(
                self, windows=(*self.windows, self.processor_memory), static_bytes=size, processor_memory=None
            )
            return moved.with_bases(bases)
        if not self.tag_shift:
            return self
        size, tags = 1 << self.tag_shift, self.tag_mask << self.tag_shift
        own = [window for window in self.windows if window.space is not Space.GLOBAL]
        ddr = next(window for window in self.windows if window.space is Space.GLOBAL)
        prefix = ddr.start & ~tags & -size
        absolute = [
            Window(w.space, start, start + w.stop - w.start, start - (w.start - w.base))
            for w in own
            if (tag := w.start >> self.tag_shift & self.tag_mask)
            and (start := bases.get(tag, 0) + (w.start & size - 1))
        ]
        tagged = [
            Window(Space.GLOBAL, start, start + size, start - bases.get(tag, 0))
            for tag in range(self.tag_mask + 1)
            for start in [prefix | tag << self.tag_shift]
        ]
        return replace(self, windows=(*own, *absolute, *tagged, Window(Space.GLOBAL, 0, size, 0)))

    def linked(self, moves: Sequence[tuple[int, int, int]]) -> Geometry:
        """The geometry of a net that shares DDR with others, which were all compiled for the same addresses.

        ``moves``: (start, stop, to): what was compiled for the offsets [start, stop) of DDR is from ``to`` on in the
        space of all nets. Other addresses of DDR select nothing. The device address of offset x is ``LINKED + x``.
        """
        own = [window for window in self.windows if window.space is not Space.GLOBAL]
        moved = [
            Window(Space.GLOBAL, w.base + start, w.base + stop, w.base + start - to)
            for start, stop, to in moves
            for w in self.windows
            if w.space is Space.GLOBAL and w.start <= w.base + start < w.stop
        ]
        everything = Window(Space.GLOBAL, LINKED, LINKED + (1 << (self.tag_shift or 48)), LINKED)
        return replace(self, windows=(everything, *own, *moved))

    @property
    def is_linked(self) -> bool:
        """Whether it is that of one of several nets, see ``linked``."""
        return any(window.start == LINKED for window in self.windows)

    def locate(self, address: int) -> tuple[Space, int]:
        """Space and offset of a device address as DMA commands and the bmodel hold it."""
        for window in self.windows:
            if window.start <= address < window.stop:
                return window.space, address - window.base
        return Space.UNKNOWN, address

    def is_repeated(self, address: int) -> bool:
        """Whether the upper bits of a move's address select nothing; ``repeats`` has the bits that do."""
        return self.repeats is not None and self.repeats[0] <= address < self.repeats[1]

    def locate_move(self, address: int) -> tuple[Space, int]:
        """Space and offset of an address in a command of the DMA."""
        if self.repeats is not None and address < self.repeats[1]:
            address %= self.repeats[0]
        return self.locate(address)

    def locate_tiu(self, address: int) -> tuple[Space, int]:
        """Space and offset of a TIU register value: an offset in local memory, or a device address beyond it."""
        return (Space.LOCAL, address) if address < self.local_bytes else self.locate(address)

    @cached_property
    def named_by_offset(self) -> int:
        """Bytes of local memory that TIU commands name by their offsets."""
        return 0 if self.tiu_by_address else self.local_bytes

    def device_address(self, space: Space, offset: int) -> int:
        """The device address that selects ``offset`` in ``space``."""
        for window in self.windows:
            if window.space is space:
                return window.base + offset
        return offset

    def name(self, space: Space, offset: int) -> str:
        """Text of an address: ``R{bank}[.{offset in bank}][.L{lane}]``, else letter, tag and offset."""
        if space is Space.LOCAL:
            return self._local_name(offset)
        if space is Space.UNKNOWN:
            return f"?.{offset}"
        if not self.tag_shift or space is Space.STATIC:
            return f"{space.value}{offset}"
        address = self.device_address(space, offset)
        tag, number = address >> self.tag_shift & self.tag_mask, address & ((1 << self.tag_shift) - 1)
        # In a run of absolute addresses some are below those that tags reach.
        has_tag = self.tagged(space, tag, number) == offset
        return f"{space.value}{tag}.{self._number(number)}" if has_tag else f"{space.value}{offset}"

    def tagged(self, space: Space, tag: int, number: int) -> int | None:
        """The offset in DDR or L2 of what ``name`` prints as this tag and this number; None where no name is so."""
        window = next((window for window in self.windows if window.space is space), None)
        low = (1 << self.tag_shift) - 1
        if window is None or not self.tag_shift or tag > self.tag_mask or number > low:
            return None
        above = window.start & ~(self.tag_mask << self.tag_shift | low)
        return (above | tag << self.tag_shift | number) - window.base

    def _local_name(self, offset: int) -> str:
        lane, byte = divmod(offset, self.lane_bytes)
        bank, rest = divmod(byte, self.bank_bytes)
        text = f"R{bank}" + (f".{self._number(rest)}" if rest else "")
        return text + (f".L{self._number(lane)}" if lane else "")

    def _number(self, value: int) -> str:
        return hex(value) if self.hexadecimal else str(value)

    def cube(self, itemsize: int) -> int:
        """Input channels stored together in convolution weights: as the cube takes 8 or 16 bits, 1 for 32 bit."""
        return {1: self.cube_channels, 2: self.cube_halves or self.cube_channels // 2}.get(itemsize, 1)
