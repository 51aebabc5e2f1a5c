"""Calls of one function with many arguments, in order: in this process, or in a forked worker."""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import select
import signal
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any, Generic, NoReturn, Protocol, TypeVar

import numpy as np

from tdb_dap.errors import TdbError
from tdb_dap.system.parent_watchdog import interrupts_blocked

_T = TypeVar("_T")
_R = TypeVar("_R")
_Argument = TypeVar("_Argument", contravariant=True)

_ROOM = 16 << 20
"""Bytes of arrays of the arguments that wait for the copy, or that it works on."""
_LINE = 64
"""Alignment of arrays, in bytes."""
_PAUSE = 0.0005
"""Seconds between two checks for free space."""

_ASKED = "asked"
"""In place of an argument: send all results."""
_FAILED = "failed"
"""In place of results: a call failed."""


class Calls(Protocol[_Argument, _R]):
    """Calls of a function. Arrays of the arguments must not be kept by it."""

    def add(self, argument: _Argument) -> None:
        """Call it; what it raises comes from here, or from a later ``add`` or ``results``."""

    def results(self) -> list[_R]:
        """Everything that was returned since the last time, in the order of the calls."""

    def close(self) -> None:
        """End what still runs."""


class InProcess(Generic[_T, _R]):
    """Calls in this process."""

    def __init__(self, function: Callable[[_T], _R]) -> None:
        self._function = function
        self._results: list[_R] = []

    def add(self, argument: _T) -> None:
        self._results.append(self._function(argument))

    def results(self) -> list[_R]:
        ready, self._results = self._results, []
        return ready

    def close(self) -> None:
        """Nothing to end."""


class ForkedWorker(Generic[_T, _R]):
    """Calls in a forked worker, where the platform allows it (``is_possible``).

    Arrays of arguments go through memory that both share; larger ones are seen to here, when the copy is done with all
    before them. No error crosses from one process to the other: arguments that a call fails for come back with all
    after them, and this process calls the function from there on.
    """

    def __init__(self, function: Callable[[_T], _R]) -> None:
        self._here = InProcess(function)
        self._returned: list[_R] = []
        self._shared = _Shared()
        (theirs, ours), (answer, answers) = os.pipe(), os.pipe()
        with interrupts_blocked():
            self._copy = os.fork()
            if not self._copy:
                os.close(ours)
                os.close(answer)
                _serve(function, self._shared, theirs, answers)
        os.close(theirs)
        os.close(answers)
        self._is_open = True
        self._arguments: IO[bytes] = os.fdopen(ours, "wb", buffering=0)
        self._answers: IO[bytes] = os.fdopen(answer, "rb")

    def add(self, argument: _T) -> None:
        if self._is_open and self._has_answered(0):  # a call has failed
            self._settle()
        if not self._is_open:
            self._here.add(argument)
            return
        buffers: list[pickle.PickleBuffer] = []
        data = pickle.dumps(argument, 5, buffer_callback=buffers.append)
        arrays = [np.frombuffer(buffer.raw(), np.uint8) for buffer in buffers]
        sizes = [array.nbytes for array in arrays]
        if (size := _lines(sizes)) > _ROOM:
            self._settle()
            self._here.add(argument)
            self._returned += self._here.results()
            return
        while not self._shared.has_room(size):
            if self._has_answered(_PAUSE):
                self._settle()
                self.add(argument)
                return
        self._tell((data, self._shared.put(arrays), *sizes))

    def results(self) -> list[_R]:
        if self._is_open:
            self._settle()
        ready, self._returned = [*self._returned, *self._here.results()], []
        return ready

    def close(self) -> None:
        """Kill the worker."""
        if self._is_open:
            self._is_open = False
            self._arguments.close()
            self._answers.close()
            os.kill(self._copy, signal.SIGKILL)
            os.waitpid(self._copy, 0)

    def _has_answered(self, seconds: float) -> bool:
        return bool(select.select([self._answers], [], [], seconds)[0])

    def _settle(self) -> None:
        """Take all results of the copy, or those before a call that has failed, which is made here."""
        self._tell((pickle.dumps(_ASKED), self._shared.put([])))
        try:
            while (answer := _received(self._answers)) == _FAILED:
                pass
        except EOFError:
            raise _ended() from None
        results, left = answer
        self._returned += results
        if left:
            self.close()
            for argument in left:
                self._here.add(_unpickled(argument))

    def _tell(self, thing: object) -> None:
        try:
            _send(self._arguments, thing)
        except BrokenPipeError:
            raise _ended() from None


