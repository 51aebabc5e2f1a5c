"""The memories of one chip: DDR segments, L2, and local and static memory per core.

DDR exists only where tensors live: weights are a private mapping of the bmodel file (pages are copied when
written), the rest are zero pages that the system gives out when they are touched.
"""

from __future__ import annotations

import mmap
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tdb_dap.engine.files import limits
from tdb_dap.engine.hardware import int4
from tdb_dap.engine.hardware.byte_ranges import element_offsets, has_overlaps
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.views import Layout, Template, View, template
from tdb_dap.engine.rendering.printable import counted
from tdb_dap.errors import BadAccess

Bytes = NDArray[np.uint8]

_BLOCK = 1 << 20
_ELEMENTS_AT_ONCE = 1 << 20
"""Elements whose places are worked out at a time: they take many times their own bytes."""
_MOST_NAMED = 4

_BY_STEPS = (Layout.STRIDE, Layout.STRIDE_XN, Layout.DMA_STRIDE)
"""Layouts whose steps are in the command, so that elements may be over each other."""

_MANY = 8
"""Regions of DDR from which on they are not looked through one by one."""
_OWN_PAGES = 1 << 18
"""Bytes from which on memory has separate pages, which can be given back. From 4 MiB on NumPy asks for huge ones."""


class Region(Struct, frozen=True):
    """Part of a space that exists: ``start`` offset in the space, its bytes, and what it is for.

    ``is_filled``: whether it holds anything but zeros before the first command. ``activations``: first byte and number
    of bytes of the net's activations, where they are among other things. ``adjoins_next``: whether the next region, in
    the order of addresses, begins on the board where this one ends: a read may go on into it, a write is refused.
    """

    start: int
    data: Bytes
    title: str
    is_filled: bool = False
    activations: tuple[int, int] | None = None
    adjoins_next: bool = False

    @property
    def stop(self) -> int:
        return self.start + self.data.size


def blank(regions: Iterable[Region]) -> list[Region]:
    """Regions like these that hold zeros."""
    return [replace(region, data=zeros(region.data.size)) for region in regions]


def adjoining(regions: Iterable[Region]) -> list[tuple[Region, ...]]:
    """Regions, by address, in groups of those that adjoin each other."""
    groups: list[tuple[Region, ...]] = []
    for region in sorted(regions, key=lambda r: r.start):
        if groups and groups[-1][-1].adjoins_next:
            groups[-1] += (region,)
        else:
            groups.append((region,))
    return groups


def zeros(size: int, is_dense: bool = False) -> Bytes:
    """Pages that the system gives out when they are touched, as small as it has them.

    A small model touches little of each lane, and clearing the huge pages that NumPy asks for takes longer than its
    run. ``is_dense``: most of it will be touched; then huge pages take an eighth of the time of small ones.
    """
    if sys.platform == "win32" or size < _OWN_PAGES:
        return np.zeros(size, np.uint8)
    try:
        pages = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if is_dense and hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # a system without huge pages
                pages.madvise(mmap.MADV_HUGEPAGE)
        return np.frombuffer(pages, np.uint8)
    except OSError as error:
        raise MemoryError from error


def give_back(data: Bytes) -> None:
    """Let the system have the pages of memory that ``zeros`` has made and nobody reads any more.

    Where it takes them the bytes are zeros afterwards, else they stay.
    """
    pages = data.base.obj if isinstance(data.base, memoryview) else None
    if sys.platform == "linux" and isinstance(pages, mmap.mmap):
        pages.madvise(mmap.MADV_DONTNEED)


def used_pages(data: Bytes, page: int) -> list[int]:
    """First bytes of the pieces of ``page`` bytes that hold anything but zeros."""
    starts = np.arange(0, data.size, page)
    # Several times as fast as any(), and most pages of most memories are zeros.
    pages: list[int] = starts[np.maximum.reduceat(data, starts) != 0].tolist() if data.size else []
    return pages


