"""A session in a web worker: messages come and go as JSON texts, without a thread, a port or a process."""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable

from tdb_dap.adapter.areas import load
from tdb_dap.adapter.protocol.framing import Connection
from tdb_dap.adapter.session.dispatcher import Dispatcher
from tdb_dap.adapter.session.session import Session

_INTERVAL = 0.05
"""Seconds of a run between two looks for messages."""


class WorkerSession:
    """One session of the adapter.

    ``post``: sends a message to the client. ``let_arrive``: called during a run; while it waits, the worker may call
    ``feed``. Without it, a request that arrives during a run is answered after the next stop.
    """

    def __init__(self, post: Callable[[str], None], let_arrive: Callable[[], None] | None = None) -> None:
        importlib.import_module("tdb_dap.adapter.greeting")
        self._stream = _Messages(post)
        self._let_arrive = let_arrive
        self._next_look = 0.0
        self._is_answering = False
        session = Session(Connection(self._stream), None, lambda: None)
        session.between_commands.append(self._look)  # before the dispatcher's: it answers what has arrived
        self._dispatcher = Dispatcher(session, load)

    def feed(self, message: str) -> bool:
        """Take a message and answer all that wait; False when the session is over.

        During a run the message is only taken: the run answers it between two commands.
        """
        self._stream.feed(message)
        self._dispatcher.take()
        if self._is_answering:
            return True
        self._is_answering = True
        try:
            return self._dispatcher.answer()
        finally:
            self._is_answering = False

    def _look(self) -> None:
        if self._let_arrive is not None and time.monotonic() >= self._next_look:
            self._let_arrive()
            self._next_look = time.monotonic() + _INTERVAL


class _Messages:
    """A byte stream made of messages: each one that is fed, or written, is complete."""

    def __init__(self, post: Callable[[str], None]) -> None:
        self._post = post
        self._fed = bytearray()

    def feed(self, message: str) -> None:
        body = message.encode("utf-8", "backslashreplace")
        self._fed += b"Content-Length: %d\r\n\r\n%b" % (len(body), body)

    def read(self, size: int, /) -> bytes:
        data = bytes(self._fed[:size])
        del self._fed[:size]
        return data

    def write(self, data: bytes, /) -> None:
        self._post(data.partition(b"\r\n\r\n")[2].decode())

    def close(self) -> None:
        self._fed.clear()
