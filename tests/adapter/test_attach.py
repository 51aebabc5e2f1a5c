"""An adapter that listens on a port."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator

import pytest

from tdb_dap.client import Client, RequestFailed
from tests.conftest import Toy


def listening(*options: str) -> tuple[subprocess.Popen[str], int]:
    """An adapter, and the port that it says it listens on."""
    command = [sys.executable, "-m", "tdb_dap.adapter", "--listen", "127.0.0.1:0", *options]
    adapter = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert adapter.stdout is not None
    match = re.fullmatch(r"listening on 127\.0\.0\.1:(\d+)\n", adapter.stdout.readline())
    assert match
    return adapter, int(match[1])


@pytest.fixture
def port() -> Iterator[int]:
    adapter, port = listening()
    yield port
    adapter.kill()
    adapter.wait()


def attached(client: Client, toy: Toy, **more: object) -> str:
    """Attach and give the reason of the first stop."""
    client.initialize()
    attach = client.send("attach", program=str(toy.directory), inputs=str(toy.inputs), **more)
    client.event("initialized")
    client.request("configurationDone")
    client.answer(attach)
    return str(client.event("stopped")["body"]["reason"])


def test_several_sessions_at_once_and_one_after_another(port: int, toy: Toy):
    clients = [Client.connect("127.0.0.1", port, timeout=30) for _ in range(2)]
    assert [attached(client, toy) for client in clients] == ["entry", "entry"]
    for client in clients:
        client.request("disconnect")
        client.close()
    late = Client.connect("127.0.0.1", port, timeout=30)
    assert attached(late, toy) == "entry"
    late.close()


def test_a_token_is_asked_for_and_never_logged(toy: Toy, tmp_path):
    log = tmp_path / "log.jsonl"
    adapter, port = listening("--token", "open sesame", "--log", str(log))
    try:
        for wrong in ({}, {"token": "open"}):
            client = Client.connect("127.0.0.1", port, timeout=30)
            with pytest.raises(RequestFailed, match="token is missing or wrong"):
                attached_or_refused(client, toy, **wrong)
            client.close()
        client = Client.connect("127.0.0.1", port, timeout=30)
        assert attached(client, toy, token="open sesame") == "entry"
        client.close()
    finally:
        adapter.kill()
        adapter.wait()
    assert "sesame" not in log.read_text()


def attached_or_refused(client: Client, toy: Toy, **more: object) -> None:
    client.initialize()
    client.request("attach", program=str(toy.directory), **more)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "0.0.0.0:0"], "give a --token"),
        (["--listen", "nowhere"], "write HOST:PORT"),
        (["--listen", "127.0.0.1:99999"], "write HOST:PORT"),
        (["--log", "/nonexistent/log"], "/nonexistent/log"),
    ],
)
def test_wrong_options_are_one_line(options: list[str], message: str):
    done = subprocess.run(
        [sys.executable, "-m", "tdb_dap.adapter", *options], capture_output=True, text=True, timeout=30, input=""
    )
    assert done.returncode == 2
    assert done.stderr.startswith("tdb-dap: error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
