"""Arrays in an npz file of which any part can be read, without the rest of them."""

from __future__ import annotations

import math
import struct
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from itertools import product
from typing import IO, Any

import numpy as np
from msgspec import Struct, field
from numpy.lib import format as npy

from tdb_dap.engine.hardware.dtypes import Array

_ENCRYPTED, _UTF8 = 1, 0x800
_LENGTHS = 26
"""Place in the header of a member, before its data, where the lengths of its name and of more are."""

_STORED_CHUNK = 1 << 18
"""Bytes that are read at once: what the nearest caches hold."""
_PACKED_CHUNK = 16 << 10
"""Packed bytes that are unpacked at once: never more than 16 MiB come out of them."""

_APART = 8 << 20
"""Bytes of a packed array after which its unpacking can begin again; each such point takes 50 kB."""

_BLOCK = 1 << 20
"""Bytes up to which an axis is read whole, though only a part of it is asked for."""

_HEADER = 64 << 10
"""Bytes that the header of an array has at most."""


class _Point(Struct, frozen=True):
    """A place where unpacking can begin: bytes unpacked before it, bytes read for them, and the state."""

    unpacked: int
    read: int
    state: Any


class Member(Struct):
    """One array. ``start``: of its packed bytes in the file; ``numbers``: of its numbers in the unpacked ones."""

    start: int
    packed: int
    size: int
    is_packed: bool
    shape: tuple[int, ...] = ()
    by_column: bool = False
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype("u1"))
    numbers: int = 0
    points: list[_Point] = field(default_factory=list)

    @classmethod
    def checked(cls, file: IO[bytes], info: zipfile.ZipInfo, defers: bool = False) -> Member:
        """The member, read once from its start to its end; ValueError for what is damaged, NotImplementedError else.

        ``defers``: of one that is not packed only the header is read; ``verify`` reads the rest.
        """
        kinds = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
        if info.compress_type not in kinds or info.flag_bits & _ENCRYPTED:
            raise NotImplementedError("neither stored nor deflated")
        file.seek(info.header_offset)
        if file.read(4) != b"PK\x03\x04":
            raise zipfile.BadZipFile("Bad magic number for file header")
        file.seek(info.header_offset + _LENGTHS)
        name, extra = struct.unpack("<HH", file.read(4))
        stored_name = file.read(name).decode("utf-8" if info.flag_bits & _UTF8 else "cp437")
        if stored_name != info.orig_filename:
            raise zipfile.BadZipFile(
                f"File name in directory {info.orig_filename!r} and header {stored_name!r} differ."
            )
        start = info.header_offset + _LENGTHS + 4 + name + extra
        is_packed = info.compress_type == zipfile.ZIP_DEFLATED
        member = cls(start, info.compress_size, info.file_size, is_packed)
        if defers and not is_packed:
            file.seek(start)
            begin = file.read(min(10, info.file_size))
            begin += file.read(min(_length(begin), info.file_size) - len(begin))
        else:
            begin = member.verify(file, info)
        member.shape, member.by_column, member.dtype, member.numbers = _parsed(begin[: _length(begin)])
        refuse_unfit(member.shape, member.dtype, info.file_size)
        refuse_less(member.nbytes, info.file_size - member.numbers)
        return member

    def verify(self, file: IO[bytes], info: zipfile.ZipInfo) -> bytes:
        """Read it from its start to its end; its first bytes. ValueError or BadZipFile for what is damaged."""
        begin, sum_, taken = bytearray(), 0, 0
        for part in self._unpacked(file, 0, keeps_points=True):
            sum_ = zlib.crc32(part, sum_)
            taken += len(part)
            if len(begin) < _HEADER:
                begin += part[: _HEADER - len(begin)]
        if taken != info.file_size:
            raise ValueError(f"its header announces {info.file_size:,} bytes and {taken:,} came")
        if sum_ != info.CRC:
            raise zipfile.BadZipFile(f"Bad CRC-32 for file {info.filename!r}")
        return bytes(begin)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    def whole(self, file: IO[bytes]) -> Array:
        """All of it."""
        array: Array = np.empty(self.shape, self.dtype, order="F" if self.by_column else "C")
        if array.nbytes:
            self._fill(file, array.reshape(-1, order="A").view(np.uint8), 0)
        return array

    def part(self, file: IO[bytes], shape: tuple[int, ...], index: tuple[slice, ...]) -> Array:
        """Of an array in rows, seen in another shape, the part within ``index``; ValueError if that does not fit."""
        if self.by_column or math.prod(shape) != math.prod(self.shape) or len(index) != len(shape):
            raise ValueError("another shape")
        bounds = [piece.indices(extent)[:2] for piece, extent in zip(index, shape, strict=True)]
        sizes = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]  # elements of one step of an axis
        # The first axis of which everything after it is read in one go.
        axis = next((i for i, size in enumerate(sizes) if size * self.dtype.itemsize <= _BLOCK), len(shape) - 1)
        (first, last), inner = bounds[axis], sizes[axis]
        array: Array = np.empty([max(0, stop - start) for start, stop in bounds], self.dtype)
        if all(bound == (0, extent) for bound, extent in zip(bounds[1:], shape[1:], strict=True)):
            if array.nbytes:
                self._fill(file, array.reshape(-1).view(np.uint8), bounds[0][0] * sizes[0] * self.dtype.itemsize)
            return array
        block: Array = np.empty((max(0, last - first), *shape[axis + 1 :]), self.dtype)
        within = (slice(None), *index[axis + 1 :])
        for outer in product(*(range(*bound) for bound in bounds[:axis])):
            before = sum(number * size for number, size in zip(outer, sizes[:axis], strict=True)) + first * inner
            if block.nbytes:
                self._fill(file, block.reshape(-1).view(np.uint8), before * self.dtype.itemsize)
            place = tuple(number - bound[0] for number, bound in zip(outer, bounds[:axis], strict=True))
            array[place] = block[within]
        return array

    def _fill(self, file: IO[bytes], target: Array, first: int) -> None:
        """Bytes of the numbers from ``first`` on."""
        if not self.is_packed:
            file.seek(self.start + self.numbers + first)
            refuse_less(target.size, file.readinto(target.data))  # type: ignore[attr-defined]
            return
        begin, taken = self.numbers + first, 0
        for part in self._unpacked(file, begin):
            piece = np.frombuffer(part, np.uint8)[: target.size - taken]
            target[taken : taken + piece.size] = piece
            taken += piece.size
            if taken == target.size:
                return
        refuse_less(target.size, taken)

    def _unpacked(self, file: IO[bytes], first: int, keeps_points: bool = False) -> Iterator[memoryview]:
        """The bytes from ``first`` on, some at a time; each time they are valid until the next ones are asked for."""
        if not self.is_packed:
            file.seek(self.start + first)
            left = self.size - first
            room = memoryview(bytearray(min(_STORED_CHUNK, left)))
            while left and (count := file.readinto(room[:left])):  # type: ignore[attr-defined]
                left -= count
                yield room[:count]
            return
        point = _Point(0, 0, zlib.decompressobj(-zlib.MAX_WBITS))
        if self.points and not keeps_points:
            position = bisect_right(self.points, first, key=lambda point: point.unpacked)
            point = self.points[position - 1] if position else point
        unpacked, read, state = point.unpacked, point.read, point.state.copy()
        last = unpacked
        file.seek(self.start + read)
        while read < self.packed and not state.eof and (packed := file.read(min(_PACKED_CHUNK, self.packed - read))):
            read += len(packed)
            part = memoryview(state.decompress(packed))
            skipped = min(len(part), max(0, first - unpacked))
            unpacked += len(part)
            if unpacked > self.size:
                raise ValueError(f"unpacks to more than {self.size:,} bytes")
            if keeps_points and unpacked - last >= _APART:
                last = unpacked
                self.points.append(_Point(unpacked, read, state.copy()))
            yield part[skipped:]


