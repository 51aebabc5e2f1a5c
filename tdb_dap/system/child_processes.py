"""Starting modules of this package in processes of their own, and running programs that are not of this package."""

from __future__ import annotations

import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

_RUN = (
    "import sys; sys.path[:] = [place for place in sys.path if place]; "
    "import runpy; runpy.run_module({!r}, run_name='__main__', alter_sys=True)"
)

_MODULE = "--run-module"
"""What a frozen program is given in place of a subcommand to run a module."""

_LIBRARY_PATHS = ("LD_LIBRARY_PATH", "LIBPATH")
"""Variables that the frozen program's start changes, keeping them as NAME_ORIG."""

_PACKAGE = __name__.partition(".")[0]


class Process(Protocol):
    """Interface of a process that leads a separate session; ``subprocess.Popen`` has it."""

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...

    def kill(self) -> None: ...


def is_frozen() -> bool:
    """Whether this is the frozen program, which carries its Python: ``sys.executable`` is then no interpreter."""
    return bool(getattr(sys, "frozen", False))


def command(module: str) -> tuple[str, ...]:
    """Command that starts a module; arguments are added after it.

    Not ``python -m``: that looks for every module in the working directory first, which may be the directory of a model
    that somebody else has made, with a ``json.py`` in it.
    """
    if is_frozen():
        return sys.executable, _MODULE, module
    return sys.executable, "-c", _RUN.format(module)


def outside_environment() -> dict[str, str]:
    """Environment for programs that are not this one.

    The frozen program is started with its own libraries before all others; another program would load them, too, and
    not work. https://pyinstaller.org/en/stable/runtime-information.html#ld-library-path-libpath-considerations
    """
    environment = dict(os.environ)
    if is_frozen():
        for name in _LIBRARY_PATHS:
            environment.pop(name, None)
            if (before := environment.pop(f"{name}_ORIG", None)) is not None:
                environment[name] = before
    return environment


def run_logged(
    words: Sequence[str], folder: Path, log: Path, patience: float, environment: Mapping[str, str] | None = None
) -> int | None:
    """Run a program in a folder; its exit code, or None if it was ended after ``patience`` seconds.

    ``log`` gets all that it prints; ``environment``: None for ``outside_environment``. What it has started ends with
    it. OSError if it cannot be started.
    """
    with log.open("wb") as output:
        child = subprocess.Popen(
            words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=outside_environment() if environment is None else environment,
            start_new_session=True,
        )
        try:
            return child.wait(patience)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if child.poll() is None:
                end_with_children(child)


def exit_text(code: int) -> str:
    """``code 3``, or the signal that has ended a process: ``SIGSEGV``."""
    if code >= 0:
        return f"code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"


def end_with_children(child: Process) -> None:
    """End a process that leads a separate session, and all that it has started."""
    if hasattr(os, "killpg"):
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
    child.kill()
    child.wait()


def run_requested_module(arguments: Sequence[str]) -> bool:
    """Run the module that a command line of :func:`command` names, in the frozen program; False if it names none.

    ``arguments``: the command line after the program. Only modules of this package are run.
    """
    if len(arguments) < 2 or arguments[0] != _MODULE or arguments[1].partition(".")[0] != _PACKAGE:
        return False
    sys.argv[1:3] = []
    runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    return True
