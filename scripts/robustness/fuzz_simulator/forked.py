"""The process that holds the vendor's simulator as a copy of this one: many commands end it, and a start takes long."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from typing import IO

from tdb_dap.backends import child
from tdb_dap.backends.cmodel import VendorBackend
from tdb_dap.backends.messages import Setup
from tdb_dap.backends.process import ChildProcess

_STEP = 0.001
"""Seconds between two looks at a process that is waited for."""


class _Copy:
    """A copy of this process that serves a connection; as ``subprocess.Popen``."""

    def __init__(self, connection: socket.socket) -> None:
        reading, writing = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            _serve(connection, writing)
        os.close(writing)
        self.stdout: IO[bytes] = os.fdopen(reading, "rb")
        self.returncode: int | None = None

    def poll(self) -> int | None:
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if end is not None and time.monotonic() > end:
                raise subprocess.TimeoutExpired("copy", timeout or 0)
            time.sleep(_STEP)
        return code

    def kill(self) -> None:
        if self.poll() is None:
            os.kill(self.pid, 9)


def _serve(connection: socket.socket, output: int) -> None:
    try:
        os.setsid()
        for descriptor in (1, 2):
            os.dup2(output, descriptor)
        sys.argv = [sys.argv[0], str(os.dup(connection.fileno()))]
        child.main()
    finally:
        os._exit(1)


class _Process(ChildProcess):
    """A copy of this process in place of one that is started."""

    def _started(self, connection: socket.socket, setup: Setup) -> subprocess.Popen[bytes]:
        return _Copy(connection)  # type: ignore[return-value]


class ForkedBackend(VendorBackend):
    """The vendor's simulator in a copy of this process, where that is possible at all."""

    def _start(self) -> None:
        timeout = self._options["timeout"]
        self._process = _Process(self._shared.setup, timeout)  # type: ignore[arg-type]
        self._registers = ()
        self._stale = True
