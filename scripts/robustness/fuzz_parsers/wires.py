"""Targets: what comes over a connection."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable
from typing import Any

from scripts.robustness.fuzz_parsers.target import for_a_moment, lines, target
from scripts.robustness.fuzz_parsers.words import BREAKPOINTS, EXPRESSIONS
from tdb_dap.adapter.areas import AREAS, load
from tdb_dap.adapter.protocol.framing import Connection, Malformed
from tdb_dap.adapter.protocol.types import *  # noqa: F403  the handlers look their types up by name
from tdb_dap.adapter.session.dispatcher import Dispatcher
from tdb_dap.adapter.session.handlers import HANDLERS
from tdb_dap.adapter.session.session import Session
from tdb_dap.backends.remote import connection as far
from tdb_dap.backends.remote import messages as remote
from tdb_dap.backends.remote.channel import Broken, Channel
from tdb_dap.backends.remote.client import RemoteDevice
from tdb_dap.backends.remote.handshake import NotAdmitted, admit, enter
from tdb_dap.backends.remote.server import Offer, _Client
from tdb_dap.engine.hardware.geometry import Space
from tests.samples import SAMPLE

import importlib  # isort: skip

for _area in AREAS:
    importlib.import_module(f"tdb_dap.adapter.{_area}")


class Bytes:
    """A stream that holds these bytes and takes whatever is written."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.written = bytearray()

    def read(self, size: int, /) -> bytes:
        part, self._data = self._data[:size], self._data[size:]
        return part

    def write(self, data: bytes, /) -> None:
        self.written += data

    def close(self) -> None: ...


def framed(message: object) -> bytes:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


_FRAMES = ("Content-Length: ", "\\x0d\\x0a\\x0d\\x0a", "99999999999", "-1", "{}", "null", "\\xff\\xfe")


@target("framing", lambda: [framed({"seq": 1}) * 2, b"GET / HTTP/1.1\r\n\r\n" + framed({})], words=_FRAMES)
def framing(data: bytes) -> None:
    """Headers and bodies of the Debug Adapter Protocol."""
    connection = Connection(Bytes(data))
    for _ in range(len(data) + 2):
        message = connection.receive()
        if message is None:
            return
        assert isinstance(message, Malformed | dict)
    raise AssertionError("there are more messages than bytes")


class Talk:
    """A client that has launched the sample, says what it is given, and waits until all of it is answered."""

    _LAST = "the last request"

    def __init__(self, messages: list[bytes]) -> None:
        requests: list[dict[str, Any]] = [
            {"command": "initialize", "arguments": {"adapterID": "x", "supportsProgressReporting": True}},
            {
                "command": "launch",
                "arguments": {"program": str(SAMPLE), "inputs": str(SAMPLE / "input.npz"), "stopOnExit": True},
            },
            {"command": "configurationDone"},
        ]
        numbered = [{"seq": seq, "type": "request", **request} for seq, request in enumerate(requests, 1)]
        last = {"seq": 1 << 40, "type": "request", "command": self._LAST}
        self._data = b"".join([*map(framed, numbered), *map(framed, messages), framed(last)])
        self.said = bytearray()
        self._answered = threading.Event()

    def read(self, size: int, /) -> bytes:
        if not self._data:
            self._answered.wait()
        part, self._data = self._data[:size], self._data[size:]
        return part

    def write(self, data: bytes, /) -> None:
        self.said += data
        if self._LAST.encode() in data and b'"request_seq":%d' % (1 << 40) in data:
            self._answered.set()

    def close(self) -> None:
        self._answered.set()


def talk(messages: list[bytes]) -> None:
    """A whole session; AssertionError if anything in it was our fault."""
    stream = Talk(messages)
    Dispatcher(Session(Connection(stream), None, stream.close), load).serve()
    stream.close()
    at = stream.said.find(b"internal error")
    assert at < 0, stream.said[at : at + 300].decode("utf-8", "replace")
    assert len(stream.said) < 32 << 20, f"{len(stream.said):,} bytes were said"


def requests() -> Iterable[bytes]:
    """Some of everything that a client may ask."""
    frame = {"frameId": 1}
    told = [
        ("threads", {}),
        ("stackTrace", {"threadId": 1}),
        ("scopes", frame),
        ("variables", {"variablesReference": 1001, "start": 0, "count": 3}),
        ("next", {"threadId": 1, "granularity": "instruction"}),
        ("stepBack", {"threadId": 1}),
        ("setBreakpoints", {"source": {"path": str(SAMPLE / "final.mlir")}, "breakpoints": [{"line": 12}]}),
        ("setFunctionBreakpoints", {"breakpoints": [{"name": "tpu.Pool2D", "condition": "1", "hitCondition": "2"}]}),
        ("continue", {"threadId": 1}),
        ("evaluate", {"expression": "in[0]", "context": "repl", **frame}),
        ("disassemble", {"memoryReference": "0x10000000000", "instructionCount": 4, "offset": -16}),
        ("readMemory", {"memoryReference": "0x1000000000000", "count": 16, "offset": 4}),
        ("writeMemory", {"memoryReference": "R0", "data": "AAAA"}),
        ("dataBreakpointInfo", {"name": "in[0]", **frame}),
        ("setVariable", {"variablesReference": 1001, "name": "x", "value": "1"}),
        ("completions", {"text": "p in", "column": 5, **frame}),
        ("source", {"sourceReference": 1}),
        ("gotoTargets", {"source": {"path": str(SAMPLE / "final.mlir")}, "line": 20}),
    ]
    known = {name for name, _ in told}
    others = sorted(name for name in HANDLERS if name not in known and name not in ("launch", "attach"))
    for some in (told[:9], told[9:], [(name, {"expression": "in[0]"}) for name in others if name.startswith("tdb")]):
        yield "\n".join(json.dumps({"command": name, "arguments": arguments}) for name, arguments in some).encode()


