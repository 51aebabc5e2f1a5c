"""Strangers at a port: what has not shown the token gets little, for a short time, and costs nobody else anything."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdb_dap.adapter.protocol.client import RequestFailed
from tdb_dap.system.ports import ADAPTER_TOKEN, AttachServer, Visitor
from tests.adapter.test_wire import framed
from tests.conftest import Toy
from tests.ports import Listening


@pytest.fixture
def adapter() -> Iterator[Listening]:
    running = Listening()
    yield running
    running.close()


def said(connected: socket.socket) -> bytes:
    """Everything that the other side says until it hangs up."""
    heard = b""
    with contextlib.suppress(ConnectionError):
        while data := connected.recv(1 << 16):
            heard += data
    return heard


# The token


def test_a_token_is_asked_for_and_never_logged(toy: Toy, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    adapter = Listening("--token", "open sesame", "--log", str(log), token="open sesame")
    for wrong in ({}, {"token": "open"}):
        client = adapter.client()
        client.initialize()
        with pytest.raises(RequestFailed, match="token is missing or wrong"):
            client.request("attach", program=str(toy.directory), **wrong)
        client.close()
    client = adapter.attached(toy)
    client.request("restart", arguments={"program": str(toy.directory), "token": "open sesame"})
    client.close()
    assert "sesame" not in adapter.close()
    assert '"token": "***"' in log.read_text()
    assert "sesame" not in log.read_text()


def test_the_token_comes_from_a_file_or_the_environment(toy: Toy, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from a file\n")
    from_file = Listening("--token-file", str(tmp_path / "token"), token="from a file")
    from_environment = Listening(token="from there", env={**os.environ, ADAPTER_TOKEN: "from there"})
    for adapter in (from_file, from_environment):
        adapter.attached(toy).close()
        adapter.close()


def test_without_the_token_nothing_is_answered(toy: Toy) -> None:
    """Nor is anything done on arrival; and large messages are not even read."""
    adapter = Listening("--token", "open sésame", token="open sésame")
    for command in ("evaluate", "restart", "threads", "cancel"):
        client = adapter.client()
        client.initialize()
        with pytest.raises(RequestFailed, match=f"{command}: attach with the token"):
            client.request(command, program=str(toy.directory), expression="1", context="repl")
        client.close()
    for wrong in ("ö", "\ud800", ["open sésame"]):
        client = adapter.client()
        client.initialize()
        with pytest.raises(RequestFailed, match="token is missing or wrong"):
            client.request("attach", program=str(toy.directory), token=wrong)
        client.close()
    client = adapter.client()
    client.initialize()
    client.send("attach", program="x" * (65 << 10))
    assert "the limit is 65,536" in client.event("output")["body"]["output"]
    client.close()
    adapter.attached(toy).close()
    adapter.close()


def test_a_stranger_who_does_not_listen_fills_no_memory(adapter: Listening, toy: Toy) -> None:
    """Its requests are taken one by one, so it is held up when its answers are not read."""
    with adapter.connect() as flood:
        flood.settimeout(2)
        request = framed({"seq": 1, "type": "request", "command": "x" * 60_000})
        sent = 0
        with contextlib.suppress(TimeoutError, ConnectionError):
            while sent < 64 << 20:
                sent += flood.send(request)
        assert sent < 64 << 20
        adapter.attached(toy).close()


# What is no client at all


def attack(target: Path, token: str | None = None) -> bytes:
    """Frames that have Python write a file, as a page would put them into the body of a request.

    ``token``: given as well, so that it is not the token that protects.
    """
    python = f"py open({str(target)!r}, 'w').close()"
    launch = {"program": str(Toy.directory), "allowPython": True, "commands": [python], "token": token}
    requests = [("initialize", {"adapterID": "tdb"}), ("launch", launch), ("configurationDone", {})]
    return b"".join(
        framed({"seq": seq, "type": "request", "command": command, "arguments": arguments})
        for seq, (command, arguments) in enumerate(requests, 1)
    )


HEADS = {
    "short": b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "long path": b"POST /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n",
    "headers": b"POST / HTTP/1.1\r\n" + b"".join(b"X-%d: y\r\n" % i for i in range(20_000)),
    "length first": b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n{}\n",
    "old": b"GET /\r\n",
    "method": b"CONTENT-LENGTH / HTTP/1.1\r\nContent-Length: 0\r\n",
    "method and colon": b"Content-Length: / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n",
    "tls": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    "socks": b"\x05\x01\x00",
    "blank": b"\r\n\r\n",
    "not json": b"Content-Length: 4\r\n\r\nPOST",
    "no object": b"Content-Length: 2\r\n\r\n[]",
    "endless": b"Content-Type: " + b"x" * 20_000,
}
"""What is not the beginning of a message; the frames of an attack follow."""


@pytest.mark.parametrize("piece", [1 << 20, 1000], ids=["at once", "in pieces"])
def test_whatever_does_not_begin_with_a_message_is_hung_up_on(
    adapter: Listening, toy: Toy, tmp_path: Path, piece: int
) -> None:
    target = tmp_path / "written"
    for name, head in HEADS.items():
        with adapter.connect() as connected:
            data = head + b"\r\n" + attack(target, adapter.token)
            with contextlib.suppress(ConnectionError):
                for start in range(0, len(data), piece):
                    connected.sendall(data[start : start + piece])
            assert said(connected) == b"", name
    adapter.attached(toy).close()
    assert not target.exists()
    assert adapter.close().count("a connection is closed: ") == len(HEADS)


def test_the_attack_is_one(adapter: Listening, tmp_path: Path) -> None:
    """With nothing before them the same frames do what they say."""
    target = tmp_path / "written"
    with adapter.connect() as connected:
        connected.sendall(attack(target, adapter.token))
        heard = b""
        while b'"event":"stopped"' not in heard:
            heard += connected.recv(1 << 16)
    assert target.exists()


def test_a_first_message_in_small_pieces_is_a_client(adapter: Listening) -> None:
    request = framed({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "tdb"}})
    with adapter.connect() as connected:
        for byte in request:
            connected.sendall(bytes([byte]))
        assert b'"success":true' in connected.recv(1 << 16)


# Many of them


def descriptors(limit: int) -> tuple[str, ...]:
    """Starts a command that may have so many descriptors; the tests' own process keeps those it has."""
    return "sh", "-c", f'ulimit -S -n {limit}; exec "$@"', "sh"


