"""Files of the package that a request goes through, on the bundled sample.

    python -m scripts.structure.traced    one JSON object: request -> files

``python -m scripts.structure --trace`` prints how many.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import tdb_dap
from tdb_dap.adapter.protocol.client import Client

PACKAGE = Path(tdb_dap.__file__).parent
SAMPLE = PACKAGE / "sample"
MOST = {"one expanded tensor": 30}
"""What is measured -> the most files that it may go through."""


class _Files:
    """The files in which a function was entered, on any thread, while it is switched on."""

    def __init__(self) -> None:
        self._on = False
        self._found: set[str] = set()

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if self._on and event == "call" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            self._found.add(Path(frame.f_code.co_filename).relative_to(PACKAGE).as_posix())

    @contextmanager
    def noted(self) -> Iterator[set[str]]:
        """Inside, files are noted."""
        self._found, self._on = set(), True
        try:
            yield self._found
        finally:
            self._on = False


def measured() -> dict[str, list[str]]:
    """Files for setting a breakpoint, for one step, and for one expanded tensor with its first numbers."""
    files = _Files()
    threading.setprofile(files)
    try:
        return dict(_session(files))
    finally:
        threading.setprofile(None)


def _session(files: _Files) -> Iterator[tuple[str, list[str]]]:
    """A session over a socket in this process; what the client itself does is not counted."""
    import socket

    from tdb_dap.adapter.protocol.transports import SocketStream
    from tdb_dap.adapter.server import serve

    near, far = socket.socketpair()
    server = threading.Thread(target=serve, args=(SocketStream(far),))
    server.start()
    client = Client(SocketStream(near))
    client.request("initialize", adapterID="structure", supportsVariablePaging=True)
    launched = client.launch(program=str(SAMPLE), inputs=str(SAMPLE / "input.npz"))

    def watched(name: str, act: Callable[[], Any]) -> tuple[str, list[str]]:
        with files.noted() as found:
            act()
        return name, sorted(found)

    line = next(n for n, text in enumerate((SAMPLE / "final.mlir").read_text().splitlines(), 1) if "tpu.Conv2D" in text)
    source = {"path": str(SAMPLE / "final.mlir")}
    yield watched(
        "setBreakpoints", lambda: client.request("setBreakpoints", source=source, breakpoints=[{"line": line}])
    )
    client.request("configurationDone")
    client.answer(launched)
    client.event("stopped")
    client.request("continue", threadId=1)
    client.event("stopped")

    def step() -> None:
        client.request("next", threadId=1)
        client.event("stopped")

    yield watched("one step", step)
    frame = client.request("stackTrace", threadId=1)["stackFrames"][0]["id"]
    scopes = client.request("scopes", frameId=frame)["scopes"]
    operands = next(scope for scope in scopes if scope["name"] == "Operands")["variablesReference"]
    first = client.request("variables", variablesReference=operands)["variables"][0]["variablesReference"]
    yield watched("one expanded tensor", lambda: client.request("variables", variablesReference=first))
    client.request("disconnect")
    server.join()


def main() -> None:
    """One JSON object: what is measured -> files."""
    json.dump(measured(), sys.stdout)


if __name__ == "__main__":
    main()
