"""Whether an agents' server bears many clients, half of them rude.

    python benchmarks/soak_agents.py [--clients 200] [--at-once 8] [--write]

One server over HTTP; every second client opens the bundled sample and asks it something, the others do one thing each
that a client must not: leave in the middle of a request, say nothing, send what is no HTTP, no JSON or a wrong token,
promise a body that never comes, cancel, drop the connection before the answer. Some of each kind are there at once.
Printed: polite clients that were answered, the least that is resident of the server, open and running in the second and
in the last tenth, and what it has written to stderr. Exit code 1 if a polite client was not answered, if the server has
grown by more than 10 MB or left anything open, or if a process or file of it is left when it has been told to end.
``--write`` puts the figures into docs/hardening.md.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
SAMPLE = ROOT / "tdb_dap" / "sample"
sys.path.insert(0, str(ROOT))

from benchmarks.soak import Listener, least  # noqa: E402
from scripts import figures  # noqa: E402

_GROWTH = 10.0
_PATIENCE = 10.0
"""Seconds that processes of the server have to notice that it has ended."""
_QUESTIONS: tuple[tuple[str, dict[str, str], str], ...] = (
    ("trace", {"point": "max(out[0]) at tpu.Conv2D"}, "2 hits"),
    ("read_tensor", {"expression": "in[0]"}, "f32"),
    ("explain", {"place": "B3"}, "B3"),
    ("sanitize", {}, "no errors"),
)


class Visit:
    """The requests of one client."""

    def __init__(self, server: Listener) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
        self.headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "Authorization": f"Bearer {server.token}",
        }
        self._id = 0

    def ask(self, method: str, **params: Any) -> Any:
        """Send a request, and return its result."""
        self._id += 1
        body = {"jsonrpc": "2.0", "method": method, "params": params, "id": self._id}
        self._connection.request("POST", "/mcp", json.dumps(body), self.headers)
        response = self._connection.getresponse()
        if (session := response.getheader("mcp-session-id")) is not None:
            self.headers["mcp-session-id"] = session
        texts = response.read().decode()
        for line in texts.splitlines():
            text = line.removeprefix("data:").strip()
            if text.startswith("{") and (message := json.loads(text)).get("id") == self._id:
                return message["result"]
        raise ValueError(f"{response.status}: {texts[:200]}")

    def begin(self) -> None:
        """Say hello."""
        client = {"name": "soak", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)
        self.notify("notifications/initialized")

    def notify(self, method: str, **params: Any) -> None:
        """Send a message that has no answer."""
        body = {"jsonrpc": "2.0", "method": method, "params": params}
        self._connection.request("POST", "/mcp", json.dumps(body), self.headers)
        self._connection.getresponse().read()

    def tool(self, name: str, **arguments: Any) -> str:
        """Call a tool; its text."""
        return str(self.ask("tools/call", name=name, arguments=arguments)["content"][0]["text"])

    def raw(self) -> socket.socket:
        """The connection itself."""
        if self._connection.sock is None:
            self._connection.connect()
        assert self._connection.sock is not None
        return self._connection.sock

    def close(self) -> None:
        if "mcp-session-id" in self.headers:
            self._connection.request("DELETE", "/mcp", headers=self.headers)
            self._connection.getresponse().read()
        self._connection.close()


def polite(server: Listener, root: Path, number: int) -> bool:
    """Open the sample and ask; whether the answers are right. All clients share one session."""
    visit = Visit(server)
    visit.begin()
    opened = visit.tool("open", context=str(root / "sample"), inputs=str(root / "sample" / "input.npz"))
    name, arguments, expected = _QUESTIONS[number % len(_QUESTIONS)]
    answer = visit.tool(name, **arguments)
    visit.close()
    return "58 commands" in opened and expected in answer


def _half(visit: Visit) -> None:
    visit.raw().sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthoriz")


def _nothing(visit: Visit) -> None:
    visit.raw()
    time.sleep(0.2)


def _noise(visit: Visit) -> None:
    visit.raw().sendall(random.Random(0).randbytes(4096))


def _promise(visit: Visit) -> None:
    head = "".join(f"{name}: {value}\r\n" for name, value in visit.headers.items())
    visit.raw().sendall(f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n{head}Content-Length: 1000000\r\n\r\n{{".encode())


def _no_json(visit: Visit) -> None:
    visit.raw()
    visit._connection.request("POST", "/mcp", "{" * 1000, visit.headers)
    visit._connection.getresponse().read()


def _stranger(visit: Visit) -> None:
    visit.headers["Authorization"] = "Bearer wrong"
    visit._connection.request("POST", "/mcp", "{}", visit.headers)


def _leaver(visit: Visit) -> None:
    """Ask something long, and be gone before the answer."""
    visit.begin()
    body = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "check", "arguments": {}}}
    visit._connection.request("POST", "/mcp", json.dumps(body), visit.headers)
    time.sleep(0.05)


def _without_end(visit: Visit) -> None:
    """Begin a session, and never end it."""
    visit.begin()


RUDE: tuple[Callable[[Visit], None], ...] = (
    _half,
    _nothing,
    _noise,
    _promise,
    _no_json,
    _stranger,
    _leaver,
    _without_end,
)


def rude(server: Listener, number: int) -> None:
    """One thing that a client must not do; then the connection is dropped."""
    visit = Visit(server)
    try:
        RUDE[number % len(RUDE)](visit)
    except (OSError, http.client.HTTPException):
        pass  # it was thrown out, which is its right
    finally:
        visit._connection.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--write", action="store_true", help="write the figures into docs/hardening.md")
    arguments = parser.parse_args()
    said = []
    with tempfile.TemporaryDirectory() as folder:
        root, scratch = Path(folder) / "root", Path(folder) / "scratch"
        scratch.mkdir()
        shutil.copytree(SAMPLE, root / "sample")
        server = Listener(["mcp", "--root", str(root), "--http", "0"], scratch)
        answered, states = 0, []

        def client(number: int) -> bool:
            if number % 2:
                rude(server, number // 2)
                return False
            return polite(server, root, number // 2)

        started = time.monotonic()
        with ThreadPoolExecutor(arguments.at_once) as pool:
            for done in pool.map(client, range(arguments.clients)):
                answered += done
                states.append(server.state())
        seconds = time.monotonic() - started
        tenth = max(1, arguments.clients // 10)
        before, after = least(states[tenth : 2 * tenth]), least(states[-tenth:])
        wanted = (arguments.clients + 1) // 2
        said.append(
            f"{arguments.clients:,} clients of agents, {arguments.at_once} at once, {seconds:.0f} s: {answered} of "
            f"{wanted} polite ones answered; {before[0]:.1f} MB in the second tenth, {after[0]:.1f} MB in the "
            f"last; files {before[1]} and {after[1]}, threads {before[2]} and {after[2]}"
        )
        children = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True)
        server.process.send_signal(signal.SIGTERM)
        code = server.process.wait(60)
        until = time.monotonic() + _PATIENCE
        alive = children.stdout.split()
        while alive and time.monotonic() < until:
            time.sleep(0.1)
            alive = [number for number in alive if Path(f"/proc/{number}").exists()]
        left = sorted(path.name for path in scratch.rglob("*"))
        complaints = server.complaints()
        said.append(
            f"ended with code {code}: {len(alive)} child(ren) left, {len(left)} file(s) left, "
            f"{len(complaints)} line(s) on stderr"
        )
        print(*said, *complaints[:10], *left[:10], sep="\n")
    if arguments.write:
        figures.write("soak-agents", [f"- {line}" for line in said])
    grown = after[0] - before[0] > _GROWTH or after[1] > before[1] + 2 or after[2] > before[2] + 2
    return int(answered < wanted or grown or bool(alive or left or complaints))


if __name__ == "__main__":
    sys.exit(main())
