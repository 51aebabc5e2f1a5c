"""Over HTTP: on this machine, with the token, and not for pages of a browser."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest

from tdb_dap.system.ports import AGENT_TOKEN
from tests.zoo.zoos import model

mcp = pytest.importorskip("mcp")

from tdb_dap.agent.http import Door  # noqa: E402

HELLO = (
    '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", '
    '"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}'
)


class Served:
    """``tdb-dap mcp --http`` as a host's user starts it."""

    def __init__(self, root: Path, *words: str, token: str = "", env: dict[str, str] | None = None) -> None:
        command = [sys.executable, "-m", "tdb_dap", "mcp", "--root", str(root), "--http", *words]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        assert self.process.stdout is not None
        self.printed = self.process.stdout.readline()
        self.port = int(self.printed.rpartition(":")[2])
        self.token = token or self.process.stdout.readline().split()[1]

    def status(self, token: str | None, **headers: str) -> int:
        """The status of a first request with these headers."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"} | headers
        if token is not None:
            given["Authorization"] = f"Bearer {token}"
        connection.request("POST", "/mcp", HELLO, given)
        status = connection.getresponse().status
        connection.close()
        return status

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=30)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    running = Served(tmp_path_factory.mktemp("root"))
    yield running
    running.close()


def test_a_client_with_the_token_debugs(tmp_path: Path) -> None:
    context = model("toy", tmp_path)
    (tmp_path / "token").write_text("open sesame\n")
    running = Served(tmp_path, "--token-file", str(tmp_path / "token"), token="open sesame")

    async def story() -> None:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        headers = {"Authorization": f"Bearer {running.token}"}
        async with httpx2.AsyncClient(headers=headers, timeout=60) as client:
            door = streamable_http_client(f"http://127.0.0.1:{running.port}/mcp", http_client=client)
            async with mcp.Client(door) as agent:
                result = await agent.call_tool("open", {"context": str(context)})
                assert "88 commands" in result.content[0].text

    anyio.run(story)
    running.close()


def test_without_the_token_nothing_is_answered(served: Served) -> None:
    assert served.printed.startswith("listening on 127.0.0.1:")
    assert served.status(served.token) == 200
    assert served.status(None) == 401
    with ThreadPoolExecutor() as strangers:  # each mistake costs a second
        assert set(strangers.map(served.status, ("guess", served.token[:-1], f" {served.token}"))) == {401}


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "127.0.0.1"])
def test_a_name_that_somebody_has_pointed_here_is_not_ours(served: Served, host: str) -> None:
    assert served.status(served.token, Host=host.format(port=served.port)) == 421
    assert served.status(served.token, Host=f"localhost:{served.port}") == 200


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:{port}", "null", ""])
def test_a_page_of_a_browser_is_refused_even_with_the_token(served: Served, origin: str) -> None:
    assert served.status(served.token, Origin=origin.format(port=served.port)) == 403


def test_nobody_else_reaches_it(served: Served) -> None:
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("there is no /proc")
    addresses = {line.split()[1] for line in table.read_text().splitlines()[1:] if line.split()[3] == "0A"}
    assert {entry for entry in addresses if entry.endswith(f":{served.port:04X}")} == {f"0100007F:{served.port:04X}"}


def test_a_body_is_not_endless(served: Served) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    headers = {
        "Authorization": f"Bearer {served.token}",
        "Content-Type": "application/json",
        "Content-Length": "9999999",
    }
    connection.putrequest("POST", "/mcp")
    for name, value in {
        **headers,
        "Content-Length": "99999999",
        "Accept": "application/json, text/event-stream",
    }.items():
        connection.putheader(name, value)
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()


REFUSED = (
    (("--token", "x"), "give --http"),
    (("--http", "70000"), "a port is a number"),
    (("--http", "--token", " "), "the token is empty"),
)


@pytest.mark.parametrize(("words", "said"), REFUSED, ids=lambda value: str(value)[:20])
def test_what_cannot_be_served_is_one_line(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tdb_dap", "mcp", "--root", str(tmp_path), *words]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_token_may_come_from_the_environment(tmp_path: Path) -> None:
    running = Served(tmp_path, token="from there", env={AGENT_TOKEN: "from there"})
    assert running.status("from there") == 200
    running.close()


def test_silent_connections_shut_nobody_out(tmp_path: Path) -> None:
    running = Served(tmp_path)
    silent = [socket.create_connection(("127.0.0.1", running.port), 30) for _ in range(100)]
    assert running.status(running.token) == 200
    first = silent[0]
    first.settimeout(30)
    with contextlib.suppress(ConnectionResetError):
        assert first.recv(1) == b"", "the oldest have made room"
    for one in silent:
        one.close()
    assert running.status(running.token) == 200
    running.close()


def test_clients_that_leave_without_a_word_shut_nobody_out(tmp_path: Path) -> None:
    running = Served(tmp_path)
    assert {running.status(running.token) for _ in range(40)} == {200}
    running.close()


def test_a_stranger_has_some_seconds() -> None:
    closed: list[str] = []

    class Transport:
        def __init__(self, port: int) -> None:
            self.port = port

        def get_extra_info(self, name: str) -> tuple[str, int]:
            return "127.0.0.1", self.port

        def abort(self) -> None:
            closed.append(f"{self.port}")

    async def story() -> None:
        door = Door(strangers=2, admission=0.05)
        for port in (1, 2, 3):
            door.meet(Transport(port))  # type: ignore[arg-type]
        assert closed == ["1"]
        door.admit(("127.0.0.1", 3))
        await anyio.sleep(0.2)
        assert closed == ["1", "2"]

    anyio.run(story)
