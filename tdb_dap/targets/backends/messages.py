"""What the debugger and the process that holds the vendor's library say to each other. Plain data, no dependencies."""

from __future__ import annotations

from dataclasses import dataclass

ENGINE_NUMBERS = {"tiu": 0, "dma": 1}
"""The library's numbers for the engines."""

LINE = 64
"""Bytes: changes are reported in whole lines, counted from the start of an area."""


@dataclass(frozen=True)
class Area:
    """A piece of memory that both sides hold: ``size`` bytes at ``offset`` of the shared block.

    ``kind``: ``ddr``, ``l2``, ``local`` or ``static``; ``core``: whose; ``start``: where it lies in the library's own
    memory of that kind, in bytes.
    """

    kind: str
    core: int
    offset: int
    size: int
    start: int = 0


@dataclass(frozen=True)
class Setup:
    """First message: which library, and how it is to be set up.

    ``bases``: per core, tag -> value of its base register. ``block``: file descriptor and size of the shared block.
    """

    library: str
    single_call: bool
    cores: int
    ddr_size: int
    bases: tuple[dict[int, int], ...]
    areas: tuple[Area, ...]
    block: tuple[int, int]


@dataclass(frozen=True)
class Execute:
    """Execute ``descriptors`` in order, each (engine, bytes), on ``core``; answered with ``Changed``."""

    core: int
    descriptors: tuple[tuple[str, bytes], ...]


@dataclass(frozen=True)
class Refresh:
    """Bring the library's memories up to the shared block; answered with ``Done``."""


@dataclass(frozen=True)
class Take:
    """Copy ranges from the library's memories to the shared block; answered with ``Done``."""

    ranges: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Changed:
    """Where the library's memories differ from the shared block: (index of the area, start, stop) in bytes."""

    ranges: tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Done:
    """It is done."""


@dataclass(frozen=True)
class Refused:
    """It cannot be done; the process lives on."""

    why: str
