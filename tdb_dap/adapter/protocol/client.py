"""A debug adapter from the client's side: starts one as a child process, or connects to one that listens."""

from __future__ import annotations

import contextlib
import queue
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from typing import IO, Any

from tdb_dap.adapter.protocol.framing import ByteStream, Connection, LogHook, Malformed, Message
from tdb_dap.adapter.protocol.transports import SocketStream
from tdb_dap.errors import TdbError
from tdb_dap.system.child_processes import command, exit_text

ADAPTER = command("tdb_dap.adapter")
"""The command that starts our adapter."""


class RequestFailed(TdbError):
    """The adapter has refused a request; the message is the adapter's. ``body``: what else it said."""

    def __init__(self, command: str, response: Message) -> None:
        super().__init__(f"{command}: {response.get('message', 'no reason given')}")
        self.response = response


class ConnectionLost(TdbError):
    """The adapter is gone, or says nothing for too long."""


class _Pipes:
    """stdin and stdout of a child process as one stream."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdin is not None
        assert child.stdout is not None
        self._to: IO[bytes] = child.stdin
        self._from: IO[bytes] = child.stdout

    def read(self, size: int, /) -> bytes:
        read1 = getattr(self._from, "read1", self._from.read)
        return read1(size)

    def write(self, data: bytes, /) -> None:
        self._to.write(data)
        self._to.flush()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._to.close()


class _LastLine:
    """Reads a stream to its end and keeps its last line, so that the writer never waits."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._line = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def text(self) -> str:
        """The last line so far, of a stream that ends: the last of all."""
        self._thread.join(_PATIENCE)
        return self._line.decode("utf-8", "replace").strip()

    def _read(self) -> None:
        with self._stream:
            while line := self._stream.readline(_LONGEST_LINE):
                if line.strip():
                    self._line = line


_LONGEST_LINE = 1 << 12

_PATIENCE = 2.0
"""Seconds in which an adapter that has closed its connection ends, if it is to end."""


class Client:
    """A conversation with an adapter. ``timeout``: seconds to wait for any one message; None: as long as it takes."""

    def __init__(self, stream: ByteStream, timeout: float | None = 60, log: LogHook | None = None) -> None:
        self.timeout = timeout
        self.capabilities: dict[str, Any] = {}
        self._connection = Connection(stream, log)
        self._arrived: queue.Queue[Message | None] = queue.Queue()
        self._events: deque[Message] = deque()
        self._responses: dict[int, Message] = {}
        self._child: subprocess.Popen[bytes] | None = None
        self._errors: _LastLine | None = None
        self._seq = 0
        threading.Thread(target=self._read, daemon=True).start()

    @classmethod
    def spawn(
        cls,
        command: Sequence[str] = ADAPTER,
        timeout: float | None = 60,
        log: LogHook | None = None,
        quiet: bool = True,
        environment: Mapping[str, str] | None = None,
    ) -> Client:
        """Start an adapter; ``quiet``: what it prints to stderr is not shown; ``environment``: None for our own.

        It gets its own session, so that Ctrl-C in a terminal reaches only us. If it ends, ConnectionLost quotes the
        last line that it has printed quietly.
        """
        errors = subprocess.PIPE if quiet else None
        child = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
            start_new_session=True,
        )
        client = cls(_Pipes(child), timeout, log)
        client._child = child
        if child.stderr is not None:
            client._errors = _LastLine(child.stderr)
        return client

    @classmethod
    def connect(cls, host: str, port: int, timeout: float | None = 60, log: LogHook | None = None) -> Client:
        """Connect to an adapter that listens."""
        return cls(SocketStream(socket.create_connection((host, port), timeout=timeout)), timeout, log)

    def initialize(self, **traits: Any) -> dict[str, Any]:
        """Introduce ourselves; the adapter's capabilities."""
        self.capabilities = self.request("initialize", **{"adapterID": "tdb", **traits})
        return self.capabilities

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and wait for the answer's body; RequestFailed if it is refused."""
        return self.answer(self.send(command, **arguments))

    def send(self, command: str, **arguments: Any) -> int:
        """Send a request; its number, to wait for the answer with."""
        return self.send_message({"type": "request", "command": command, "arguments": arguments})

    def launch(self, **arguments: Any) -> int:
        """Send ``launch`` and wait until the adapter takes breakpoints; the number to wait for the answer with.

        RequestFailed if the adapter refuses: a refused launch is not followed by an event.
        """
        seq = self.send("launch", **arguments)
        while not any(message["event"] == "initialized" for message in self._events):
            if seq in self._responses:
                self.answer(seq)
            self._take()
        self.event("initialized")
        return seq

    def send_message(self, message: Message) -> int:
        """Send any message at all; its number."""
        self._seq += 1
        self._connection.send(message)
        return self._seq

    def answer(self, seq: int) -> dict[str, Any]:
        """Body of the answer to a request; RequestFailed if it was refused."""
        response = self.response(seq)
        if not response["success"]:
            raise RequestFailed(response["command"], response)
        return response.get("body") or {}

    def response(self, seq: int) -> Message:
        """The whole answer to a request."""
        while seq not in self._responses:
            self._take()
        return self._responses.pop(seq)

    def event(self, *names: str) -> Message:
        """The next event of one of these names; others are kept."""
        while True:
            for message in self._events:
                if message["event"] in names:
                    self._events.remove(message)
                    return message
            self._take()

    def event_unless_refused(self, request: int, *names: str) -> str:
        """The name of the next event of those, which is taken; empty if the request is refused before it comes."""
        while True:
            for message in self._events:
                if message["event"] in names:
                    self._events.remove(message)
                    return str(message["event"])
            if not self._responses.get(request, {"success": True})["success"]:
                return ""
            self._take()

    def events(self, name: str) -> list[dict[str, Any]]:
        """Bodies of the events of a name that have arrived so far."""
        matching = [message for message in self._events if message["event"] == name]
        for message in matching:
            self._events.remove(message)
        return [message.get("body") or {} for message in matching]

    def close(self) -> None:
        """Leave without a word; an adapter that we started comes to an end."""
        with contextlib.suppress(OSError):
            self._connection.close()
        if self._child is not None:
            try:
                self._child.wait(5)
            except subprocess.TimeoutExpired:
                self._child.kill()
                self._child.wait()

    def exit_code(self) -> int:
        """Exit code of the adapter that we started, when it has come to its end."""
        assert self._child is not None
        return self._child.wait(self.timeout)

    def _take(self) -> None:
        try:
            message = self._arrived.get(timeout=self.timeout)
        except queue.Empty:
            raise ConnectionLost(f"the adapter has not responded for {self.timeout:g} seconds") from None
        if message is None:
            self._arrived.put(None)
            raise ConnectionLost(f"the adapter has {self._end()}")
        if message.get("type") == "response":
            self._responses[message["request_seq"]] = message
        else:
            self._events.append(message)

    def _end(self) -> str:
        """The end of the connection in words: that of the adapter, or its choice."""
        if self._child is None:
            return "closed the connection"
        try:
            code = self._child.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return "closed the connection"
        last = self._errors.text() if self._errors is not None else ""
        return f"ended with {exit_text(code)}" + (f": {last}" if last else "")

    def _read(self) -> None:
        while True:
            message = self._connection.receive()
            if message is None:
                break
            if not isinstance(message, Malformed):
                self._arrived.put(message)
        self._arrived.put(None)
