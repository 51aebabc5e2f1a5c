"""A process that has loaded what calls need, and forks a worker for each: loading takes longer than most calls.

Not ``multiprocessing``'s: that looks for modules in the working directory, and its workers lead no sessions.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from tdb_dap.system import worker_process
from tdb_dap.system.child_processes import command
from tdb_dap.system.confinement import confine

_NUMBER = 4
"""Bytes of a number between the processes: of a length, a process, a code."""

_MOST_DESCRIPTORS = 1 << 16
"""Those above standard error are of the server and of other workers: a worker closes them."""

_BLAS_THREADS = "OPENBLAS_NUM_THREADS"


class Forked:
    """A worker of a ``ForkServer``; its methods are those of ``subprocess.Popen``."""

    def __init__(self, channel: socket.socket) -> None:
        self.returncode: int | None = None
        self._channel = channel
        pid = self._number()
        if pid is None:
            channel.close()
            raise OSError("the process that starts workers has ended")
        self.pid = pid

    def poll(self) -> int | None:
        """Its code if it has ended."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its code, after its end; ``subprocess.TimeoutExpired`` after so many seconds."""
        if self.returncode is None:
            ends = select.poll()  # not select(): with many cases at a time its descriptors are above a thousand
            ends.register(self._channel, select.POLLIN)
            if not ends.poll(None if timeout is None else timeout * 1000):
                raise subprocess.TimeoutExpired("worker", timeout or 0)
            code = self._number()
            if code is None:  # nobody is left who knows
                self.kill()
            self.returncode = -signal.SIGKILL if code is None else code
            self._channel.close()
        return self.returncode

    def kill(self) -> None:
        """End it, and all that it has started."""
        if self.returncode is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)

    def _number(self) -> int | None:
        data = self._channel.recv(_NUMBER, socket.MSG_WAITALL)
        return int.from_bytes(data, "little", signed=True) if len(data) == _NUMBER else None


class ForkServer:
    """``modules``: what workers need. At the end of a ``with`` it ends, with all workers."""

    def __init__(self, modules: Sequence[str]) -> None:
        self._lock = threading.Lock()
        self._control, its_end = socket.socketpair()
        with its_end:
            words = [*command(__name__), *modules]
            self._process = subprocess.Popen(
                words, stdin=its_end.fileno(), stdout=subprocess.DEVNULL, start_new_session=True
            )

    @staticmethod
    def is_possible() -> bool:
        """Whether this system forks processes that have loaded libraries."""
        return sys.platform == "linux"

    def start(self, call: int, result: int, errors: int, folder: Path | None) -> Forked:
        """A worker for the call in a file, with descriptors for its result and its errors. OSError if there is none."""
        ours, its_end = socket.socketpair()
        text = os.fsencode(folder or Path.cwd())
        with its_end, self._lock:
            first = len(text).to_bytes(_NUMBER, "little")
            socket.send_fds(self._control, [first], [call, result, errors, its_end.fileno()])
            self._control.sendall(text)
        return Forked(ours)

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(self, *_: object) -> None:
        self._control.close()
        self._process.wait()


def _serve(control: socket.socket) -> None:
    """Fork a worker for every call, and tell its caller how it has ended, until nobody is left to call."""
    wakes, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)  # only then it wakes
    callers: dict[int, socket.socket] = {}
    try:
        while True:
            ready = select.select([control.fileno(), wakes], [], [])[0]
            if wakes in ready:
                os.read(wakes, 1 << 10)
                _tell_of_ends(callers)
            if control.fileno() in ready and not _take_call(control, callers):
                return
    finally:
        for pid in callers:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL)


def _tell_of_ends(callers: dict[int, socket.socket]) -> None:
    while callers:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        with callers.pop(pid) as caller, suppress(OSError):
            caller.sendall(os.waitstatus_to_exitcode(status).to_bytes(_NUMBER, "little", signed=True))


def _take_call(control: socket.socket, callers: dict[int, socket.socket]) -> bool:
    """Fork the worker of the next call; False if there is none."""
    first, descriptors, _, _ = socket.recv_fds(control, _NUMBER, 4)
    if len(first) < _NUMBER or len(descriptors) < 4:
        return False
    folder = os.fsdecode(control.recv(int.from_bytes(first, "little"), socket.MSG_WAITALL))
    caller = socket.socket(fileno=descriptors[3])
    begun, begins = os.pipe()
    pid = os.fork()
    if not pid:
        _work(descriptors[:3], folder)
    for descriptor in (*descriptors[:3], begins):
        os.close(descriptor)
    os.read(begun, 1)  # nothing comes: it ends when the worker leads a session, for that may have to be ended at once
    os.close(begun)
    callers[pid] = caller
    with suppress(OSError):
        caller.sendall(pid.to_bytes(_NUMBER, "little", signed=True))
    return True


def _work(descriptors: Sequence[int], folder: str) -> NoReturn:
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        os.closerange(3, _MOST_DESCRIPTORS)
        os.chdir(folder)
        worker_process.carry_out()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _main() -> None:
    control = socket.socket(fileno=os.dup(0))
    confine()
    wanted = os.environ.get(_BLAS_THREADS)
    os.environ[_BLAS_THREADS] = "1"  # threads do not outlive a fork
    for name in sys.argv[1:]:
        import_module(name)
    del os.environ[_BLAS_THREADS]
    if wanted is not None:
        os.environ[_BLAS_THREADS] = wanted
    gc.freeze()  # or searches for garbage would make copies of all that workers share
    _serve(control)


if __name__ == "__main__":
    _main()
