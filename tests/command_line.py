"""The command line: in this process where words, texts and exit codes are the point, or in one of its own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from unittest.mock import patch

from tdb_dap.cli.main import main


def tdb_dap(*words: object, typed: str = "") -> subprocess.CompletedProcess[str]:
    """``tdb-dap`` with these words, in this process; ``typed``: what it reads from a pipe."""
    given = [str(word) for word in words]
    streams = [_stream(typed.encode()), _stream(), _stream()]
    own = patch.multiple(sys, stdin=streams[0], stdout=streams[1], stderr=streams[2])
    with own, patch.dict(os.environ):  # a process keeps what it sets to itself
        code = main(given)
    for stream in streams:
        stream.flush()
    printed, said = (stream.buffer.getvalue().decode() for stream in streams[1:])  # type: ignore[attr-defined]
    return subprocess.CompletedProcess(given, code, printed, said)


def new_process(*words: object, typed: str = "") -> subprocess.CompletedProcess[str]:
    """``tdb-dap`` with these words as the shell starts it."""
    command = [sys.executable, "-m", "tdb_dap", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, input=typed)


def _stream(content: bytes = b"") -> io.TextIOWrapper:
    """A standard stream of a process: not of a terminal, and in UTF-8."""
    return io.TextIOWrapper(io.BytesIO(content), encoding="utf-8", newline="\n")
