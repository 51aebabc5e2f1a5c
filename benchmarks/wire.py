"""The least DAP client that can time an adapter: no types, no checks, one process."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Adapter:
    """An adapter process on stdio. ``started``: perf_counter() just before the process was made.

    ``program``: another than this Python's package; ``module``: another adapter of this Python; ``root``: the directory
    that the package is taken from.
    """

    def __init__(self, program: Path | None = None, module: str = "tdb_dap.adapter", root: Path | None = None) -> None:
        self.started = time.perf_counter()
        self.process = subprocess.Popen(
            [str(program), "adapter"] if program else [sys.executable, "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=root,  # `python -m` looks there first
        )
        self._seq = 0
        self._events: list[dict[str, Any]] = []

    def elapsed(self) -> float:
        """Seconds since the process was made."""
        return time.perf_counter() - self.started

    def send(self, command: str, **arguments: Any) -> int:
        self._seq += 1
        request = {"seq": self._seq, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(request).encode()
        assert self.process.stdin
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()
        return self._seq

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout
        length = 0
        while (line := self.process.stdout.readline()) != b"\r\n":
            if not line:
                raise EOFError("the adapter has gone")
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return json.loads(self.process.stdout.read(length))

    def answer(self, seq: int) -> dict[str, Any]:
        """The body of the response to a request; RuntimeError if it failed."""
        while True:
            message = self._read()
            if message["type"] == "response" and message["request_seq"] == seq:
                if not message["success"]:
                    raise RuntimeError(message.get("message"))
                return message.get("body") or {}
            self._events.append(message)

    def call(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self.answer(self.send(command, **arguments))

    def event(self, name: str) -> dict[str, Any]:
        """The body of the next event of that name."""
        while True:
            for index, message in enumerate(self._events):
                if message.get("event") == name:
                    return self._events.pop(index).get("body") or {}
            self._events.append(self._read())

    def initialize(self) -> dict[str, Any]:
        """As an editor with a Variables pane."""
        lines = {"linesStartAt1": True, "columnsStartAt1": True, "pathFormat": "path"}
        return self.call("initialize", adapterID="tdb", **lines, supportsVariablePaging=True)

    def launch(self, context: Path, **configuration: Any) -> None:
        """Launch and wait for the stop at the entry."""
        launch = self.send("launch", program=str(context), stopOnEntry=True, **configuration)
        self.event("initialized")
        self.call("configurationDone")
        self.answer(launch)
        self.event("stopped")

    def peak_megabytes(self) -> float:
        """Largest resident size of the process so far (Linux)."""
        return peak_megabytes(self.process.pid)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


def peak_megabytes(pid: int) -> float:
    """VmHWM of a living process in MB; NaN where the system does not tell."""
    try:
        text = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return float("nan")
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("VmHWM")) * 1024 / 1e6