def test_a_hundred_idle_connections_take_nothing_from_a_session(toy: Toy) -> None:
    """Not even where the adapter may have few descriptors."""
    adapter = Listening(starter=descriptors(48))
    working = adapter.attached(toy)
    idle = [adapter.connect() for _ in range(100)]
    assert working.request("threads")["threads"]
    adapter.attached(toy).close()
    assert working.request("threads")["threads"]
    for connected in idle:
        connected.close()
    working.close()
    adapter.close()


def test_a_lack_of_descriptors_ends_nothing(toy: Toy) -> None:
    """Sessions that are in take them all; when one of them leaves there is room again."""
    adapter = Listening(starter=descriptors(24))
    idle = [adapter.connect() for _ in range(40)]
    for connected in idle:
        connected.close()
    adapter.attached(toy).close()
    assert adapter.process.poll() is None
    adapter.close()


def test_a_stranger_who_leaves_has_nothing_looked_through_that_is_loaded(adapter: Listening, toy: Toy) -> None:
    """The garbage of a connection is collected at its end; the modules are kept out of that search."""
    client = adapter.attached(toy, allowPython=True)
    count = client.request("evaluate", expression="py __import__('gc').get_freeze_count()", context="repl")["result"]
    assert int(count) > 10_000
    client.close()