_NAMES = tuple(
    f'"{name}"' for name in ("frameId", "arguments", "command", "threadId", "variablesReference", "granularity")
)


@target("session", requests, words=(*(f'"{name}"' for name in sorted(HANDLERS)), *_NAMES), longest=3000)
def session(data: bytes) -> None:
    """Requests of any kind with any arguments, one a line; what is no object is sent unchanged."""
    messages: list[bytes] = []
    for seq, line in enumerate(lines(data)[:24], 10):
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            messages.append(line.encode())
            continue
        if isinstance(message, dict):
            message = {"seq": seq, "type": "request", **message}
        messages.append(json.dumps(message).encode())
    talk(messages)


def console_lines() -> Iterable[bytes]:
    from tdb_dap.adapter.console.verbs import verbs

    every = [name for verb in verbs() for name in verb.names]
    yield "\n".join(f"b {text}" for text in BREAKPOINTS[:12]).encode()
    yield "\n".join(f"p {text}" for text in EXPRESSIONS[:8]).encode()
    for first in range(0, len(every), 16):
        yield "\n".join(every[first : first + 16]).encode()
        yield "\n".join(f"{name} in[0]" for name in every[first : first + 16]).encode()


@target(
    "console", console_lines, words=("in[0]", "R0", " : ", "tpu.*", "B12", "info ", "%16", "= 1", " if "), longest=600
)
def console(data: bytes) -> None:
    """Lines of the console."""
    talk(
        [
            json.dumps(
                {
                    "seq": seq,
                    "type": "request",
                    "command": "evaluate",
                    "arguments": {"expression": line, "context": "repl"},
                }
            ).encode()
            for seq, line in enumerate(lines(data)[:16], 10)
        ]
    )


class Socket:
    """A socket from which these bytes come."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def recv(self, size: int) -> bytes:
        part, self._data = self._data[:size], self._data[size:]
        return part

    def send(self, data: bytes) -> int:
        return len(data)

    def setsockopt(self, *_: object) -> None: ...

    def settimeout(self, _: float) -> None: ...

    def close(self) -> None: ...


def channel(data: bytes) -> Channel:
    return Channel(Socket(data))  # type: ignore[arg-type]


def packed(*sent: remote.Message) -> bytes:
    """Messages as they are on the wire."""
    return b"".join(len(data).to_bytes(4, "big") + data for data in map(remote.encode, sent))


def client_says() -> Iterable[bytes]:
    opened = remote.Open("BM1684X", 1, [remote.Part("G", 0, 0, 4096)])
    place = remote.Part("G", 0, 0, 64)
    yield packed(opened, remote.Read([place]), remote.Write([remote.Filled("G", 0, 0, bytes(64))]), remote.Reset())
    yield packed(opened, remote.Execute("tiu", 0, bytes(128), []))
    yield packed(remote.Proof(1, bytes(32), bytes(32)))


@target("remote server", client_says, errors=(Broken, NotAdmitted, ValueError))
def remote_server(data: bytes) -> None:
    """What a client, admitted or not, sends to a backend that is offered."""
    try:
        admit(channel(data), "token")
    except NotAdmitted as error:
        assert str(error)
    wire = channel(data)
    client = _Client(wire, Offer("numpy", None, memory=256 << 20))
    with for_a_moment():
        while True:
            for _ in client._answers(wire.receive(remote.requests, None)):
                pass


def server_says() -> Iterable[bytes]:
    changed = remote.Changed([remote.Filled("G", 0, 0, bytes(64))], more=False)
    yield packed(changed, remote.Working(), changed, remote.Done())
    yield packed(remote.Refused("lost", "x"), remote.Opened("numpy", False))
    yield packed(remote.Done(), remote.Recorded(b"x", more=True), remote.Recorded(b"", more=False))
    yield packed(remote.Hello(remote.VERSION, bytes(32)), remote.Welcome(bytes(32)))


@target("remote client", server_says, errors=(NotAdmitted,))
def remote_client(data: bytes) -> None:
    """What a backend elsewhere answers."""
    from tdb_dap.engine.device.device import Content
    from tdb_dap.engine.device.page_sync import Extent

    try:
        enter(channel(data), "token")
    except NotAdmitted as error:
        assert str(error)
    device = RemoteDevice("127.0.0.1", 1)
    device._connection, device._most = far.Connection(device.name, channel(data)), 1 << 20
    device.read([Extent(Space.GLOBAL, 0, 0, 64)])
    device.write([Content(Space.GLOBAL, 0, 0, __import__("numpy").zeros(4, "u1"))])
    device.reset()
