"""LZ4 blocks, as compressed sections hold them (https://github.com/lz4/lz4/blob/dev/doc/lz4_Block_format.md)."""

from __future__ import annotations

_LEAST_MATCH = 4


def unpack_block(packed: bytes, size: int) -> bytes:
    """The ``size`` bytes that a block holds; ValueError if it is damaged or holds another number of bytes."""
    out = bytearray()
    at = 0
    while at < len(packed):
        token = packed[at]
        count, at = _length(packed, at + 1, token >> 4)
        if at + count > len(packed) or len(out) + count > size:
            raise ValueError(f"{count:,} literal bytes at {at:,} do not fit")
        out += packed[at : at + count]
        at += count
        if at == len(packed):
            break
        distance = int.from_bytes(packed[at : at + 2], "little")
        count, at = _length(packed, at + 2, token & 15)
        count += _LEAST_MATCH
        if not 0 < distance <= len(out) or len(out) + count > size:
            raise ValueError(f"a match of {count:,} bytes at {at:,} does not fit")
        _repeat(out, distance, count)
    if len(out) != size:
        raise ValueError(f"it holds {len(out):,} bytes instead of {size:,}")
    return bytes(out)


def _length(packed: bytes, at: int, first: int) -> tuple[int, int]:
    """A length that goes on in bytes of 255, and the position after it."""
    if first == 15:
        while at < len(packed):
            first += packed[at]
            at += 1
            if packed[at - 1] != 255:
                break
        else:
            raise ValueError("it ends within a length")
    return first, at


def _repeat(out: bytearray, distance: int, count: int) -> None:
    """Append ``count`` bytes from ``distance`` before the end on, those appended here included."""
    while count:
        part = min(distance, count)
        out += out[-distance : len(out) - distance + part]
        count -= part
