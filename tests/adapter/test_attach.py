"""An adapter that listens on a port."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

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


def threads_of(adapter: subprocess.Popen[str]) -> int:
    return len(list(Path(f"/proc/{adapter.pid}/task").iterdir()))


def run_slowly(client: Client) -> None:
    slow = "sum(exp(sin(exp(sin(exp(sin(R0:f32[1,64,256,128]))))))) < 0"
    client.request("setFunctionBreakpoints", breakpoints=[{"name": "tpu.*", "condition": slow}])
    client.request("continue", threadId=1)


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="looks into /proc")
def test_a_client_that_dies_in_the_middle_of_a_run_leaves_nothing_behind(toy: Toy):
    adapter, port = listening()
    try:
        first = Client.connect("127.0.0.1", port, timeout=30)
        assert attached(first, toy) == "entry"
        run_slowly(first)
        first.event("terminated")
        first.request("disconnect")
        first.close()
        time.sleep(0.5)
        alone = threads_of(adapter)  # with those that libraries keep
        dying = Client.connect("127.0.0.1", port, timeout=30)
        assert attached(dying, toy) == "entry"
        run_slowly(dying)
        assert threads_of(adapter) > alone
        dying.close()
        for _ in range(100):
            if threads_of(adapter) <= alone:
                break
            time.sleep(0.1)
        else:
            raise AssertionError("the session of a dead client goes on")
        late = Client.connect("127.0.0.1", port, timeout=30)
        assert attached(late, toy) == "entry"
        late.close()
    finally:
        adapter.kill()
        adapter.wait()


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


def test_without_the_token_nothing_is_answered(toy: Toy):
    """Neither launch, which asks for none, nor any other request; and large messages are not even read."""
    adapter, port = listening("--token", "open sésame")
    try:
        for command in ("launch", "evaluate", "restart", "threads"):
            client = Client.connect("127.0.0.1", port, timeout=30)
            client.initialize()
            with pytest.raises(RequestFailed, match=f"{command}: attach with the token"):
                client.request(command, program=str(toy.directory), expression="1", context="repl")
            client.close()
        for wrong in ("ö", "\ud800", ["open sésame"]):
            client = Client.connect("127.0.0.1", port, timeout=30)
            with pytest.raises(RequestFailed, match="token is missing or wrong"):
                attached_or_refused(client, toy, token=wrong)
            client.close()
        client = Client.connect("127.0.0.1", port, timeout=30)
        client.initialize()
        client.send("attach", program="x" * (65 << 10))
        assert "the limit is 65,536" in client.event("output")["body"]["output"]
        client.close()
        client = Client.connect("127.0.0.1", port, timeout=30)
        assert attached(client, toy, token="open sésame") == "entry"
        client.close()
    finally:
        adapter.kill()
        adapter.wait()


def test_a_browser_is_no_client(port: int, toy: Toy):
    """A page may have it post anything to a port of this machine, without being asked."""
    body = json.dumps({"seq": 1, "type": "request", "command": "initialize", "arguments": {"adapterID": "x"}})
    page = f"Content-Length: {len(body)}\r\n\r\n{body}"
    for text in (body, page):
        with socket.create_connection(("127.0.0.1", port)) as browser:
            request = f"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(text)}\r\n\r\n{text}"
            browser.sendall(request.encode())
            browser.settimeout(30)
            with contextlib.suppress(ConnectionResetError):
                assert browser.recv(100) == b""
    client = Client.connect("127.0.0.1", port, timeout=30)
    assert attached(client, toy) == "entry"
    client.close()


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