def is_possible() -> bool:
    """Whether there can be a copy of this process, and a processor for it; copies have none of several threads."""
    return sys.platform == "linux" and processors() > 1 and threading.active_count() == 1


def processors() -> int:
    """Number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Shared:
    """Memory that both processes have, used round and round: one puts arrays into it, the other gives it back.

    Arrays that are put together are consecutive.
    """

    def __init__(self) -> None:
        memory = np.frombuffer(mmap.mmap(-1, _LINE + _ROOM), np.uint8)
        self._given_back = memory[:8].view(np.uint64)
        self._room = memory[_LINE:]
        self._end = 0
        """Of what was put last, counted on and on."""

    def has_room(self, size: int) -> bool:
        """Whether there is room for arrays of this many bytes, in complete lines."""
        given_back = int(self._given_back[0])
        return given_back == self._end or self._end_after(size) - given_back <= _ROOM

    def _end_after(self, size: int) -> int:
        left = _ROOM - self._end % _ROOM
        return self._end + size + (left if size > left else 0)

    def put(self, arrays: list[Any]) -> int:
        """Copy them; where their memory ends."""
        self._end = self._end_after(_lines([array.nbytes for array in arrays]))
        for array, room in zip(arrays, self.arrays(self._end, [array.nbytes for array in arrays]), strict=True):
            room[...] = array
        return self._end

    def arrays(self, end: int, sizes: Sequence[int]) -> list[Any]:
        """The arrays in shared memory, by their sizes in bytes."""
        start = (end - _lines(sizes)) % _ROOM
        arrays = []
        for size in sizes:
            arrays.append(self._room[start : start + size])
            start += _lines([size])
        return arrays

    def give_back(self, end: int) -> None:
        """Nothing that was put until then is needed any more."""
        self._given_back[0] = end


def _lines(sizes: Iterable[int]) -> int:
    """Bytes that arrays take, each in lines of its own."""
    return sum(-(-size // _LINE) * _LINE for size in sizes)


def _serve(function: Callable[[Any], Any], shared: _Shared, arguments: int, answers: int) -> NoReturn:
    """The life of the copy. It prints nothing, and ends with the other process."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        gc.freeze()  # what both have is not to be looked through, which would copy it
        given, answer = os.fdopen(arguments, "rb"), os.fdopen(answers, "wb", buffering=0)
        results: list[Any] = []
        left: list[bytes] = []
        while True:
            data, end, *sizes = _received(given)
            argument = _unpickled(data, shared.arrays(end, sizes))
            if argument == _ASKED:
                _send(answer, (results, left))
                results, left = [], []
            elif left:
                left.append(pickle.dumps(argument))
            else:
                try:
                    results.append(function(argument))
                except Exception:
                    left.append(pickle.dumps(argument))
                    _send(answer, _FAILED)
            del argument
            shared.give_back(end)
    finally:
        os._exit(1)


def _send(file: IO[bytes], thing: object) -> None:
    data = pickle.dumps(thing)
    rest = memoryview(struct.pack("<Q", len(data)) + data)
    while rest.nbytes:
        rest = rest[file.write(rest) :]


def _received(file: IO[bytes]) -> Any:
    """The next thing that was sent; EOFError at the end."""
    size = file.read(8)
    if len(size) < 8:
        raise EOFError
    return _unpickled(file.read(struct.unpack("<Q", size)[0]))


def _unpickled(data: bytes, arrays: Sequence[Any] = ()) -> Any:
    return pickle.loads(data, buffers=arrays)  # noqa: S301  # only copies of this process write to its pipes


def _ended() -> TdbError:
    return TdbError("a copy of this process has ended before its work was done; perhaps there is not enough memory")
