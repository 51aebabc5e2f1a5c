"""The tables of a bmodel's description: the slots of the fields that are read or written, their forms and defaults.

The other fields of the vendor's schema are missing here. A span is a start and a size in bytes, relative to the payload
block that follows the description in the file.
"""

from __future__ import annotations

import struct

I32, U64, F32 = (struct.Struct(form) for form in ("<i", "<Q", "<f"))
SPAN = struct.Struct("<QQ")


class Model:
    """The root."""

    TYPE, VERSION, TIME, CHIP, NETS = range(5)
    KERNEL_MODULE = 6


class KernelModule:
    BINARY, MODE = 1, 2


class Net:
    """``STAGES``: one per compiled set of shapes. ``ADDRESS_MODE``: 0 basic, 1 io_alone, 2 io_tag, 3 io_tag_fuse."""

    NAME = 0
    STAGES = 3
    ADDRESS_MODE = 5


class Stage:
    """``COMMAND_TIMES``: the compiler's estimates as text."""

    INPUTS, OUTPUTS, CONTEXT_ADDRESS, CONTEXT_SIZE, WEIGHTS = range(5)
    SUBNETS = 12
    COMMAND_TIMES, CORE_COUNT, IO_ADDRESS, IO_SIZE = range(15, 19)


class Weights:
    """``HASH``: SHA-256 of the bytes. ``LOCATIONS``: the places of those that a program may exchange."""

    ADDRESS, HASH, BINARY, LOCATIONS = range(4)


class Location:
    NAME, OFFSET, SIZE = range(3)


class Subnet:
    """``MODE``: 0 TPU, 1 CPU, 2 merge, 3 switch. ``ID``: -1 if left out. Either ``GROUPS`` or ``CORES``."""

    MODE, GROUPS, HOST_OPERATIONS, INPUTS, OUTPUTS, IS_DYNAMIC = range(6)
    ID, NEXT_IDS, MERGE = range(10, 13)
    CORES = 14


class HostOperation:
    NUMBER, PARAMETERS = range(2)


class Merge:
    OUTPUTS_FROM = 0


class OutputFrom:
    INDICES = 0


class Group:
    """Command streams of both engines; ``…_BYTES``: their sizes, padding included."""

    TIU_COUNT, DMA_COUNT, TIU, DMA, TIU_BYTES, DMA_BYTES = range(6)


class Core:
    """Lists of command groups, and of spans for the other engines."""

    GROUPS, SYSTEM_DMA, HAU, CHIP_TO_CHIP = range(4)


class Tensor:
    """``MEMORY_MODE``: 0 1N, 1 2N, 2 4N (BM1684). ``SHAPES``: the first is read. ``SCALE``: 1.0 if left out."""

    NAME, DTYPE, MEMORY_MODE, ADDRESS, SIZE, SHAPES = range(6)
    SCALE = 7
    ZERO_POINT = 10


class Shape:
    EXTENTS = 0
