"""Messages between the debugger and the process that holds the vendor's library. Nothing in them is executed."""

from __future__ import annotations

from multiprocessing.connection import Connection

import msgspec
from msgspec import Struct

ENGINE_NUMBERS = {"tiu": 0, "dma": 1, "sdma": 3}
"""The library's numbers for the engines."""

LINE = 64
"""Bytes: changes are reported in whole lines, counted from the start of an area."""


class Area(Struct, frozen=True):
    """A piece of memory that both sides hold: ``size`` bytes at ``offset`` of the shared block.

    ``kind``: ``ddr``, ``l2``, ``local`` or ``static``; ``core``: whose; ``start``: where it is in the library's own
    memory of that kind, in bytes.
    """

    kind: str
    core: int
    offset: int
    size: int
    start: int = 0


class Emulator(Struct, frozen=True):
    """A library that executes one descriptor of one chip at once.

    ``functions``: symbols by engine; the other numbers are those of the chip, addresses and bytes.
    """

    version: int
    lanes: int
    lane_bytes: int
    bank_bytes: int
    unit_bytes: int
    shared_memory: int
    ddr: int
    functions: dict[str, str]


class Setup(Struct, tag=True, frozen=True):
    """First message: which library, and how it is to be set up.

    ``bases``: per core, tag -> value of its base register. ``block``: file descriptor and size of the shared block.
    ``emulator``: what it is, if it has no functions of a node.
    """

    library: str
    single_call: bool
    cores: int
    ddr_size: int
    bases: tuple[dict[int, int], ...]
    areas: tuple[Area, ...]
    block: tuple[int, int]
    emulator: Emulator | None = None


class Execute(Struct, tag=True, frozen=True):
    """Execute ``descriptors`` in order, each (engine, bytes), on ``core``; answered with ``Changed``."""

    core: int
    descriptors: tuple[tuple[str, bytes], ...]


class Refresh(Struct, tag=True, frozen=True):
    """Bring the library's memories up to the shared block; answered with ``Done``."""


class Take(Struct, tag=True, frozen=True):
    """Copy ranges from the library's memories to the shared block; answered with ``Done``."""

    ranges: tuple[tuple[int, int, int], ...]


class Changed(Struct, tag=True, frozen=True):
    """Ranges in which the library's memories differ from the block: (index of the area, start, stop) in bytes."""

    ranges: tuple[tuple[int, int, int], ...]


class Done(Struct, tag=True, frozen=True):
    """It is done."""


class Refused(Struct, tag=True, frozen=True):
    """It cannot be done; the process lives on."""

    why: str


Question = Setup | Execute | Refresh | Take
Answer = Changed | Done | Refused

_MOST = 256 << 20
"""Bytes of one message."""

_encode = msgspec.msgpack.Encoder().encode
_questions = msgspec.msgpack.Decoder(Question)
_answers = msgspec.msgpack.Decoder(Answer)


def send(connection: Connection, message: Question | Answer) -> None:
    """OSError if nobody is there."""
    connection.send_bytes(_encode(message))


def asked(connection: Connection) -> Question:
    """The next question; EOFError if the debugger is gone."""
    return _questions.decode(connection.recv_bytes(_MOST))


def answered(connection: Connection) -> Answer:
    """The next answer; EOFError if the process is gone, OSError if the reply is malformed."""
    try:
        return _answers.decode(connection.recv_bytes(_MOST))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise OSError(f"no message: {error}") from None