class Doorway:
    """A door in this process; visitors are kept until they leave."""

    def __init__(self, door: AttachServer) -> None:
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.visitors: list[Visitor] = []
        self.came = threading.Semaphore(0)
        self.thread = threading.Thread(target=door.serve, args=(self.listening, self._talk), daemon=True)
        self.thread.start()

    def _talk(self, connected: socket.socket, visitor: Visitor) -> None:
        self.visitors.append(visitor)
        self.came.release()
        while what := connected.recv(1):
            if what == b"y":
                visitor.admit()
            elif what == b"n":
                visitor.mistaken()
                return
            connected.sendall(what)

    def connect(self) -> socket.socket:
        """A visitor that has been let into the hall."""
        connected = socket.create_connection(self.listening.getsockname(), 30)
        assert self.came.acquire(timeout=30)
        return connected

    def close(self) -> None:
        self.listening.close()
        self.thread.join(30)
        assert not self.thread.is_alive()


def test_the_oldest_stranger_makes_room_and_those_who_are_in_do_not() -> None:
    hall = Doorway(AttachServer(strangers=2))
    guest = hall.connect()
    guest.sendall(b"y")
    assert guest.recv(1) == b"y"
    strangers = [hall.connect() for _ in range(5)]
    assert [said(connected) for connected in strangers[:3]] == [b"", b"", b""]
    for connected in (guest, *strangers[3:]):
        connected.sendall(b"?")
        assert connected.recv(1) == b"?"
        connected.close()
    hall.close()


def test_a_stranger_who_takes_too_long_is_hung_up_on() -> None:
    hall = Doorway(AttachServer(admission=0.0))
    assert said(hall.connect()) == b""
    hall.close()


def test_a_wrong_token_costs_time_and_leaving_does_not_shorten_it() -> None:
    paid = threading.Event()
    asked = threading.Semaphore(0)

    def pause(seconds: float) -> None:
        assert seconds >= 1
        asked.release()
        assert paid.wait(30)

    hall = Doorway(AttachServer(strangers=2, pause=pause))
    for _ in range(2):
        with hall.connect() as guess:
            guess.sendall(b"n")
            assert asked.acquire(timeout=30)
    late = socket.create_connection(hall.listening.getsockname(), 30)
    assert said(late) == b"", "there is no place for another guess"
    paid.set()
    for _ in range(200):
        with contextlib.suppress(OSError), socket.create_connection(hall.listening.getsockname(), 30) as again:
            again.sendall(b"?")
            if again.recv(1) == b"?":
                break
    else:
        raise AssertionError("the places are not given back")
    hall.close()


def test_errors_of_accept_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Faulty(socket.socket):
        """Every second connection fails while it is accepted."""

        count = 0

        def accept(self) -> tuple[socket.socket, object]:
            connected, where = super().accept()
            Faulty.count += 1
            if Faulty.count % 2:
                connected.close()
                raise OSError(24, "Too many open files")
            return connected, where

    listening = Faulty()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    talked = threading.Semaphore(0)
    thread = threading.Thread(target=AttachServer().serve, args=(listening, lambda *_: talked.release()), daemon=True)
    thread.start()
    for _ in range(4):
        socket.create_connection(listening.getsockname(), 30).close()
    for _ in range(2):
        assert talked.acquire(timeout=30)
    listening.close()
    thread.join(30)
    assert not thread.is_alive()


def test_no_thread_for_a_connection_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    hall = Doorway(AttachServer(strangers=1))
    start = threading.Thread.start

    def lacking(thread: threading.Thread) -> None:
        if thread.name == "tdb-dap connection":
            raise RuntimeError("can't start new thread")
        start(thread)

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", lacking)
        assert said(socket.create_connection(hall.listening.getsockname(), 30)) == b""
    with hall.connect() as late:
        late.sendall(b"?")
        assert late.recv(1) == b"?"
    hall.close()


def test_a_log_that_cannot_be_written_is_one_line_and_the_session_goes_on(toy: Toy) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    adapter = Listening("--log", "/dev/full")
    adapter.attached(toy).close()
    assert adapter.close() == "tdb-dap: error: --log: No space left on device; nothing more is logged\n"


def test_a_body_is_json_even_of_a_stranger(adapter: Listening) -> None:
    """After a good message an error is answered, and then the connection is over."""
    client = adapter.client()
    client.initialize()
    client._connection._stream.write(b"Content-Length: 9\r\n\r\n{nothing}")  # below the protocol
    assert "not JSON" in client.event("output")["body"]["output"]
    client.close()
