"""Servers and clients that are not what they should be: each is one clear line, and nobody waits or dies of it."""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import struct
import threading
import time
from collections.abc import Iterator
from functools import partial

import msgspec
import pytest

import tdb_dap
from tdb_dap.backends.remote import channel as channel_module
from tdb_dap.backends.remote import handshake
from tdb_dap.backends.remote import server as server_module
from tdb_dap.backends.remote.channel import LONGEST, Broken, Channel
from tdb_dap.backends.remote.client import RemoteDevice
from tdb_dap.backends.remote.handshake import TOKEN_VARIABLE, NotAdmitted, enter
from tdb_dap.backends.remote.messages import (
    VERSION,
    Changed,
    Done,
    Execute,
    Filled,
    Hello,
    Open,
    Opened,
    Part,
    Read,
    Refused,
    Welcome,
    Working,
    Write,
    answers,
    greetings,
    requests,
)
from tdb_dap.engine.control.debugger import Debugger
from tdb_dap.engine.device.device import Attached
from tdb_dap.engine.machine.machine import Machine
from tdb_dap.errors import BadInput
from tdb_dap.system.ports import PENALTY, AttachServer
from tdb_dap.tools.programs import open_program
from tests.backends.far_side import Script, Server, far_side, greet
from tests.samples import SAMPLE


def refusal(script: Script) -> str:
    """What opening the sample says about a server."""
    with far_side(script) as name:
        with pytest.raises(BadInput) as caught:
            tdb_dap.open(SAMPLE, backend=name, backend_token="s3cret")
        text = str(caught.value)
        assert text.startswith(f"{name} cannot be used: ")
        assert "\n" not in text
        return text.removeprefix(f"{name} cannot be used: ")


def silent(_: Channel, raw: socket.socket) -> None:
    """Says nothing until the other side has gone."""
    raw.settimeout(5)
    raw.recv(1)


def test_another_version_says_which_and_what_to_do() -> None:
    text = refusal(lambda channel, _: channel.send(Hello(99, bytes(32)), 5))
    here = f"this is version {VERSION}; install the same tdb-dap on both sides"
    assert text == f"it speaks version 99 of the protocol, {here}"


def test_a_client_of_another_version_is_told() -> None:
    from tdb_dap.backends.remote.messages import Proof

    server = Server()
    with server.connect() as connected:
        channel = Channel(connected)
        channel.receive(greetings, 5)
        channel.send(Proof(99, bytes(32), bytes(32)), 5)
        answer = channel.receive(greetings, 5)
        assert isinstance(answer, Refused)
        assert answer.why == f"version 99 of the protocol is not spoken here, {VERSION} is"
    server.close()


def test_what_is_no_backend_at_all() -> None:
    assert "a message of 1,213,486,160 bytes was announced" in refusal(
        lambda _, raw: raw.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    )


def test_a_server_that_hangs_up_or_stops_in_the_middle_of_a_word() -> None:
    assert refusal(lambda _, raw: raw.close()) == "the connection was closed"
    cut = struct.pack(">I", 100) + b"only this"
    assert refusal(lambda _, raw: raw.sendall(cut)) == "the connection was closed in the middle of a message"


def test_a_server_that_does_not_know_the_token_is_not_trusted() -> None:
    def impostor(channel: Channel, _: socket.socket) -> None:
        channel.send(Hello(VERSION, bytes(32)), 5)
        channel.receive(greetings, 5)
        channel.send(Welcome(os.urandom(32)), 5)

    assert "does not know the token" in refusal(impostor)


def test_the_token_is_never_said() -> None:
    heard = bytearray()

    def listen(channel: Channel, raw: socket.socket) -> None:
        channel.send(Hello(VERSION, bytes(32)), 5)
        raw.settimeout(5)
        heard.extend(raw.recv(4096))

    refusal(listen)
    assert len(heard) > 64
    assert b"s3cret" not in heard


def test_a_server_that_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "SILENCE", 0.3)
    assert refusal(silent) == "nothing was heard for 0.3 seconds"


def test_a_program_that_the_server_cannot_open() -> None:
    def refuse(channel: Channel, _: socket.socket) -> None:
        handshake.admit(channel, "s3cret")
        channel.receive(requests, 5)
        channel.send(Refused("bad input", "libcmodel.so is in none of: /opt"), 5)

    assert refusal(refuse) == "libcmodel.so is in none of: /opt"


def lost(script: Script, silence: float = 5.0) -> str:
    """What the first command says about a server that was opened; the session goes on with what is built in."""

    def whole(channel: Channel, raw: socket.socket) -> None:
        greet(channel)
        for _ in range(100):
            request = channel.receive(requests, 5)
            if isinstance(request, Execute):
                script(channel, raw)
                return
            channel.send(Done(), 5)

    with far_side(whole) as name:
        program = open_program(SAMPLE)
        device = RemoteDevice("127.0.0.1", int(name.rpartition(":")[2]), None, silence)
        debugger = Debugger(program, Machine(program, backend=Attached(device)))
        before = debugger.machine.memory.local().tobytes()
        stop = debugger.run()
        assert stop.finding is not None, stop
        assert stop.finding.filter == "backend"
        assert debugger.machine.memory.local().tobytes() == before
        assert debugger.machine.backend.name == "numpy"
        assert debugger.run().reason == "end"
        return stop.text


