"""Messages on a socket: four bytes of length, the highest first, then that number of bytes."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import msgspec
import numpy as np

from tdb_dap.backends.remote.messages import Filled, Message, encode
from tdb_dap.engine.device.device import Content
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.rendering.printable import visible

LONGEST = 64 << 20
"""Bytes of a message. What is longer is not read: it is nonsense, or not meant for us."""

LONGEST_GREETING = 4096
CHUNK = 16 << 20
"""Bytes of memory in one message, more or less."""

_LENGTH = struct.Struct(">I")
_TICK = 0.05
_LONGEST_REASON = 200
_OVERHEAD = 32

T = TypeVar("T")


class Broken(Exception):
    """The connection cannot be used any more; the text says what happened."""


class Channel:
    """Sends and receives messages; Broken where that cannot be done. One thread at a time sends, one receives."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connected.settimeout(_TICK)
        self.sent = 0
        self.received = 0

    def send(self, message: Message, silence: float | None) -> None:
        """``silence``: seconds without a byte taken after which the other side counts as lost; None: any time."""
        data = encode(message)
        if len(data) > LONGEST:
            raise Broken(f"a message of {len(data):,} bytes is too long to be sent")
        rest = memoryview(_LENGTH.pack(len(data)) + data)
        self.sent += len(rest)
        last = time.monotonic()
        while rest:
            try:
                count = self._socket.send(rest)
            except TimeoutError:
                self._check(last, silence)
                continue
            except OSError as error:
                raise Broken(error.strerror or str(error)) from None
            rest, last = rest[count:], time.monotonic()

    def receive(
        self,
        decoder: msgspec.msgpack.Decoder[T],
        silence: float | None,
        longest: int = LONGEST,
        waiting: Callable[[], None] = lambda: None,
    ) -> T:
        """The next message. ``waiting``: called every now and then until its first byte is there; may raise."""
        (length,) = _LENGTH.unpack(self._bytes(_LENGTH.size, silence, waiting))
        if length > longest:
            raise Broken(f"a message of {length:,} bytes was announced; at most {longest:,} are taken")
        data = self._bytes(length, silence)
        self.received += _LENGTH.size + length
        try:
            return decoder.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            why = " ".join(visible(str(error)).split())  # it may quote what came
            raise Broken(f"what came is no message: {why[:_LONGEST_REASON]}") from None

    def _bytes(self, count: int, silence: float | None, waiting: Callable[[], None] = lambda: None) -> bytes:
        """So many bytes; memory for them is taken as they come."""
        data = bytearray()
        last = time.monotonic()
        while len(data) < count:
            try:
                part = self._socket.recv(min(count - len(data), 1 << 20))
            except TimeoutError:
                self._check(last, silence)
                if not data:
                    waiting()
                continue
            except OSError as error:
                raise Broken(error.strerror or str(error)) from None
            if not part:
                raise Broken("the connection was closed" + (" in the middle of a message" if data else ""))
            data += part
            last = time.monotonic()
        return bytes(data)

    def _check(self, last: float, silence: float | None) -> None:
        if silence is not None and time.monotonic() - last > silence:
            raise Broken(f"nothing was heard for {silence:g} seconds")

    def close(self) -> None:
        """End the connection."""
        self._socket.close()


def chunks(contents: Sequence[Content]) -> Iterator[list[Filled]]:
    """Contents as they are sent, as many at a time as a message takes; at least one, which may be empty."""
    batch: list[Filled] = []
    room = CHUNK
    for content in contents:
        for first in range(0, content.data.size, CHUNK):
            data = content.data[first : first + CHUNK]
            if batch and data.size + _OVERHEAD > room:
                yield batch
                batch, room = [], CHUNK
            batch.append(Filled(content.space.value, content.core, content.start + first, data.tobytes()))
            room -= data.size + _OVERHEAD
    yield batch


def contents_of(filled: Sequence[Filled]) -> list[Content]:
    """Decode contents that were sent. ValueError for a space that does not exist."""
    return [Content(Space(f.space), f.core, f.start, np.frombuffer(f.data, np.uint8)) for f in filled]
