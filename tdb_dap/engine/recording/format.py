"""The numbers of a ``.tdbrec`` file: magic, chunks, events, the hash. docs/recording.md explains them."""

from __future__ import annotations

import struct
import sys
from enum import IntEnum, IntFlag
from functools import cache

import numpy as np
from numpy.typing import NDArray

MAGIC = b"\x89TDBREC\n"
VERSION = 1

FILE_HEADER = struct.Struct("<8sHHI")
"""Magic, version, two zeros."""

CHUNK_HEADER = struct.Struct("<4sIII")
"""Kind, bytes unpacked, bytes packed, CRC-32 of the packed bytes."""

EVENT_HEADER = struct.Struct("<BBHI")
"""Type, flags, core, bytes of the payload without its padding."""

ALIGNMENT = 8
"""Events begin at multiples of this, from the start of their chunk."""

HEAD, EVENTS, ATTACHED, DONE = b"HEAD", b"EVTS", b"FILE", b"DONE"

CHUNK = 1 << 20
"""Bytes of events that are packed together."""

COMMANDS, STREAMS = "commands", "streams"
"""``mode`` in HEAD: a run with the bytes that its commands read, or commands alone, nothing of what memories hold."""

NO_STAGE = 0xFFFFFFFF
"""A launch whose stage is not known."""

NO_COMMAND = 0xFFFFFFFF
"""A block that no command touched, or it is not known which."""

NO_MARK = 0xFFFFFFFF
"""A command that was queued before any call of the dynamic firmware, or by none."""

DEVICE_SHIFT = 4
"""The upper bits of an event's flags are the number of the device."""


_IS_LITTLE = sys.byteorder == "little"


class Event(IntEnum):
    """Type of an event."""

    REGION = 1
    COMMAND = 2
    QUIET = 3
    BLOCK = 4
    HASH = 5
    BASE = 6
    MARK = 7
    COPY_IN = 8
    COPY_OUT = 9
    LAUNCH_BEGIN = 10
    LAUNCH_END = 11
    MODEL = 12
    CPU_LAYER = 13
    REMARK = 14
    NAME = 15


class CopyFlag(IntFlag):
    """Flags of COPY_IN. ``CONTINUED``: more of the copy that the event before it is about."""

    DATA = 1
    SET = 2
    DEVICE = 4
    CONTINUED = 8


class CommandFlag(IntFlag):
    """Flags of COMMAND. ``ISSUED``: the firmware queued it itself; without, it comes from a command stream."""

    ISSUED = 1


class RegionFlag(IntFlag):
    """Flags of REGION. ``INSIDE``: a part of a region before it, whose blocks are recorded under that one."""

    INSIDE = 1


class BlockFlag(IntFlag):
    """Flags of BLOCK. ``FILLED``: in place of the content a u64 size and the u64 word that it is full of."""

    FILLED = 1


EVENT_DTYPE = np.dtype(
    [("type", np.uint8), ("flags", np.uint8), ("core", np.uint16), ("size", np.uint32), ("start", np.uint64)]
)
"""A row of ``Recording.events``. ``start``: of the payload, in ``Recording.data``."""


def padded(size: int) -> int:
    """Bytes that a payload takes."""
    return -(-size // ALIGNMENT) * ALIGNMENT


def event(kind: int, payload: bytes = b"", *, flags: int = 0, core: int = 0) -> bytes:
    """One event as it stands in the file."""
    return EVENT_HEADER.pack(kind, flags, core, len(payload)) + payload.ljust(padded(len(payload)), b"\0")


def starts_of(content: bytes | bytearray) -> NDArray[np.int64]:
    """The byte at which each event of a chunk begins; ValueError if the last one is cut off."""
    if len(content) % ALIGNMENT:
        raise ValueError
    words = memoryview(content if _IS_LITTLE else np.frombuffer(content, "<u4").astype("=u4").tobytes()).cast("I")
    starts, at, end = [], 0, len(words)
    while at < end:
        starts.append(at * 4)
        at += 2 + (words[at + 1] + 7 >> 3) * 2
    if at != end:
        raise ValueError
    return np.array(starts, np.int64)


def hash_of(data: NDArray[np.uint8] | bytes) -> int:
    """64-bit hash of bytes: the sum of words[i] * keys[i] mod 2^64; zeros fill the last word.

    keys[i] is splitmix64(i) | 1, so bytes of nothing but zeros have the hash 0.
    """
    raw = np.frombuffer(data, np.uint8)
    total = 0
    for start in range(0, raw.size, _PART):
        part = raw[start : start + _PART]
        if part.size % 8:
            part = np.concatenate([part, np.zeros(-part.size % 8, np.uint8)])
        words = part.view("<u8")
        total += int((words * _keys(start // 8, words.size)).sum(dtype=np.uint64))
    return total % (1 << 64)


_PART = 1 << 20
"""Bytes that are hashed at once."""


def _keys(first: int, count: int) -> NDArray[np.uint64]:
    """splitmix64 of numbers from ``first`` on, made odd."""
    return _first_keys()[:count] if first == 0 else _made_keys(first, count)


@cache
def _first_keys() -> NDArray[np.uint64]:
    """The keys that nearly every hash needs."""
    return _made_keys(0, _PART // 8)


def _made_keys(first: int, count: int) -> NDArray[np.uint64]:
    z = (np.arange(first, first + count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (z ^ (z >> np.uint64(31))) | np.uint64(1)
