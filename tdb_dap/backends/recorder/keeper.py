"""Run a program with the recorder's library before its own, and take the events that it makes.

The library writes events into a buffer that both processes map; a full buffer comes through a socket. So nothing of a
program that is killed is lost, a program whose keeper is killed goes on, and a recording grows while nothing is full.
"""

from __future__ import annotations

import mmap
import os
import select
import signal
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO

from tdb_dap.errors import BadInput
from tdb_dap.system.scratch import SOCKET_PATH, scratch_directory

_CAPACITY = 1 << 20
_SHARED = struct.Struct("<IIQQ")
"""Process that is recorded, others that would have been, bytes of the stream before the buffer, bytes in it."""

_LENGTH = struct.Struct("<I")
_VARIABLE = "TDB_DAP_RECORDING"
_LOOK = 1.0
"""Seconds after which a buffer that is not full is looked at."""


class Keeper:
    """One run of a program. ``sink`` gets whole events; what it raises ends the recording, not the program.

    ``error``: the OSError that it raised. ``process``: number of the recorded process, 0 if there was none.
    ``others``: other processes that used the runtime.
    """

    def __init__(self, library: Path, sink: Callable[[bytes | bytearray], None]) -> None:
        self._library = library
        self._sink = sink
        self._taken = 0
        self.error: OSError | None = None
        self.others = 0
        self.process = 0

    def run(self, command: Sequence[str], environment: Mapping[str, str], output: IO[bytes] | None = None) -> int:
        """Run to the end; returns the exit code, 128 + n for a signal. BadInput if it cannot be started.

        ``output``: takes what the program prints, if not the terminal.
        """
        with scratch_directory(SOCKET_PATH) as folder:
            with (folder / "buffer").open("w+b") as file:
                _reserve(file.fileno(), _SHARED.size + _CAPACITY, folder)
                shared = mmap.mmap(file.fileno(), _SHARED.size + _CAPACITY)
            with shared, socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(str(folder / "socket"))
                listener.listen(1)
                preload = [str(self._library), *filter(None, [environment.get("LD_PRELOAD")])]
                reader = threading.Thread(target=self._read, args=(listener, shared))
                reader.start()
                try:
                    own = {_VARIABLE: str(folder), "LD_PRELOAD": ":".join(preload)}
                    code = _run(command, {**environment, **own}, output)
                finally:
                    listener.shutdown(socket.SHUT_RDWR)
                    reader.join()
                self.process, self.others, _, _ = _SHARED.unpack_from(shared)
        return 128 - code if code < 0 else code

    def _read(self, listener: socket.socket, shared: mmap.mmap) -> None:
        """Take the stream until its end, then what is left in the buffer."""
        try:
            connection, _ = listener.accept()
        except OSError:  # nothing was recorded
            return
        with connection:
            start = 0
            while self.error is None:
                if not select.select([connection], [], [], _LOOK)[0]:
                    self._look(shared)
                elif (part := _frame(connection)) is None:
                    break
                else:
                    self._keep(part[self._taken - start :])
                    start += len(part)
            self._look(shared)

    def _look(self, shared: mmap.mmap) -> None:
        """Take from the buffer what is not taken yet."""
        _, _, start, used = _SHARED.unpack_from(shared)
        if start <= self._taken < start + used:
            part = shared[_SHARED.size + self._taken - start : _SHARED.size + used]
            if _SHARED.unpack_from(shared)[2] == start:  # else it has been sent meanwhile
                self._keep(part)

    def _keep(self, part: bytes | bytearray) -> None:
        self._taken += len(part)
        if not part or self.error is not None:
            return
        try:
            self._sink(part)
        except OSError as error:
            self.error = error


def _reserve(file: int, size: int, folder: Path) -> None:
    """Make room on the disk: a program that writes into a mapped file for which there is none would be ended."""
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        raise BadInput(f"{folder}: cannot be written: {error.strerror}; TMPDIR names another place") from None


def _run(command: Sequence[str], environment: Mapping[str, str], output: IO[bytes] | None) -> int:
    """Run, and leave the signals of the terminal to the program; a request to end is passed on to it."""
    children: list[subprocess.Popen[bytes]] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        for child in children if number == signal.SIGTERM else ():
            child.terminate()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)}
    try:
        shown = None if output is None else subprocess.STDOUT
        children.append(subprocess.Popen(command, env=environment, stdout=output, stderr=shown))
        return children[0].wait()
    except OSError as error:
        raise BadInput(f"{command[0]}: cannot be started: {error.strerror or error}") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _frame(connection: socket.socket) -> bytearray | None:
    """One buffer of whole events; None at the end of the stream, and for one that is cut off."""
    length = _exactly(connection, _LENGTH.size)
    return None if length is None else _exactly(connection, _LENGTH.unpack(length)[0])


def _exactly(connection: socket.socket, size: int) -> bytearray | None:
    data = bytearray(size)
    view = memoryview(data)
    while view:
        try:
            count = connection.recv_into(view)
        except OSError:
            return None
        if not count:
            return None
        view = view[count:]
    return data
