"""Runs command lines in copies of one process that has imported everything: as real as new processes, and quick.

As a program: reads cases as JSON from standard input, and writes a result for each.
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
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NoReturn

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


def run(cases: Sequence[Case], out: Path) -> list[Result]:
    """Run them one after another; each finds the directory ``out`` empty."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.cli.forks", str(out)],
        input=json.dumps([asdict(case) for case in cases]),
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        timeout=_PATIENCE * 5,
    )
    assert done.returncode == 0, done.stderr
    return [Result(**result) for result in json.loads(done.stdout)]


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
        sys.stdin = sys.stdout = sys.stderr = None  # type: ignore[assignment]
    if case.file_limit:
        resource.setrlimit(resource.RLIMIT_FSIZE, (case.file_limit, resource.RLIM_INFINITY))
    code = _end(case.argv)
    if case.file_limit:
        os.close(2)
        os.waitpid(copier, 0)
    os._exit(code)


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


if __name__ == "__main__":
    from tdb_dap.cli.main import MODULES
    from tdb_dap.tools import opening

    assert opening
    for name in MODULES:
        importlib.import_module(MODULES[name])
    cases = [Case(**{**case, "argv": tuple(case["argv"])}) for case in json.load(sys.stdin)]
    json.dump([asdict(_result(case, Path(sys.argv[1]))) for case in cases], sys.stdout)
