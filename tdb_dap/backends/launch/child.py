"""The process that runs a net on the vendor's runtime: ``child JOB.json``. Its last line is the reason if it fails."""

from __future__ import annotations

import ctypes
import os
import sys
from pathlib import Path

from tdb_dap.backends.launch import bmrt, tpuv7
from tdb_dap.backends.launch.job import Job

_INTERFACES = {"bmrt": bmrt.run, "tpuv7": tpuv7.run}


def main(path: str) -> int:
    """0, or 1 with the reason on standard error."""
    job = Job.read(Path(path))
    try:
        for library in job.libraries:
            ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    data = Path(job.inputs).read_bytes()
    words: list[bytes] = []
    for border in job.given:
        words.append(data[: border.size])
        data = data[border.size :]
    # Looked up as a program linked with the libraries would: what is loaded before them is asked first.
    problem = _INTERFACES[job.interface](job, words, ctypes.CDLL(None))
    if problem:
        print(problem, file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    code = main(sys.argv[1])
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of the emulators do not always end.
    os._exit(code)
