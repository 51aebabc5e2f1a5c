"""Limits for files that others made; SECURITY.md says what each is for.

A limit is far above what compilers and users make, and is named in the error. What a file may unpack to grows with the
file itself: a few kilobytes never fill the memory.
"""

from __future__ import annotations

UNPACKED = 16 << 30
"""Bytes that one .xz or .npz file may unpack to, whatever its size."""

UNPACKED_FREELY = 256 << 20
"""Bytes that even the smallest may unpack to."""

UNPACKED_RATIO = 200
"""Beyond that: this number of bytes for one of the file. Weights and tensors pack to a half or a third."""

UNPACKING_MEMORY = 256 << 20
"""Bytes of working memory that an .xz file may ask for; the strongest setting of xz takes 65 MiB."""

ARRAYS = 1 << 20
"""Arrays in one .npz file."""

TEXT = 4 << 30
"""Bytes of a final.mlir or a tensor_location.json."""

REPORT = 256 << 20
"""Bytes of a report or list of files in JSON."""

DEVICE_MEMORY = 256 << 30
"""Bytes of DDR that a model may ask for, as boards have at most. Pages that nobody touches take no memory."""

REPEATED = 256 << 20
"""Bytes that an operand may be made of which are the same ones of the memory again and again (strides of 0)."""

DESCRIPTION_RATIO = 16
"""Bytes that reading the description of a model may visit, for one of its own: parts may be named more than once."""


EVENTS_FREELY = 1 << 20
"""Events that even the smallest recording may hold; beyond that one for each of its bytes. Runs have one for 25."""


def events(packed: int) -> int:
    """Events that a recording of this size may hold: each takes far more memory than its bytes."""
    return max(EVENTS_FREELY, packed)


def unpacked(packed: int) -> int:
    """Bytes that a file of this size may unpack to."""
    return min(UNPACKED, max(UNPACKED_FREELY, UNPACKED_RATIO * packed))


def readable(size: int) -> str:
    """``256 MiB``, ``3 GiB``."""
    return f"{size >> 30:,} GiB" if size >= 1 << 30 else f"{size >> 20:,} MiB"
