"""Runs command lines in copies of one process that has imported everything: as real as new processes, and quick.

As a program: reads lists of cases from standard input, one a line, and writes a line of results for each.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NoReturn

from tdb_dap.adapter.protocol import client

Output = Literal["read", "gone", "full", "closed"]
"""What is printed is read; its reader has gone; the disk is full; or all standard streams are closed."""

_PATIENCE = 100


@dataclass(frozen=True)
class Case:
    """A command line. ``file_limit``: bytes that a file may have, as on a disk that is nearly full; 0: any."""

    argv: tuple[str, ...]
    output: Output = "read"
    file_limit: int = 0


@dataclass(frozen=True)
class Result:
    """What has come of it; ``code``: negative for a signal; ``left``: files in the directory for what is written."""

    code: int
    stdout: str
    stderr: str
    left: list[str]


class Forks:
    """The process that copies are made of."""

    def __init__(self) -> None:
        command = [sys.executable, "-m", "tests.cli.forks"]
        root = Path(__file__).parent.parent.parent
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)

    def run(self, cases: Sequence[Case], out: Path) -> list[Result]:
        """Run them one after another; each finds the directory ``out`` empty."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps([os.fsdecode(out), [asdict(case) for case in cases]]), file=self._process.stdin, flush=True)
        return [Result(**result) for result in json.loads(self._process.stdout.readline())]

    def close(self) -> None:
        """End it, which it does in order."""
        self._process.communicate(timeout=_PATIENCE)
        assert self._process.returncode == 0


def _result(case: Case, out: Path) -> Result:
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if child == 0:
            _act(case, printed.fileno(), errors.fileno())
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        texts = []
        for file in (printed, errors):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "backslashreplace"))
    return Result(status, texts[0], texts[1], sorted(str(path.relative_to(out)) for path in out.rglob("*")))


def _act(case: Case, printed: int, errors: int) -> NoReturn:
    """What Python does from its start to its end, in a copy of this process."""
    signal.alarm(_PATIENCE)
    reader, writer = os.pipe()
    os.close(reader)
    null = os.open(os.devnull, os.O_RDWR)
    full = os.open("/dev/full", os.O_WRONLY) if case.output == "full" else null
    if case.file_limit:
        # What is printed goes into a pipe, which has no limit; it is short.
        reader, errors_pipe = os.pipe()
        os.set_inheritable(reader, False)
        copier = os.fork()
        if copier == 0:
            os.close(errors_pipe)
            while data := os.read(reader, 1 << 16):
                os.write(errors, data)
            os._exit(0)
        os.close(reader)
        errors, printed = errors_pipe, null
    os.dup2(null, 0)
    os.dup2({"gone": writer, "full": full}.get(case.output, printed), 1)
    os.dup2(errors, 2)
    for number in range(3, 64):
        with contextlib.suppress(OSError):
            os.close(number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, closefd=False, encoding="utf-8", errors=errors_)  # noqa: SIM115
        for number, mode, errors_ in ((0, "r", "strict"), (1, "w", "strict"), (2, "w", "backslashreplace"))
    )
    if case.output == "closed":
        for number in range(3):
            os.close(number)
        sys.stdin = sys.stdout = sys.stderr = None
    else:  # what a new process makes of streams that are closed, only a new process shows
        client.subprocess.Popen = _Copy  # type: ignore[attr-defined]
    if case.file_limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (case.file_limit, resource.RLIM_INFINITY))
        sys.dont_write_bytecode = True  # half a module would stay behind for others
    os.environ["PATH"] = os.devnull  # no editors, which would be asked for their versions
    code = _end(case.argv)
    if case.file_limit:
        os.close(2)
        os.waitpid(copier, 0)
    os._exit(code)


class _Copy:
    """A child process that is an adapter, made from this process; ``subprocess.Popen`` as far as a client uses it."""

    def __init__(self, command: Sequence[str], **_: object) -> None:
        assert tuple(command) == client.ADAPTER, command
        self.stderr = None  # it prints to nobody
        from_us, to_us = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            os.dup2(from_us[0], 0)
            os.dup2(to_us[1], 1)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            os.closerange(3, 64)
            sys.stdin, sys.stdout, sys.stderr = (open(number, "r" if number == 0 else "w") for number in range(3))  # noqa: SIM115
            os._exit(_end(["adapter"]))
        os.close(from_us[0])
        os.close(to_us[1])
        self.stdin, self.stdout = open(from_us[1], "wb"), open(to_us[0], "rb")  # noqa: SIM115

    def wait(self, timeout: float | None = None) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _end(argv: Sequence[str]) -> int:
    """Exit code of the command, and of Python when it ends."""
    from tdb_dap.cli.main import main

    try:
        code = main(argv)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            code = 120
    return code


def _warm() -> None:
    """Let everything be loaded that verbs load when they are at work: tables of chips, the kernel, drawing, a server.

    What is loaded is all that is kept; models are opened anew by every command line.
    """
    from tdb_dap.language.server import make_server
    from tests.command_line import tdb_dap
    from tests.samples import SAMPLE

    make_server()
    data = ("--inputs", SAMPLE / "input.npz", "--quiet")
    tdb_dap("check", SAMPLE, *data, "--reference", SAMPLE / "ref.npz")
    tdb_dap("diff", SAMPLE, SAMPLE, *data)
    tdb_dap("sanitize", SAMPLE, *data)
    tdb_dap("profile", SAMPLE, *data)
    tdb_dap("graph", SAMPLE)
    tdb_dap("debug", SAMPLE, "-c", "info")
    tdb_dap("demo")
    tdb_dap("targets")
    started = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    assert not started, f"copies would not have the threads {started}"


if __name__ == "__main__":
    from tdb_dap.cli.main import MODULES
    from tdb_dap.tools import opening

    assert opening
    for name in MODULES:
        importlib.import_module(MODULES[name])
    _warm()
    for line in sys.stdin:
        out, given = json.loads(line)
        cases = [Case(**{**case, "argv": tuple(case["argv"])}) for case in given]
        print(json.dumps([asdict(_result(case, Path(out))) for case in cases]), flush=True)
