"""The far side of a remote backend: the real server in a separate process, and servers that misbehave on purpose."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tdb_dap.backends.remote.channel import Broken, Channel
from tdb_dap.backends.remote.handshake import TOKEN_VARIABLE, NotAdmitted, admit
from tdb_dap.backends.remote.messages import Open, Opened, requests

os.environ.setdefault(TOKEN_VARIABLE, "of the tests")  # a server asks for a token, always; clients look here, too

Script = Callable[[Channel, socket.socket], None]


class Server:
    """``tdb-dap backends serve`` in a separate process; ``name``: the backend as clients call it."""

    def __init__(self, *options: str, token: str | None = None) -> None:
        environment = {**os.environ, **({TOKEN_VARIABLE: token} if token else {})}
        command = [sys.executable, "-m", "tdb_dap", "backends", "serve", "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().split()[-1]
        self.name = f"remote:{self.address}"

    def connect(self) -> socket.socket:
        host, port = self.address.split(":")
        return socket.create_connection((host, int(port)), 10)

    def until_it_says(self, words: str) -> str:
        """Wait for a line about a client; everything up to it."""
        assert self.process.stderr is not None
        said = ""
        while words not in said:
            line = self.process.stderr.readline()
            assert line, f"the server has ended without a word of {words!r}: {said}"
            said += line
        return said

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> str:
        """End it; what it has said about its clients."""
        self.process.kill()
        return self.process.communicate(timeout=10)[1]


@contextmanager
def far_side(script: Script) -> Iterator[str]:
    """A server that follows a script with its first client; the name of the backend that it is."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def follow() -> None:
            with contextlib.suppress(OSError, Broken, NotAdmitted):
                connected, _ = listening.accept()
                with connected:
                    script(Channel(connected), connected)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        yield f"remote:127.0.0.1:{listening.getsockname()[1]}"
        thread.join(10)


def greet(channel: Channel, token: str | None = None) -> None:
    """Do what a server does until the client's program is open."""
    admit(channel, token)
    assert isinstance(channel.receive(requests, 10), Open)
    channel.send(Opened("numpy", False), 10)


def token_file(directory: Path, token: str) -> Path:
    path = directory / "token"
    path.write_text(token + "\n")
    return path