class Clock:
    """Stands in for ``time`` where silence is measured: time passes when the script says so."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(channel_module, "time", made)
    return made


def test_a_server_that_falls_silent(clock: Clock) -> None:
    def falls_silent(_: Channel, raw: socket.socket) -> None:
        raw.settimeout(0.02)
        while True:
            clock.now += 1
            with contextlib.suppress(TimeoutError):
                raw.recv(1)
                return

    assert "nothing was heard for 0.3 seconds" in lost(falls_silent, 0.3)


def test_signs_of_life_are_no_silence(clock: Clock) -> None:
    def slow(channel: Channel, raw: socket.socket) -> None:
        for _ in range(6):
            clock.now += 0.3
            channel.send(Working(), 5)
        channel.send(Refused("lost", "the board has been pulled out"), 5)

    assert "is lost: the board has been pulled out" in lost(slow, 0.4)


@pytest.mark.parametrize(
    ("answer", "complaint"),
    [
        (Changed([Filled("R", 0, 1 << 40, b"12345678")], more=False), "has changed bytes that do not exist"),
        (Changed([Filled("R", 77, 0, b"12345678")], more=False), "core 77 does not exist"),
        (Changed([Filled("Q", 0, 0, b"12345678")], more=False), "'Q' is not a valid Space"),
        (Changed([Filled("R", 0, 0, b"12345678"), Filled("R", 0, 1 << 40, b"1")], more=False), "do not exist"),
        (Opened("numpy", False), "it answered with Opened"),
    ],
    ids=["beyond", "core", "space", "second", "another"],
)
def test_answers_that_make_no_sense_change_nothing(answer: Changed | Opened, complaint: str) -> None:
    assert complaint in lost(lambda channel, _: channel.send(answer, 5))


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 20,
        msgspec.msgpack.encode({"type": "Changed", "contents": [["R", 0, -5, b""]], "more": False}),
        msgspec.msgpack.encode({"type": "Changed", "contents": 5, "more": False}),
        msgspec.msgpack.encode({"type": "Exec", "code": "print(1)"}),
        b"\x91" * 5000,
    ],
    ids=["noise", "negative", "type", "unknown", "nested"],
)
def test_answers_that_are_no_messages(data: bytes) -> None:
    text = lost(lambda _, raw: raw.sendall(struct.pack(">I", len(data)) + data))
    assert "what came is no message" in text


def test_an_answer_of_absurd_size_is_not_read() -> None:
    assert f"at most {LONGEST:,} are taken" in lost(lambda _, raw: raw.sendall(b"\xff\xff\xff\xff"))


def test_answers_without_an_end_are_not_collected() -> None:
    def flood(channel: Channel, _: socket.socket) -> None:
        while True:
            channel.send(Changed([Filled("R", 0, 0, bytes(4 << 20))], more=True), 5)

    assert "it sends more than the " in lost(flood)


def test_who_greets_byte_by_byte_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "AttachServer", partial(AttachServer, admission=0.5))
    said: queue.Queue[str] = queue.Queue()
    listening = socket.create_server(("127.0.0.1", 0))
    offer = server_module.Offer("numpy", None)
    thread = threading.Thread(target=server_module.serve, args=(listening, offer, said.put), daemon=True)
    thread.start()
    with socket.create_connection(listening.getsockname()) as here, contextlib.suppress(OSError):
        while said.empty():
            here.sendall(b"\x00")
            time.sleep(0.1)
    assert ": not admitted: " in said.get(timeout=30)
    listening.close()
    thread.join(30)
    assert not thread.is_alive()


# The server's part


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """One for all of them: it has to outlive every one."""
    running = Server("--memory", "1")
    yield running
    running.close()


def entered(server: Server) -> Channel:
    channel = Channel(server.connect())
    enter(channel, os.environ[TOKEN_VARIABLE])
    return channel


def still_works(server: Server) -> None:
    debugger = tdb_dap.open(SAMPLE, SAMPLE / "input.npz", backend=server.name)
    assert debugger.run().reason == "end"
    debugger.close()


@pytest.mark.parametrize(
    "data", [b"\xff\xff\xff\xff", b"\x00\x00\x00\x03abc", b"\x00\x00\x10\x00cut", b"", b"GET / HTTP/1.1\r\n\r\n"]
)
@pytest.mark.parametrize("greeted", [False, True], ids=["stranger", "greeted"])
def test_the_server_survives_noise(server: Server, data: bytes, greeted: bool) -> None:
    connected = server.connect()
    if greeted:
        enter(Channel(connected), os.environ[TOKEN_VARIABLE])
    connected.sendall(data)
    connected.close()
    still_works(server)


def ask(channel: Channel, request: Open | Write | Read | Execute) -> object:
    channel.send(request, 5)
    return channel.receive(answers, 10)


def test_more_memory_than_is_given_is_refused_with_the_figures(server: Server) -> None:
    channel = entered(server)
    answer = ask(channel, Open("BM1684X", 1, [Part("G", 0, 1 << 32, 1 << 50)]))
    assert isinstance(answer, Refused)
    assert "clients are given at most 1,073,741,824 (--memory)" in answer.why
    assert isinstance(ask(channel, Open("BM1684X", 1, [])), Opened)
    channel.close()


@pytest.mark.parametrize(
    ("request_", "why"),
    [
        (Write([Filled("G", 0, 0, b"x")]), "DDR has no bytes 0 to 0"),
        (Read([Part("R", 0, 0, 1 << 40)]), "local memory has no bytes"),
        (Read([Part("R", 9, 0, 1)]), "core 9 does not exist"),
        (Read([Part("*", 0, 0, 1)]), "'*' is not a valid Space"),
        (Execute("tiu", 0, b"", []), "0 bytes for the engine 'tiu' are no command of BM1684X"),
        (Execute("tiu", 0, bytes(7), []), "are no command of BM1684X"),
        (Execute("tiu", 7, bytes(128), []), "there is no core 7"),
        (Execute("cdma", 0, bytes(128), []), "128 bytes for the engine 'cdma' are no command of BM1684X"),
        (Execute("tiu", 0, bytes(128), [b"\xff"]), "1 bytes for the engine 'tiu' are no command"),
        (Execute("warp", 0, bytes(128), []), "for the engine 'warp' are no command"),
        (Open("BM9999", 1, []), "which is not supported yet"),
        (Open("BM1684X", 1, [Part("L", 0, 0, 8)]), "a region that is not of DDR"),
        (Open("BM1684X", 1, [Part("G", 0, 0, 9), Part("G", 0, 8, 8)]), "regions of DDR that overlap"),
    ],
)
def test_requests_that_make_no_sense_are_refused_and_the_next_one_is_answered(
    server: Server, request_: Open | Write | Read | Execute, why: str
) -> None:
    channel = entered(server)
    assert isinstance(ask(channel, Open("BM1684X", 1, [Part("G", 0, 1 << 32, 4096)])), Opened)
    answer = ask(channel, request_)
    assert isinstance(answer, Refused)
    assert why in answer.why
    assert isinstance(ask(channel, Open("BM1684X", 1, [])), Opened)
    channel.close()


def test_one_client_too_many_is_told() -> None:
    small = Server("--clients", "1")
    first = entered(small)
    with pytest.raises(BadInput, match=r"cannot be used: there are 1 clients already \(--clients\)"):
        tdb_dap.open(SAMPLE, backend=small.name)
    first.close()
    for _ in range(50):
        with contextlib.suppress(BadInput):
            tdb_dap.open(SAMPLE, backend=small.name).close()
            break
        time.sleep(0.1)
    else:
        pytest.fail("the place of the client that has left is not given to another")
    small.close()


def test_strangers_take_no_place_of_a_client() -> None:
    small = Server("--clients", "1")
    idle = [small.connect() for _ in range(40)]
    still_works(small)
    for connected in idle:
        connected.close()
    small.close()


def test_a_wrong_token_costs_time_here_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    paid: queue.Queue[float] = queue.Queue()
    monkeypatch.setattr(server_module, "AttachServer", partial(AttachServer, pause=paid.put))
    listening = socket.create_server(("127.0.0.1", 0))
    offer = server_module.Offer("numpy", "s3cret")
    threading.Thread(target=server_module.serve, args=(listening, offer, lambda _: None), daemon=True).start()
    channel = Channel(socket.create_connection(listening.getsockname()))
    with pytest.raises(NotAdmitted, match="the token is missing or wrong"):
        enter(channel, "guess")
    assert paid.get(timeout=30) == PENALTY
    enter(Channel(socket.create_connection(listening.getsockname())), "s3cret")
    listening.close()


def test_a_request_before_a_program_is_open(server: Server) -> None:
    channel = entered(server)
    answer = ask(channel, Read([]))
    assert isinstance(answer, Refused)
    assert answer.why == "no program is open"
    channel.close()


def test_a_stranger_is_not_waited_for(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that announces more than a greeting may have is left at once."""
    connected = server.connect()
    channel = Channel(connected)
    channel.receive(greetings, 5)
    connected.sendall(struct.pack(">I", 1 << 20))
    with pytest.raises(Broken, match=r"closed|reset"):
        channel.receive(greetings, 5)
    connected.close()
