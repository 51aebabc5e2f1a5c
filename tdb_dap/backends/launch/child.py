"""The process that runs nets on the vendor's runtime: ``child JOB.json``. Its last line is the reason if it fails."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from tdb_dap.backends.launch.bmrt import Bmrt
from tdb_dap.backends.launch.job import Copy, Failed, Fill, Job, Launch, Piece, Runtime
from tdb_dap.backends.launch.tpuv7 import Tpuv7

_INTERFACES: dict[str, Callable[[str, ctypes.CDLL], Runtime]] = {"bmrt": Bmrt, "tpuv7": Tpuv7}


def main(path: str) -> int:
    """0, or 1 with the reason on standard error."""
    job = Job.read(Path(path))
    try:
        for library in job.libraries:
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
        # Looked up as a program linked with the libraries would: what is loaded before them is asked first.
        runtime = _INTERFACES[job.interface](job.model, ctypes.CDLL(None))
        _Host(job, runtime).carry_out()
        runtime.close()
    except (OSError, Failed) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


class _Host:
    """The memory of the host: inputs and outputs of all nets."""

    def __init__(self, job: Job, runtime: Runtime) -> None:
        self._job = job
        self._runtime = runtime
        self._data = Path(job.data).read_bytes()
        self._buffers = [[[bytearray(b.size) for b in part] for part in (net.given, net.made)] for net in job.nets]
        self._results = Path(job.results).open("wb") if job.results else None  # noqa: SIM115

    def carry_out(self) -> None:
        """All steps in order."""
        for step in self._job.steps:
            if isinstance(step, Launch):
                self._launch(step)
            elif isinstance(step, Fill):
                self._put(step.to, self._data[step.at : step.at + step.to.size])
            elif isinstance(step, Copy):
                self._put(step.to, self._bytes(step.source))
            else:
                index = _numbers(self._bytes(step.source), step.format).argmax()
                self._put(step.to, np.int32(index).tobytes())
        if self._results is not None:
            self._results.close()

    def _launch(self, step: Launch) -> None:
        given, made = self._buffers[step.net]
        net = self._job.nets[step.net]
        if step.given:
            net = msgspec.structs.replace(net, given=step.given, in_place=True)
        words_given = [bytes(buffer[: border.size]) for buffer, border in zip(given, net.given, strict=True)]
        for buffer, words in zip(made, self._runtime.launch(net, words_given), strict=True):
            buffer[:] = words
            if self._results is not None:
                self._results.write(words)

    def _bytes(self, piece: Piece) -> bytes:
        buffer = self._buffers[piece.net][int(piece.is_output)][piece.index]
        return bytes(buffer[piece.start : piece.start + piece.size])

    def _put(self, piece: Piece, data: bytes) -> None:
        buffer = self._buffers[piece.net][int(piece.is_output)][piece.index]
        buffer[piece.start : piece.start + piece.size] = data


def _numbers(data: bytes, name: str) -> np.ndarray[Any, np.dtype[Any]]:
    if name == "bf16":
        return (np.frombuffer(data, "<u2").astype(np.uint32) << np.uint32(16)).view(np.float32)
    return np.frombuffer(data, {"f32": "<f4", "f16": "<f2"}[name])


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of the emulators do not always end.
    os._exit(code)
