"""Framing, and clients that are sloppy, wrong or hostile: one clear error each, and the session goes on."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tdb_dap.adapter.protocol.framing import Connection, Malformed
from tests.conftest import Toy
from tests.dap_client import DapClient


class Recording:
    """A stream with prepared input, handed out in small pieces."""

    def __init__(self, data: bytes, piece: int = 7) -> None:
        self.data = data
        self.piece = piece
        self.written = b""

    def read(self, size: int, /) -> bytes:
        part, self.data = self.data[: min(size, self.piece)], self.data[min(size, self.piece) :]
        return part

    def write(self, data: bytes, /) -> None:
        self.written += data

    def close(self) -> None:
        pass


def framed(message: object) -> bytes:
    body = json.dumps(message).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def received(data: bytes) -> list[object]:
    connection = Connection(Recording(data))
    found: list[object] = []
    while (message := connection.receive()) is not None:
        found.append(message.problem if isinstance(message, Malformed) else message)
    return found


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(-(2**80), 2**80) | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def as_json_has_it(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [as_json_has_it(inner) for inner in value]
    return {name: as_json_has_it(inner) for name, inner in value.items()} if isinstance(value, dict) else value


@given(value=VALUES)
def test_what_is_sent_is_read_as_it_was(value: Any) -> None:
    """Numbers that JSON does not have become null; halves of surrogate pairs and long integers stay."""
    stream = Recording(b"")
    Connection(stream).send({"type": "event", "body": value})
    header, _, body = stream.written.partition(b"\r\n\r\n")
    assert header == b"Content-Length: %d" % len(body)
    assert repr(json.loads(body)["body"]) == repr(as_json_has_it(value))


def test_halves_of_surrogate_pairs_are_sent_as_json_writes_them() -> None:
    stream = Recording(b"")
    Connection(stream).send({"type": "event", "body": [chr(0xD800), 2**70, math.nan, 1e16]})
    assert json.loads(stream.written.partition(b"\r\n\r\n")[2])["body"] == [chr(0xD800), 2**70, None, 1e16]


GOOD = {"seq": 2, "type": "request", "command": "threads"}


def test_messages_come_in_any_pieces_and_with_other_headers() -> None:
    data = b"content-type: x\r\nCONTENT-LENGTH:  2\r\n\r\n{}" + framed(GOOD)
    for piece in (1, 3, 1000):
        stream = Recording(data, piece)
        connection = Connection(stream)
        assert [connection.receive(), connection.receive(), connection.receive()] == [{}, GOOD, None]


@pytest.mark.parametrize(
    ("bad", "problem"),
    [
        (b"Content-Length: 5\r\n\r\n{bad}", "not JSON"),
        (b"Content-Length: 3\r\n\r\n\xff\xfe\xfd", "not JSON"),
        (b"Content-Length: 2\r\n\r\n[]", "must be a JSON object"),
        (b"Content-Length: -5\r\n\r\n", "no usable Content-Length"),
        (b"Content-Length: many\r\n\r\n{}", "no usable Content-Length"),
        (b"Length: 2\r\n\r\n{}", "no usable Content-Length"),
        (b"\r\n\r\n", "no usable Content-Length"),
        (b"Content-Length: 104857600\r\n\r\n" + b"x" * 4000, "104,857,600 bytes"),
        (b"x" * 20000 + b"\r\n\r\n", "has no end"),
        (framed({"deep": 1}).replace(b'{"deep": 1}', b"[" * 11), "not JSON"),
    ],
)
def test_a_broken_message_is_one_problem_and_the_next_one_is_read(bad: bytes, problem: str) -> None:
    first, *rest = received(bad + framed(GOOD))
    assert isinstance(first, str)
    assert problem in first
    assert rest == [GOOD]


@pytest.fixture
def broken(new_client: Callable[..., DapClient]) -> DapClient:
    """A client that may break the protocol."""
    client = new_client(checked=False)
    client.raw.initialize(**client.traits)
    return client


def test_unknown_requests_are_refused_by_name(broken: DapClient) -> None:
    assert broken.refusal("makeCoffee") == "the request 'makeCoffee' is not supported"


def test_absurd_arguments_are_refused_and_the_session_goes_on(broken: DapClient, toy: Toy) -> None:
    for arguments in (list[Any](), "text", 7, True):
        seq = broken.raw.send_message({"type": "request", "command": "setBreakpoints", "arguments": arguments})
        assert "arguments must be an object" in broken.raw.response(seq)["message"]
    assert "source" in broken.refusal("setBreakpoints", breakpoints=[{"line": "first"}])
    assert "no program is loaded" in broken.refusal("stackTrace", threadId=1)
    for message in ({"type": "request"}, {"type": "request", "command": 5}, {"type": "banana", "command": "threads"}):
        assert not broken.raw.response(broken.raw.send_message(message))["success"]
    broken.raw.send_message({"type": "event", "event": "nonsense"})
    broken.raw.send_message({"type": "response", "command": "x", "request_seq": 1, "success": True})
    assert broken.request("threads")["threads"]
    broken.disconnect()


def test_missing_and_null_arguments_are_empty_ones(broken: DapClient) -> None:
    for message in ({"command": "threads", "arguments": None}, {"command": "loadedSources"}):
        response = broken.raw.response(broken.raw.send_message({"type": "request", **message}))
        assert response["success"] or response["message"] == "no program is loaded"
    broken.disconnect()


def test_broken_framing_is_reported_once_and_survived(broken: DapClient) -> None:
    pipes = broken.raw._connection._stream  # the test speaks below the protocol
    pipes.write(b"Content-Length: 9\r\n\r\n{nothing}")
    assert "not JSON" in broken.raw.event("output")["body"]["output"]
    pipes.write(b"Length: 4\r\n\r\nabcd")
    assert "no usable Content-Length" in broken.raw.event("output")["body"]["output"]
    assert broken.request("threads")["threads"]
    assert broken.printed() == ""
    broken.disconnect()


def test_sequence_numbers_that_stand_still_are_answered(broken: DapClient) -> None:
    pipes = broken.raw._connection._stream
    pipes.write(framed({"seq": 0, "type": "request", "command": "threads"}))
    assert broken.raw.response(0)["success"]
    broken.disconnect()


@pytest.mark.capability("supportsDelayedStackTraceLoading")
def test_levels_and_counts_of_zero_mean_all(client: DapClient, toy: Toy) -> None:
    client.launch(toy.directory, **toy.data)
    stop = client.expect_stopped("entry")
    for page in ({}, {"levels": 0}, {"startFrame": 0, "levels": 0}):
        answer = client.request("stackTrace", threadId=stop.thread, **page)
        assert len(answer["stackFrames"]) == answer["totalFrames"] == 6
    answer = client.request("stackTrace", threadId=stop.thread, startFrame=1, levels=2)
    assert len(answer["stackFrames"]) == 2
    assert "no thread 77" in client.refusal("stackTrace", threadId=77)
    client.disconnect()


def test_a_client_that_vanishes_ends_the_adapter(new_client: Callable[..., DapClient], toy: Toy) -> None:
    client = new_client(checked=False, process=True)
    client.launch(toy.directory, **toy.data)
    client.raw.close()
    assert client.raw.exit_code() == 0


def test_what_a_library_prints_does_not_reach_the_protocol(tmp_path: Path) -> None:
    import subprocess
    import sys

    script = (
        "import os, sys\n"
        "from tdb_dap.adapter.protocol.transports import StandardStreams\n"
        "streams = StandardStreams()\n"
        "print('stray'); sys.stdout.flush(); os.write(1, b'stray too')\n"
        "streams.write(b'protocol')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout == b"protocol"
    assert b"stray" in done.stderr


def test_numbers_that_json_cannot_hold_become_null() -> None:
    stream = Recording(b"")
    Connection(stream).send({"type": "event", "body": {"a": [float("nan"), 1.5], "b": float("-inf")}})
    assert json.loads(stream.written.partition(b"\r\n\r\n")[2])["body"] == {"a": [None, 1.5], "b": None}


def test_a_process_ends_in_order_when_its_client_leaves(new_client: Callable[..., DapClient], toy: Toy) -> None:
    client = new_client(process=True)
    client.launch(toy.directory, **toy.data)
    client.expect_stopped("entry")
    client.disconnect()
