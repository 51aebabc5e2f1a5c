"""Starting the adapter: on standard input and output, or listening on a port."""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from tdb_dap.adapter.streams import SocketStream, StandardStreams

if TYPE_CHECKING:
    from tdb_dap.adapter.wire import ByteStream, Message

AREAS = (
    "lifecycle",
    "launch",
    "sources",
    "breakpoints",
    "stepping",
    "stack",
    "variables",
    "memory",
    "tensors",
    "modules",
    "run_verbs",
    "breakpoint_verbs",
    "explain_verbs",
    "look_verbs",
    "memory_window",
    "model_requests",
    "completions",
    "evaluate",
    "exceptions",
    "disassembly",
    "travel",
    "data_breakpoints",
    "edits",
    "origins",
    "timeline",
    "time_verbs",
    "check_verbs",
    "session_verbs",
    "sanitizing",
    "sanitize_verb",
)
"""Modules that declare requests, and verbs of the console; `help` lists those in this order."""


def serve_standard_streams(streams: StandardStreams, log: Path | None) -> int:
    """One session with the process that started us."""

    def abandon() -> None:
        os._exit(0)  # the session thread is busy and the client has gone: nothing is left to be saved

    _serve(streams, None, _open_log(log), abandon)
    return 0


def listen(host: str, port: int, token: str | None, log: Path | None) -> int:
    """Sessions on a port, until interrupted. Without a token only this machine can connect."""
    log_file = _open_log(log)
    with socket.create_server((host, port)) as server:
        print(f"listening on {host}:{server.getsockname()[1]}", flush=True)
        while True:
            try:
                connected, _ = server.accept()
            except KeyboardInterrupt:
                return 0
            session = (SocketStream(connected), token, log_file)
            threading.Thread(target=_serve_and_forget, args=session, daemon=True, name="tdb-dap session").start()


def _serve_and_forget(stream: ByteStream, token: str | None, log: TextIO | None) -> None:
    """One of many sessions: its memories, whole chips of them, are given back at once and not when Python likes."""
    _serve(stream, token, log, _nothing)
    gc.collect()
    _trim()


def _trim() -> None:
    """Have the C library give back what it keeps for each thread that there has been: tens of megabytes."""
    import ctypes

    if sys.platform == "linux":
        with contextlib.suppress(
            OSError, AttributeError
        ):  # other C libraries keep nothing, or have another name for it
            ctypes.CDLL(None).malloc_trim(0)


def _nothing() -> None:
    """A session on a port that does not come to an end keeps its thread; others are not concerned."""


def _serve(stream: ByteStream, token: str | None, log: TextIO | None, abandon: Callable[[], None]) -> None:
    from tdb_dap.adapter.session import Session
    from tdb_dap.adapter.wire import Connection

    for area in AREAS:
        importlib.import_module(f"tdb_dap.adapter.{area}")
    connection = Connection(stream, (lambda way, message: _write_log(log, way, message)) if log else None)
    session = Session(connection, token, abandon)
    session.serve()
    connection.close()


def _open_log(path: Path | None) -> TextIO | None:
    return path.open("a", encoding="utf-8") if path else None


def _write_log(log: TextIO, way: str, message: Message) -> None:
    """One JSON line per message; a token is not written."""
    arguments = message.get("arguments")
    if isinstance(arguments, dict):
        hidden = {name: "***" for name in ("token", "backendToken") if name in arguments}
        message = {**message, "arguments": {**arguments, **hidden}}
    log.write(json.dumps({"dir": way, "time": time.time(), "message": message}) + "\n")
    log.flush()
