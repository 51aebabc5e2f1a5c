"""Starting the adapter: on standard input and output, or listening on a port."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tdb_dap.adapter.areas import load
from tdb_dap.adapter.protocol.transports import SocketStream, StandardStreams
from tdb_dap.errors import BadInput
from tdb_dap.system.allocator import return_large_blocks, trim
from tdb_dap.system.ports import AGENT_TOKEN, AttachServer, Visitor

if TYPE_CHECKING:
    import socket

    from tdb_dap.adapter.protocol.framing import ByteStream, Message


def serve_standard_streams(streams: StandardStreams, log: TextIO | None) -> int:
    """One session with the process that started us."""

    def abandon() -> None:
        os._exit(0)  # the session thread is busy and the client has gone: nothing is left to be saved

    serve(streams, None, log, abandon)
    return 0


def listen(listening: socket.socket, token: str, log: TextIO | None) -> None:
    """Sessions on a port, until interrupted, for clients that give the token."""

    def session(connected: socket.socket, visitor: Visitor) -> None:
        """One of many: its memories, whole chips of them, are given back at once and not when Python likes."""
        try:
            serve(SocketStream(connected), token, log, _nothing, visitor)
        finally:
            gc.collect()
            trim()

    return_large_blocks()
    load()  # before anybody is let in: a module whose file cannot be opened for lack of descriptors stays half loaded
    importlib.import_module("tdb_dap.tools.opening")
    gc.freeze()  # what is loaded stays: no search through it for each stranger that leaves
    AttachServer().serve(listening, session)


def _nothing() -> None:
    """A session on a port that does not come to an end keeps its thread; others are not concerned."""


def serve(
    stream: ByteStream,
    token: str | None = None,
    log: TextIO | None = None,
    abandon: Callable[[], None] = _nothing,
    visitor: Visitor | None = None,
) -> None:
    """One session over a stream, on this thread, until the client has left.

    ``token``: what the client must bring, or None. ``log``: gets every message. ``abandon``: called where the client
    has left and the session does not end.
    """
    from tdb_dap.adapter.protocol.framing import Connection
    from tdb_dap.adapter.session.dispatcher import Dispatcher
    from tdb_dap.adapter.session.session import Session

    importlib.import_module("tdb_dap.adapter.greeting")
    connection = Connection(stream, (lambda way, message: _write_log(log, way, message)) if log else None)
    session = Session(connection, token, abandon, visitor)
    try:
        Dispatcher(session, load).serve()
    finally:
        connection.close()


def open_log(path: Path | None) -> TextIO | None:
    """The file that messages are appended to; BadInput if it cannot be opened."""
    try:
        return path.open("a", encoding="utf-8") if path else None
    except OSError as error:
        raise BadInput(f"--log {path}: {error.strerror or error}") from None


def _write_log(log: TextIO, way: str, message: Message) -> None:
    """One JSON line per message; tokens are not written. A log that cannot be written any more is closed."""
    if log.closed:
        return
    for part in ("arguments", "body"):
        if isinstance(message.get(part), Mapping):
            message = {**message, part: _hidden(message[part])}
    line = json.dumps({"dir": way, "time": time.time(), "message": message})
    try:
        log.write(_INVITATION.sub(r"\1***", line) + "\n")
        log.flush()
    except ValueError:
        return  # another thread has closed it
    except OSError as error:
        print(f"tdb-dap: error: --log: {error.strerror or error}; nothing more is logged", file=sys.stderr, flush=True)
        with contextlib.suppress(OSError):
            log.close()


_INVITATION = re.compile(rf"({AGENT_TOKEN}=)[\w-]+")
"""The token in the command that the console's ``invite`` prints."""


def _hidden(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a request without tokens; those of a restart hold a launch configuration, and so on."""
    return {
        name: "***" if name in ("token", "backendToken") else _hidden(value) if isinstance(value, Mapping) else value
        for name, value in arguments.items()
    }
