"""An adapter that listens on a port, in a separate process."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from tdb_dap.adapter.protocol.client import Client
from tests.conftest import Toy


class Listening:
    """``tdb-dap adapter --listen``; ``token``: the one that it has made and printed, or that it was given."""

    def __init__(
        self, *options: str, token: str | None = None, env: Mapping[str, str] | None = None, starter: Sequence[str] = ()
    ) -> None:
        """``starter``: a command that starts the adapter, whose command line is added."""
        command = [*starter, sys.executable, "-m", "tdb_dap.adapter", "--listen", "127.0.0.1:0", *options]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        first = self._line(r"listening on 127\.0\.0\.1:(\d+)\n")
        self.port = int(first)
        self.token = self._line(r"token (\S+)\n") if token is None else token

    def _line(self, pattern: str) -> str:
        assert self.process.stdout is not None
        match = re.fullmatch(pattern, self.process.stdout.readline())
        assert match, f"the adapter does not say {pattern}"
        return match[1]

    def connect(self) -> socket.socket:
        """A raw connection."""
        return socket.create_connection(("127.0.0.1", self.port), 30)

    def client(self) -> Client:
        """A connection that speaks the protocol and has said nothing yet."""
        return Client.connect("127.0.0.1", self.port, timeout=30)

    def attached(self, toy: Toy, **more: Any) -> Client:
        """A client in a session that has stopped on entry."""
        client = self.client()
        self.begin(client, toy, **more)
        assert client.event("stopped")["body"]["reason"] == "entry"
        return client

    def begin(self, client: Client, toy: Toy, command: str = "attach", **more: object) -> None:
        """Everything up to the answered attach or launch."""
        client.initialize()
        attach = client.send(
            command, **{"program": str(toy.directory), "inputs": str(toy.inputs), "token": self.token, **more}
        )
        client.event("initialized")
        client.request("configurationDone")
        client.answer(attach)

    def close(self) -> str:
        """End it; what it has written to stderr."""
        self.process.kill()
        return self.process.communicate(timeout=30)[1]
