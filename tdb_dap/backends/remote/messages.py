"""Messages between the debugger and a remote backend, each a MessagePack map; nothing in them is executed.

The client asks, the server answers each request in turn; only ``Working`` may come in between.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

VERSION = 2
"""Of all that is said, counted up when any of it changes."""

Offset = Annotated[int, Meta(ge=0, lt=1 << 62)]
Core = Annotated[int, Meta(ge=0, lt=256)]


class Message(Struct, tag=True, frozen=True, forbid_unknown_fields=True):
    """Base of all messages; its kind is the name of its class."""


class Part(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """``size`` bytes of a space (its letter) from ``start`` on."""

    space: str
    core: Core
    start: Offset
    size: Offset


class Filled(Struct, frozen=True, array_like=True, forbid_unknown_fields=True):
    """Contents of a range that repeats one byte."""

    space: str
    core: Core
    start: Offset
    data: bytes


class Hello(Message, frozen=True):
    """The server's first word. ``nonce``: for this connection only."""

    version: int
    nonce: bytes


class Proof(Message, frozen=True):
    """The client's answer. ``proof``: see ``handshake``; the token itself is never sent."""

    version: int
    nonce: bytes
    proof: bytes


class Welcome(Message, frozen=True):
    """The server knows the token as well."""

    proof: bytes


class Open(Message, frozen=True):
    """Make memories for a program; answered with ``Opened`` or ``Refused``."""

    chip: str
    cores: Annotated[int, Meta(ge=1, le=256)]
    ddr: Annotated[list[Part], Meta(max_length=1 << 16)]


class Opened(Message, frozen=True):
    """``backend``: what executes the commands; ``compares``: whether it reports divergences."""

    backend: str
    compares: bool


class Write(Message, frozen=True):
    """Put bytes into the memories; answered with ``Done``."""

    contents: list[Filled]


class Read(Message, frozen=True):
    """Answered with ``Changed``: what is at these places."""

    parts: list[Part]


class Execute(Message, frozen=True):
    """Carry out one command; answered with ``Changed`` or ``Refused``.

    ``setup``: register writes that are in force.
    """

    engine: str
    core: Core
    descriptor: bytes
    setup: Annotated[list[bytes], Meta(max_length=1 << 12)]


class Reset(Message, frozen=True):
    """Begin again; the memories keep what they hold. Answered with ``Done``."""


class Give(Message, frozen=True):
    """The next bytes of a file for a run that is to be recorded; answered with ``Done``.

    ``file``: a model, the compiler's text and places of it, or the stored words of all inputs one after another.
    """

    file: Literal["model", "source", "locations", "inputs"]
    data: bytes


class Record(Message, frozen=True):
    """Run one net of the given model on the vendor's runtime; answered with ``Recorded`` or ``Refused``."""

    net: str
    stage: Annotated[int, Meta(ge=0, lt=1 << 16)]


class Recorded(Message, frozen=True):
    """A part of the recording. ``more``: another of these follows."""

    data: bytes
    more: bool


class Done(Message, frozen=True):
    """It is done."""


class Working(Message, frozen=True):
    """A sign of life while a command takes long."""


class Changed(Message, frozen=True):
    """Contents of ranges now. ``more``: another of these follows; ``divergence``: in words, in the last one."""

    contents: list[Filled]
    more: bool
    divergence: str | None = None


class Refused(Message, frozen=True):
    """It cannot be done. ``kind``: not simulated, bad access, bad input, lost, token or busy."""

    kind: str
    why: str


Request = Open | Write | Read | Execute | Reset | Give | Record
Answer = Opened | Done | Working | Changed | Recorded | Refused
Greeting = Hello | Proof | Welcome | Refused

encode = msgspec.msgpack.Encoder().encode
requests = msgspec.msgpack.Decoder(Request)
answers = msgspec.msgpack.Decoder(Answer)
greetings = msgspec.msgpack.Decoder(Greeting)
