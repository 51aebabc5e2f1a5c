"""Freed memory that the C library keeps; nothing changes where it is not glibc."""

from __future__ import annotations

import contextlib
import sys

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGE = 4 << 20
_MOST_FROM_SYSTEM = 32 << 20
"""Largest block that glibc can be told to take from memory that was freed before."""
_MOST_KEPT = 256 << 20


def return_large_blocks() -> None:
    """Take large blocks, such as a chip's memories, from the system and return them at once.

    Left to itself the library raises that limit with the first large block that is freed, and then keeps those of every
    thread that there has been; ``malloc_trim`` does not reach them.
    """
    _limit(_LARGE, _LARGE)


def keep_large_blocks() -> None:
    """Use freed memory again for arrays of some megabytes, up to 256 MB of it.

    To get new pages for each of them takes a quarter of the time of a check that computes expected values.
    """
    _limit(_MOST_FROM_SYSTEM, _MOST_KEPT)


def trim() -> None:
    """Return what the library keeps for each thread that there has been: tens of megabytes."""
    import ctypes

    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def _limit(mapped: int, kept: int) -> None:
    """Bytes of a block from which on it is mapped by itself, and of freed memory that is kept."""
    import ctypes

    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(None)
            library.mallopt(_M_MMAP_THRESHOLD, mapped)
            library.mallopt(_M_TRIM_THRESHOLD, kept)
