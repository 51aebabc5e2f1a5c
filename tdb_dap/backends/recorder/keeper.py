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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import IO

from tdb_dap.errors import BadInput
from tdb_dap.system.child_processes import end_with_children
from tdb_dap.system.scratch import SOCKET_PATH, scratch_directory

_CAPACITY = 1 << 20
_SHARED = struct.Struct("<IIQQ")
"""Process that is recorded, others that would have been, bytes of the stream before the buffer, bytes in it."""

_LENGTH = struct.Struct("<I")
_VARIABLE = "TDB_DAP_RECORDING"
_LOOK = 1.0
"""Seconds after which a buffer that is not full is looked at."""


class Stalled(BadInput):
    """A program was ended because it did nothing for too long."""

    def __init__(self, patience: float) -> None:
        super().__init__(f"given up after {patience:g} seconds in which it executed no command and printed nothing")


class Keeper:
    """One run of a program. ``sink`` gets whole events; what it raises ends the recording, not the program.

    ``error``: the OSError that it raised. ``process``: number of the recorded process, 0 if there was none.
    ``others``: other processes that used the runtime.
    """

    def __init__(self, library: Path, sink: Callable[[bytes | bytearray], None]) -> None:
        self._library = library
        self._sink = sink
        self._taken = 0
        self._moved = 0.0
        self.error: OSError | None = None
        self.others = 0
        self.process = 0

    def run(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        output: IO[bytes] | None = None,
        patience: float | None = None,
    ) -> int:
        """Run to the end; returns the exit code, 128 + n for a signal. BadInput if it cannot be started.

        ``output``: takes what the program prints, if not the terminal. ``patience``: seconds in which it may do nothing
        before it is ended with all that it has started, and Stalled raised; so it is when this process is to end.
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
                    everything = {**environment, **own}
                    if patience is None or output is None:
                        code = _run(command, everything, output)
                    else:
                        code = self._run_watched(command, everything, output, patience)
                finally:
                    listener.shutdown(socket.SHUT_RDWR)
                    reader.join()
                self.process, self.others, _, _ = _SHARED.unpack_from(shared)
        return 128 - code if code < 0 else code

    def _run_watched(
        self, command: Sequence[str], environment: Mapping[str, str], output: IO[bytes], patience: float
    ) -> int:
        self._moved, printed = time.monotonic(), 0
        with _ended_with(lambda: _started(command, environment, output, start_new_session=True)) as child:
            while True:
                try:
                    return child.wait(min(_LOOK, patience))
                except subprocess.TimeoutExpired:
                    size = os.fstat(output.fileno()).st_size
                    if size != printed:
                        self._moved, printed = time.monotonic(), size
                    if time.monotonic() - self._moved > patience:
                        raise Stalled(patience) from None

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
        if part:
            self._moved = time.monotonic()
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
    requests: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGTERM:
            requests.append(number)
            for child in children:
                child.terminate()

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)}
    try:
        children.append(_started(command, environment, output))
        if requests:  # before it was known here that the program runs
            children[0].terminate()
        return children[0].wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _started(
    command: Sequence[str], environment: Mapping[str, str], output: IO[bytes] | None, start_new_session: bool = False
) -> subprocess.Popen[bytes]:
    shown = None if output is None else subprocess.STDOUT
    try:
        return subprocess.Popen(
            command, env=environment, stdout=output, stderr=shown, start_new_session=start_new_session
        )
    except OSError as error:
        raise BadInput(f"{command[0]}: cannot be started: {error.strerror or error}") from None


@contextmanager
def _ended_with(start: Callable[[], subprocess.Popen[bytes]]) -> Iterator[subprocess.Popen[bytes]]:
    """A child; at the end, and when this process is to end, it is ended with all that it has started."""
    children: list[subprocess.Popen[bytes]] = []
    requests: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        requests.append(number)
        for child in children:
            end_with_children(child)
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    is_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGTERM, end) if is_main else None
    try:
        child = start()
        children.append(child)
        if requests:  # before it was known here that the child runs
            end(requests[0], None)
        try:
            yield child
        finally:
            if child.poll() is None:
                end_with_children(child)
    finally:
        if is_main:
            signal.signal(signal.SIGTERM, before)


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
