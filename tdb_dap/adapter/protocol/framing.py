"""Framing: ``Content-Length: N``, an empty line, N bytes of JSON, in both directions.

A peer that breaks the framing gets one complaint, and reading goes on at the next header that can be recognised. Not so
for a stranger, who may be a browser that a web page has post to a port: its first error is the end.
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol

import msgspec
from msgspec import Struct

Message = dict[str, Any]
LogHook = Callable[[str, Message], None]

LARGEST_MESSAGE = 64 << 20
"""Bytes; no request of the protocol comes near, so a longer one is a broken peer and is not waited for."""

LARGEST_FROM_STRANGERS = 64 << 10
"""Bytes of a message from a client that has yet to give the token."""

_LARGEST_HEADER = 8 << 10
_OPENING = b"content-"
_HEADER = re.compile(rb"(?:content-(?:length|type):[^\r\n]*\r?\n)+\r?\n", re.IGNORECASE)
_HEADER_END = re.compile(rb"\r?\n\r?\n")
_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,18})[ \t]*\r?\n", re.IGNORECASE)


class ByteStream(Protocol):
    """Interface that a connection needs of a file, socket or pipe."""

    def read(self, size: int, /) -> bytes | None:
        """Up to ``size`` bytes, as soon as there are any; empty at the end."""
        ...

    def write(self, data: bytes, /) -> None:
        """All of ``data``."""
        ...

    def close(self) -> None: ...


class Malformed(Struct, frozen=True):
    """Something arrived that is not a message."""

    problem: str
    """What is wrong with it, for the person who wrote the client."""
    foreign: bool = False
    """The peer has never spoken the protocol and should get no answer."""


class Connection:
    """One peer. ``receive`` belongs to one reader thread; ``send`` may be called from any thread.

    ``is_stranger``: the peer has yet to give the token. Its messages are small, and nothing is read after an error.
    """

    def __init__(self, stream: ByteStream, log: LogHook | None = None) -> None:
        self._stream = stream
        self._log = log
        self._buffer = bytearray()
        self._write_lock = threading.Lock()
        self._seq = 0
        self._in_sync = True
        self._is_foreign = True
        self._is_over = False
        self.is_stranger = False

    def send(self, message: Message) -> None:
        """Number the message and write it; a peer that has gone away is not an error."""
        with self._write_lock:
            self._seq += 1
            message = {"seq": self._seq, **message}
            body = _encoded(message)
            if self._log:
                self._log("out", message)
            try:
                self._stream.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
            except (OSError, ValueError):
                return

    def receive(self) -> Message | Malformed | None:
        """The next message; None at the end of the stream, and after the error of a stranger."""
        if self._is_over:
            return None
        length = self._read_header()
        if not isinstance(length, int):
            return length
        while len(self._buffer) < length:
            if not self._fill(length - len(self._buffer)):
                return None
        body = bytes(self._buffer[:length])
        del self._buffer[:length]
        try:
            message: object = json.loads(body)
        except (ValueError, RecursionError) as error:
            return self._malformed(f"the body of a message is not JSON: {error}")
        if not isinstance(message, dict):
            return self._malformed(f"a message must be a JSON object, not {type(message).__name__}")
        self._is_foreign = False
        if self._log:
            self._log("in", message)
        return message

    def close(self) -> None:
        self._stream.close()

    def _fill(self, wanted: int = 1 << 16) -> bool:
        try:
            data = self._stream.read(max(1, min(wanted, 1 << 20)))
        except (OSError, ValueError):
            return False
        if data:
            self._buffer += data
        return bool(data)

    def _read_header(self) -> int | Malformed | None:
        """Length of the next body."""
        if not self._in_sync:
            return self._resynchronise()
        while not (end := _HEADER_END.search(self._buffer)):
            if self.is_stranger and not _OPENING.startswith(bytes(self._buffer[: len(_OPENING)]).lower()):
                return self._lost("no message begins like this")
            if len(self._buffer) > _LARGEST_HEADER:
                return self._lost("a message header has no end")
            if not self._fill():
                return None
        if end.end() > _LARGEST_HEADER:
            del self._buffer[: end.end()]
            return self._lost("a message header is too long")
        header = bytes(self._buffer[: end.end()])
        del self._buffer[: end.end()]
        if self.is_stranger and not _HEADER.fullmatch(header):
            return self._lost("this is no message header")
        length = _LENGTH.search(header)
        if length is None:
            return self._lost("a message header has no usable Content-Length")
        largest = LARGEST_FROM_STRANGERS if self.is_stranger else LARGEST_MESSAGE
        if int(length[1]) > largest:
            return self._lost(f"a message of {int(length[1]):,} bytes; the limit is {largest:,}")
        return int(length[1])

    def _lost(self, problem: str) -> Malformed:
        self._in_sync = False
        return self._malformed(problem)

    def _malformed(self, problem: str) -> Malformed:
        self._is_over = self.is_stranger
        return Malformed(problem, self.is_stranger and self._is_foreign)

    def _resynchronise(self) -> int | Malformed | None:
        """Skip to the next header: JSON holds no raw line ends, so the pattern cannot be part of a body."""
        while not (length := _LENGTH.search(self._buffer)):
            del self._buffer[:-64]
            if not self._fill():
                return None
        del self._buffer[: length.start()]
        self._in_sync = True
        return self._read_header()


def _encoded(message: Message) -> bytes:
    """JSON, with null for NaN and infinity, which it does not have."""
    try:
        return msgspec.json.encode(message)
    except (TypeError, ValueError, OverflowError):  # half a surrogate pair, an integer of more than 64 bits
        text = json.dumps(_finite(message), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        return text.encode("utf-8", "backslashreplace")  # the half as JSON writes it


def _finite(value: Any) -> Any:
    """The same with null for NaN and infinity, which JSON does not have."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value