class Memory:
    """Byte-addressed memories. Arrays handed out are views of the live memory.

    A backend that keeps a copy of the memories elsewhere does not see what is written into such an array; what goes
    through ``Machine`` it does. ``allocate``: makes zeroed memory of a number of bytes for all but DDR.
    """

    def __init__(
        self, geometry: Geometry, cores: int, ddr: Iterable[Region], allocate: Callable[[int], Bytes] = zeros
    ) -> None:
        self.geometry = geometry
        self.cores = cores
        self._ddr = tuple(sorted(ddr, key=lambda r: r.start))
        self._ddr_starts = [region.start for region in self._ddr]
        self._adjoining = [group for group in adjoining(self._ddr) if len(group) > 1]
        self._pointers: dict[int, int] = {}
        self._l2 = Region(0, allocate(geometry.l2_bytes), "L2")
        self._local = [Region(0, allocate(geometry.local_bytes), "local memory") for _ in range(cores)]
        self._static = [Region(0, allocate(geometry.static_bytes), "static memory") for _ in range(cores)]

    def reset(self, ddr: Iterable[Region]) -> None:
        """Everything back to zero, DDR to the contents of ``ddr`` (the regions given at the start, made anew)."""
        for old, fresh in zip(self._ddr, sorted(ddr, key=lambda r: r.start), strict=True):
            _restore(old.data, fresh.data)
        for region in (self._l2, *self._local, *self._static):
            for start in used_pages(region.data, _BLOCK):
                region.data[start : start + _BLOCK] = 0

    def regions(self, space: Space, core: int = 0) -> tuple[Region, ...]:
        """The regions of a space that exist, by address."""
        if space is Space.GLOBAL:
            return self._ddr
        if space is Space.L2:
            return (self._l2,)
        if not 0 <= core < self.cores:
            raise BadAccess(f"core {core} does not exist: this program runs on {counted(self.cores, 'core')}")
        return (self._local[core],) if space is Space.LOCAL else (self._static[core],)

    def region(self, space: Space, start: int, stop: int, core: int = 0) -> Region:
        """The region that holds all of [start, stop); BadAccess if there is none."""
        if space is Space.GLOBAL and len(self._ddr) > _MANY:  # those of a language model are hundreds
            near = self._ddr[max(0, bisect_right(self._ddr_starts, start) - 1)]
            if near.start <= start and stop <= near.stop:
                return near
        if space is not Space.UNKNOWN:
            for region in self.regions(space, core):
                if region.start <= start and stop <= region.stop:
                    return region
        there = self.regions(space, core) if space is not Space.UNKNOWN else ()
        named = sorted(there, key=lambda r: max(r.start - start, start - r.stop))[:_MOST_NAMED]
        raise BadAccess(
            f"{space.title} has no bytes {start:,} to {stop - 1:,}"
            + "".join(
                f"; it holds {r.start:,} to {r.stop - 1:,} ({r.title})" for r in there if any(r is one for one in named)
            )
            + (f"; and {len(there) - len(named)} more parts" if len(there) > len(named) else "")
        )

    def _to_read(self, space: Space, start: int, stop: int, core: int) -> Region:
        """As ``region``; of bytes that regions hold which adjoin each other a copy."""
        try:
            return self.region(space, start, stop, core)
        except BadAccess:
            for group in self._adjoining if space is Space.GLOBAL else ():
                first, size = group[0], sum(region.data.size for region in group)
                if first.start <= start < first.stop and stop <= first.start + size:
                    skipped = start - first.start
                    rest = np.concatenate([first.data[skipped:], *(r.data[: stop - first.stop] for r in group[1:])])
                    return Region(start, rest[: stop - start], " and ".join(region.title for region in group))
            raise

    def local(self, core: int = 0) -> Bytes:
        """Local memory of a core, uint8 of shape (lanes, bytes per lane)."""
        return self._local[core].data.reshape(self.geometry.lanes, self.geometry.lane_bytes)

    def static(self, core: int = 0) -> Bytes:
        """Static memory of a core, uint8."""
        return self._static[core].data

    def l2(self) -> Bytes:
        """L2, uint8."""
        return self._l2.data

    def global_(self, address: int, size: int) -> Bytes:
        """``size`` bytes of DDR from the device address ``address`` (absolute, as in the bmodel)."""
        space, offset = self.geometry.locate(address)
        if space is not Space.GLOBAL:
            raise BadAccess(f"address {address:#x} is not in DDR")
        region = self.region(space, offset, offset + size)
        return region.data[offset - region.start : offset - region.start + size]

    def neuron(self) -> Bytes:
        """The net's activation region of DDR, uint8, from its start."""
        for region in self._ddr:
            if region.title == "activations":
                return region.data
            if region.activations is not None:
                first, size = region.activations
                return region.data[first : first + size]
        raise BadAccess("the model has no activation region in DDR")

    def bytes_at(self, space: Space, start: int, size: int, core: int = 0) -> Bytes:
        """The live bytes [start, start + size) of a space; BadAccess outside of what exists."""
        region = self.region(space, start, start + size, core)
        return region.data[start - region.start : start - region.start + size]

    def pointer(self, space: Space, start: int, stop: int, core: int = 0) -> int:
        """The address in this process that byte 0 of a space would have, if [start, stop) were part of all its bytes.

        BadAccess outside of what exists. Valid as long as the memory.
        """
        if space is Space.LOCAL and 0 <= core < self.cores:
            region = self._local[core]
            if start < 0 or stop > region.data.size:
                region = self.region(space, start, stop, core)
        else:
            region = self.region(space, start, stop, core)
        pointer = self._pointers.get(id(region))
        if pointer is None:
            pointer = self._pointers[id(region)] = region.data.__array_interface__["data"][0] - region.start
        return pointer

    def read_bytes(self, space: Space, start: int, size: int, core: int = 0) -> bytes:
        """Bytes [start, start + size) of a space; BadAccess outside of what exists."""
        region = self._to_read(space, start, start + size, core)
        return region.data[start - region.start : start - region.start + size].tobytes()

    def write_bytes(self, space: Space, start: int, data: bytes, core: int = 0) -> None:
        """Overwrite bytes from ``start``; BadAccess outside of what exists."""
        self.bytes_at(space, start, len(data), core)[...] = np.frombuffer(data, np.uint8)

    def pieces(self, view: View) -> list[tuple[tuple[slice, ...], Array]]:
        """(index into the logical array, strided array over the live memory) for each segment of ``view``."""
        shared, shift = template(view)
        return self._pieces(view, shared, shift)

    def _whole(self, view: View, to_read: bool = False) -> tuple[Template, int, Array | None]:
        """The template of a view, by how many bytes it is moved, and the whole view over the live memory.

        None where that is not one strided array. ``to_read``: it is not written to, and may be a copy.
        """
        shared, shift = template(view)
        only = shared.single
        if only is None or shared.size > limits.REPEATED:
            return shared, shift, None
        start, stop = shared.start + shift, shared.stop + shift
        if view.space is Space.LOCAL and 0 <= view.core < self.cores and start >= 0:
            region = self._local[view.core]
            if stop > region.data.size:
                region = self.region(view.space, start, stop, view.core)
        else:
            find = self._to_read if to_read else self.region
            region = find(view.space, start, stop, view.core)
        offset = start - region.start
        return shared, shift, np.ndarray(only.shape, view.dtype.bits_dtype, region.data, offset, only.strides)

    def _pieces(
        self, view: View, shared: Template, shift: int, to_read: bool = False
    ) -> list[tuple[tuple[slice, ...], Array]]:
        dtype = view.dtype.bits_dtype
        itemsize = view.dtype.itemsize
        pieces: list[tuple[tuple[slice, ...], Array]] = []
        if shared.size > limits.REPEATED and shared.size > 2 * shared.covered:
            raise BadAccess(
                f"%{view.name}: {shared.size:,} bytes that repeat fewer of the memory; "
                f"more than {limits.readable(limits.REPEATED)}"
            )
        local = self._local[view.core] if view.space is Space.LOCAL and 0 <= view.core < self.cores else None
        holds_all = local is not None and shared.start + shift >= 0 and shared.stop + shift <= local.data.size
        for segment in shared.segments:
            if segment.length < 0:
                continue
            offset = segment.offset + shift
            if local is not None and holds_all:
                region = local
            else:
                find = self._to_read if to_read else self.region
                region = find(view.space, offset, offset + segment.length + itemsize, view.core)
            piece: Array = np.ndarray(segment.shape, dtype, region.data, offset - region.start, segment.strides)
            pieces.append((segment.index, piece))
        return pieces

    def window(self, view: View, to_read: bool = False) -> Array | None:
        """Stored words in the logical shape, over the live memory; None where they are not in equal steps.

        ``to_read``: it is not written to, and may be a copy.
        """
        if view.dtype.per_byte > 1 or view.layout is Layout.STREAM:
            return None
        shared, shift, index = self._whole(view, to_read)
        if index is not None:
            return index
        pieces = self._pieces(view, shared, shift, to_read)
        return pieces[0][1] if len(pieces) == 1 and pieces[0][1].shape == view.shape else None

    def peek(self, view: View) -> Array:
        """As ``read``, not to be written to: the live memory itself where the words are in equal steps, else a copy."""
        if view.layout is Layout.STREAM:
            return self._stream(view)
        words = self.window(view, to_read=True) if view.lane_mask is None else None
        if words is None or not words.flags.aligned:  # an address that is no multiple of the word's size
            return self.read(view)
        words.flags.writeable = False
        return words

    def _stream(self, view: View) -> Array:
        """Bytes whose number is in themselves: at most as many as the view says, zeros where the memory ends before.

        Not to be written to: the live memory itself unless it ends before.
        """
        region = self.region(view.space, view.address, view.address + 1, view.core)
        start = view.address - region.start
        stored = region.data[start : start + view.size]
        result: Array = stored.view() if stored.size == view.size else np.zeros(view.shape, np.uint8)
        if stored.size < view.size:
            result[: stored.size] = stored
        result.flags.writeable = False
        return result

    def _bytes(self, view: View, start: int, stop: int) -> Bytes:
        return self.bytes_at(view.space, start, stop - start, view.core)

    def read(self, view: View) -> Array:
        """Stored words of ``view`` in its logical shape (a copy). Masked-out lanes read as zero."""
        if view.dtype.per_byte > 1:
            return int4.read(view, lambda start, stop: self._bytes(view, start, stop))
        if view.layout is Layout.STREAM:
            return self._stream(view).copy()
        shared, shift, words = self._whole(view, to_read=True)
        if words is not None:
            return words.copy()
        pieces = self._pieces(view, shared, shift, to_read=True)
        if len(pieces) == 1 and pieces[0][1].size == view.size:
            return pieces[0][1].copy().reshape(view.shape)
        make = np.empty if view.lane_mask is None else np.zeros
        result: Array = make(view.shape, view.dtype.bits_dtype)
        for index, piece in pieces:
            part = result[index]
            part[...] = piece.reshape(part.shape)
        return result

    def write(self, view: View, bits: Array) -> None:
        """Store words of the logical shape; masked-out lanes keep what they hold."""
        if view.dtype.per_byte > 1:
            int4.write(view, bits, lambda start, stop: self._bytes(view, start, stop))
            return
        if view.layout in _BY_STEPS and has_overlaps(view):
            self._write_in_order(view, bits)
            return
        shared, shift, elements = self._whole(view)
        if elements is not None:
            elements[...] = bits.reshape(elements.shape)
            return
        pieces = self._pieces(view, shared, shift)
        if len(pieces) > 1 and not bits.flags.writeable:
            bits = bits.copy()  # it may be part of this memory: later pieces are not to see earlier ones
        for index, piece in pieces:
            piece[...] = bits[index].reshape(piece.shape)

    def _write_in_order(self, view: View, bits: Array) -> None:
        """Store words some of which share bytes: the last one in the order of n, c, h, w stays."""
        shared, shift = template(view)
        data = self._bytes(view, shared.start + shift, shared.stop + shift)
        starts, words = element_offsets(view).reshape(-1), np.ascontiguousarray(bits).reshape(-1)
        for first in range(0, starts.size, _ELEMENTS_AT_ONCE):
            part = slice(first, first + _ELEMENTS_AT_ONCE)
            is_there = starts[part] >= 0  # or in a lane that is left out
            places = starts[part][is_there, None] - shared.start - shift + np.arange(view.dtype.itemsize)
            data[places] = words[part][is_there].view(np.uint8).reshape(places.shape)


def _restore(old: Bytes, fresh: Bytes) -> None:
    """Make ``old`` equal to ``fresh``; pages that are equal are not written, so that untouched ones stay untouched."""
    for start in range(0, old.size, _BLOCK):
        block = slice(start, start + _BLOCK)
        if not np.array_equal(old[block], fresh[block]):
            old[block] = fresh[block]
