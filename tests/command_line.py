"""The command line: in this process where words, texts and exit codes are the point, or in one of its own."""

from __future__ import annotations

import io
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

from tdb_dap.adapter.protocol.client import ADAPTER, Client
from tdb_dap.adapter.protocol.transports import SocketStream
from tdb_dap.adapter.server import serve
from tdb_dap.cli.main import main


def tdb_dap(*words: object, typed: str = "") -> subprocess.CompletedProcess[str]:
    """``tdb-dap`` with these words, in this process; ``typed``: what it reads from a pipe."""
    given = [str(word) for word in words]
    streams = [_stream(typed.encode()), _stream(), _stream()]
    own = patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2])
    adapter = patch.object(Client, "spawn", _Nearby.spawn)
    with own, adapter, patch.dict(os.environ):  # a process keeps what it sets to itself
        code = main(given)
    for stream in streams:
        stream.flush()
    printed, said = (stream.buffer.getvalue().decode() for stream in streams[1:])  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(given, code, printed, said)


def new_process(*words: object, typed: str = "") -> subprocess.CompletedProcess[str]:
    """``tdb-dap`` with these words as the shell starts it."""
    command = [sys.executable, "-m", "tdb_dap", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, input=typed)


class _Nearby(Client):
    """A conversation with an adapter on a thread of this process."""

    _serving: threading.Thread

    @classmethod
    def spawn(cls, command: Sequence[str] = ADAPTER, timeout: float | None = 60, *_: Any, **__: Any) -> _Nearby:
        near, far = socket.socketpair()
        serving = threading.Thread(target=serve, args=(SocketStream(far),), daemon=True)
        serving.start()
        client = cls(SocketStream(near), timeout)
        client._serving = serving
        return client

    def close(self) -> None:
        super().close()
        self._serving.join(30)
        assert not self._serving.is_alive()


def _stream(content: bytes = b"") -> io.TextIOWrapper:
    """A standard stream of a process: not of a terminal, and in UTF-8."""
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="\n")
