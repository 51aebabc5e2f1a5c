"""Checksums of whole memories, most of whose bytes no model touches."""

from __future__ import annotations

import zlib
from functools import cache

from tdb_dap.engine.hardware.memory import Bytes

_PAGE = 1 << 15


def crc32(data: Bytes, start: int = 0) -> int:
    """``zlib.crc32`` of an array of bytes without gaps; pages of zeros cost a look at them and a step of the sum."""
    flat = data.reshape(-1)
    assert data.flags.c_contiguous
    whole = flat.size - flat.size % _PAGE
    total = start
    for number, is_used in enumerate(flat[:whole].reshape(-1, _PAGE).max(axis=1).tolist()):
        first = number * _PAGE
        total = zlib.crc32(flat[first : first + _PAGE].data, total) if is_used else _after_zeros(total)
    return zlib.crc32(flat[whole:].data, total)


def _after_zeros(total: int) -> int:
    """The checksum when a page of zeros follows: linear in its bits but for a constant."""
    constant, (first, second, third, fourth) = _tables()
    return constant ^ first[total & 255] ^ second[total >> 8 & 255] ^ third[total >> 16 & 255] ^ fourth[total >> 24]


@cache
def _tables() -> tuple[int, list[list[int]]]:
    """What a page of zeros adds, and what it makes of each of the four bytes of a checksum."""
    zeros = bytes(_PAGE)
    constant = zlib.crc32(zeros)
    return constant, [[zlib.crc32(zeros, byte << shift) ^ constant for byte in range(256)] for shift in (0, 8, 16, 24)]