def _length(begin: bytes) -> int:
    """Bytes of the header of an array that begins so, at most."""
    return 10 + int.from_bytes(begin[8:10], "little") if begin[6:7] == b"\1" else _HEADER


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether it is by column, and format, from the start of an npy file; ValueError if it is none."""
    version = npy.read_magic(file)
    reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
    if reader is None:
        raise ValueError(f"version {version[0]}.{version[1]} of the format is not known")
    shape, by_column, dtype = reader(file)
    return shape, by_column, dtype


def refuse_unfit(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> None:
    """ValueError if more is announced than a member of ``size`` bytes can hold, or objects."""
    if dtype.hasobject:
        raise ValueError("holds Python objects, which are not read: they could be programs")
    if any(length < 0 for length in shape) or math.prod(shape) * max(1, dtype.itemsize) > size:
        raise ValueError(f"its header announces shape {_short(shape)} of {dtype}, and it has {size:,} bytes")


def refuse_less(wanted: int, taken: int) -> None:
    """ValueError if fewer bytes came than a header announces."""
    if taken < wanted:
        raise ValueError(f"its header announces {wanted:,} bytes and {taken:,} came")


@lru_cache(maxsize=256)
def _parsed(begin: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Shape, order and format, and the bytes of the header; of thousands of arrays most have one that is known."""
    file = BytesIO(begin)
    shape, by_column, dtype = read_header(file)
    return shape, by_column, dtype, file.tell()


def _short(shape: tuple[int, ...]) -> str:
    text = ", ".join(map(str, shape))
    return f"[{text if len(text) < 80 else text[:60] + ', ...'}]"
