"""Recordings that another machine makes: what it is given, what it sends, and what happens where it cannot."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tdb_dap.backends.remote import recordings
from tdb_dap.backends.remote.channel import Channel
from tdb_dap.backends.remote.handshake import admit
from tdb_dap.backends.remote.messages import Changed, Done, Give, Record, Recorded, Refused, requests
from tdb_dap.backends.remote.recordings import Recordings
from tdb_dap.errors import BadInput
from tests.backends.far_side import Script, Server, far_side
from tests.command_line import tdb_dap
from tests.samples import DATA

MIXED = DATA / "contexts" / "dynamic_subnet"


@pytest.fixture
def willing() -> Iterator[Server]:
    """A server that would record, and has no runtime of the vendor's."""
    server = Server("--record")
    yield server
    server.close()


def test_a_server_records_only_if_it_is_told_to(tmp_path: Path) -> None:
    server = Server()
    said = tdb_dap("record", "--at", server.address, "-o", tmp_path / "it.tdbrec", "--", MIXED)
    server.close()
    assert said.returncode == 2
    name = f"tdb-dap: error: remote:{server.address} made no recording: "
    assert said.stderr == f"{name}no recordings are made there; start it with tdb-dap backends serve --record\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", ["record", "run"])
def test_a_server_without_the_runtime_says_what_to_do(willing: Server, words: str, tmp_path: Path) -> None:
    if words == "record":
        said = tdb_dap("record", "--at", willing.address, "-o", tmp_path / "it.tdbrec", "--", MIXED)
    else:
        said = tdb_dap("run", MIXED, "--recording", willing.name)
    assert said.returncode == 2
    assert "the vendor's runtime (" in said.stderr
    assert "tdb-dap backends fetch" in said.stderr
    assert said.stderr.count("\n") == 1


def test_no_model_was_given(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no model was given"):
        list(Recordings(1 << 20, None).record(Record("net", 0), lambda: False))


def test_a_client_gives_no_more_than_it_may() -> None:
    room = Recordings(10, None)
    room.give(Give("model", bytes(10)))
    with pytest.raises(BadInput, match=r"11 bytes of files are more than a client may give here: 10 \(--memory\)"):
        room.give(Give("inputs", bytes(1)))
    room.give(Give("inputs", bytes(10)))
    room.close()


def test_what_is_no_model_is_refused_in_one_line() -> None:
    room = Recordings(1 << 20, None)
    room.give(Give("model", b"no model"))
    room.give(Give("inputs", b""))
    with pytest.raises(BadInput) as caught:
        list(room.record(Record("net", 0), lambda: False))
    assert "compilation.bmodel" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_run_ends_when_its_client_has_gone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    code = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(600)"
    monkeypatch.setattr(recordings, "command", lambda module: (sys.executable, "-c", code))
    room = Recordings(1 << 20, None)
    room.give(Give("model", b"a model"))
    with pytest.raises(BadInput, match="the client has gone"):
        list(room.record(Record("net", 0), lambda: note.exists() and note.read_text() != ""))
    with pytest.raises(ProcessLookupError):
        os.kill(int(note.read_text()), 0)


def answering(*told: Recorded | Changed | Refused | None) -> Script:
    """A server that takes everything, and answers a request for a recording with these; None: hangs up."""

    def script(channel: Channel, _: object) -> None:
        admit(channel, None)
        while isinstance(channel.receive(requests, 10), Give):
            channel.send(Done(), 10)
        for answer in told:
            if answer is None:
                return
            channel.send(answer, 10)
        channel.receive(requests, 10)

    return script


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ((Changed([], more=False),), "it answered with Changed"),
        ((Recorded(b"half", more=True), Changed([], more=False)), "it answered with Changed"),
        ((Recorded(b"half", more=True), Refused("not recorded", "the disk is full")), "the disk is full"),
        ((Recorded(b"half", more=True), None), "the connection was closed"),
    ],
    ids=["another answer", "another answer later", "an error later", "gone"],
)
def test_half_a_recording_is_none(
    told: tuple[Recorded | Changed | Refused | None, ...], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TDB_DAP_BACKEND_TOKEN")
    with far_side(answering(*told)) as name:
        address = name.removeprefix("remote:")
        said = tdb_dap("record", "--at", address, "-o", tmp_path / "it.tdbrec", "--", MIXED)
    assert said.returncode == 2
    assert said.stderr == f"tdb-dap: error: {name} made no recording: {why}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--at", "nowhere", "--", MIXED), "--at"),
        (("--at", "127.0.0.1:1"), "one compiled model is recorded at a time"),
        (("--at", "127.0.0.1:1", "--", MIXED, "more"), "one compiled model is recorded at a time"),
        (("--inputs", "x.npz", "--", "true"), "--inputs, --net and --stage go with a compiled model"),
        (("--at", "127.0.0.1:1", "--", DATA / "recordings" / "toy_bm1684x.tdbrec"), "is a recording already"),
    ],
)
def test_wrong_words_are_one_error(words: tuple[object, ...], why: str) -> None:
    said = tdb_dap("record", *words)
    assert said.returncode == 2
    assert why in said.stderr
    assert said.stderr.count("\n") == 1
