"""The debugger's end of the process that holds a vendor library."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import weakref
from collections import deque
from collections.abc import Iterable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import tdb_dap
from tdb_dap.backends.messages import (
    Answer,
    Changed,
    Execute,
    Question,
    Refresh,
    Refused,
    Setup,
    Take,
    answered,
    send,
)
from tdb_dap.errors import BackendFailed, BadInput
from tdb_dap.system.child_processes import command

_KEPT_LINES = 40
"""Lines of the library's output that are kept to be shown when it dies."""

_COMPLAINT = re.compile(r"assert|error|abort|fault|fail", re.IGNORECASE)
_STACK_FRAME = re.compile(r"\[0x[0-9a-f]+\]$")

_CHILD = command("tdb_dap.backends.child")


class ChildProcess:
    """A process that executes commands on a vendor library.

    ``timeout``: seconds that an answer may take before the process counts as hung and is ended; None: any time.
    ``command``: what to start; its last argument will be the number of a file descriptor.
    """

    def __init__(self, setup: Setup, timeout: float | None = None, command: Sequence[str] = _CHILD) -> None:
        self._timeout = timeout
        self._command = command
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        here, there = socket.socketpair()
        with there:
            self._process = self._started(there, setup)
        self._connection = Connection(here.detach())
        self._finish = weakref.finalize(self, _end, self._process, self._connection)
        self._listener = threading.Thread(target=_listen, args=(self._process, self._lines), daemon=True)
        self._listener.start()
        answer = self._ask(setup)
        if isinstance(answer, Refused):
            self.close()
            why = answer.why.removeprefix(f"{setup.library}: ")  # the loader names the file, too
            raise BadInput(f"{setup.library}: cannot be loaded: {why}; get it anew: tdb-dap backends fetch")

    def _started(self, connection: socket.socket, setup: Setup) -> subprocess.Popen[bytes]:
        """The process that serves a connection."""
        return subprocess.Popen(
            [*self._command, str(connection.fileno())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            pass_fds=(connection.fileno(), setup.block[0]),
            start_new_session=True,  # an interrupt from the keyboard is for the debugger
            env={**os.environ, "PYTHONPATH": _search_path()},
        )

    def execute(self, request: Execute) -> tuple[tuple[int, int, int], ...]:
        """Ranges (area, start, stop) that the library has changed; BackendFailed if it did not survive."""
        answer = self._ask(request)
        assert isinstance(answer, Changed)
        return answer.ranges

    def refresh(self) -> None:
        """Have the library's memories brought up to the shared block."""
        self._ask(Refresh())

    def take(self, ranges: tuple[tuple[int, int, int], ...]) -> None:
        """Have ranges copied to the shared block."""
        if ranges:
            self._ask(Take(ranges))

    def close(self) -> None:
        """End the process."""
        self._finish()

    def _ask(self, message: Question) -> Answer:
        try:
            send(self._connection, message)
            if self._timeout is not None and not self._connection.poll(self._timeout):
                self.close()
                raise BackendFailed(f"the vendor's simulator did not finish within {self._timeout:g} seconds")
            return answered(self._connection)
        except (EOFError, OSError):
            raise BackendFailed(self._last_words()) from None

    def _last_words(self) -> str:
        """Exit status of the process, and its last output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        self._listener.join(2)
        code = self._process.poll()
        self.close()
        how = f"exit code {code}"
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                how = signal.Signals(-code).name
        last = telling(self._lines)
        return f"the vendor's simulator has died ({how})" + (f"; its last line: {last}" if last else "")


def telling(lines: Iterable[str]) -> str:
    """Last message of the library: its complaint if it made one, else its last words."""
    spoken = [line.strip() for line in lines if line.strip() and not _STACK_FRAME.search(line)]
    complaints = [line for line in spoken if _COMPLAINT.search(line)]
    return complaints[0] if complaints else " / ".join(spoken[-3:])


def _search_path() -> str:
    """Search path of the process: this package and its dependencies, as here."""
    package = str(Path(tdb_dap.__file__).parent.parent)
    return os.pathsep.join([package, *(entry for entry in sys.path if entry)])


def _listen(process: subprocess.Popen[bytes], lines: deque[str]) -> None:
    """Keep the last lines that the process prints."""
    stream: Any = process.stdout
    with contextlib.suppress(ValueError, OSError):
        for line in stream:
            lines.append(line.decode("utf-8", "replace").rstrip()[:300])


def _end(process: subprocess.Popen[bytes], connection: Connection) -> None:
    connection.close()
    process.kill()
    process.wait()
