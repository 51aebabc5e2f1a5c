"""A call of a function of this package in a separate process: it can be ended, limited and measured from outside.

Not by ``multiprocessing``: that looks for modules in the working directory, which may be that of an untrusted model.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Generic, Protocol, TypeVar

from tdb_dap.errors import TRACEBACKS, TdbError, sentence
from tdb_dap.system.child_processes import Process, command, end_with_children, exit_text
from tdb_dap.system.confinement import confine

_R = TypeVar("_R")


class Died(TdbError):
    """A worker process has ended without a result."""


class Server(Protocol):
    """Starts workers quicker than a new Python does; see ``fork_server``."""

    def start(self, call: int, result: int, errors: int, folder: Path | None) -> Process: ...


class WorkerProcess(Generic[_R]):
    """The call ``function(*arguments)``, which begins at once; both go through ``pickle``.

    ``process`` leads a separate session; ``folder``: its working directory, ``environment``: None for our own. What the
    function prints is dropped. At the end of a ``with`` it is ended, with all that it has started. ``server``: starts
    it, with the server's environment.
    """

    def __init__(
        self,
        function: Callable[..., _R],
        *arguments: Any,
        folder: Path | None = None,
        environment: Mapping[str, str] | None = None,
        server: Server | None = None,
    ) -> None:
        self._result: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        with tempfile.TemporaryFile() as call:
            pickle.dump((function, arguments), call)
            call.seek(0)
            if server is not None:
                with suppress(OSError):  # it has ended: then as without it
                    files = call.fileno(), self._result.fileno(), self._errors.fileno()
                    self.process: Process = server.start(*files, folder)
                    return
                call.seek(0)
            self.process = subprocess.Popen(
                command(__name__),
                stdin=call,
                stdout=self._result,
                stderr=self._errors,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within ``seconds``."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)
        return self.process.returncode is not None

    def __enter__(self) -> WorkerProcess[_R]:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.returncode is None:
            end_with_children(self.process)
        self._result.close()
        self._errors.close()

    def result(self) -> _R:
        """The result of the function, after its end; TdbError with the text of what it has raised, or Died."""
        code = self.process.wait()
        if code == 0:
            self._result.seek(0)
            is_done, result = pickle.load(self._result)  # noqa: S301  # of our own process
            if not is_done:
                raise TdbError(result)
            value: _R = result
            return value
        self._errors.seek(0)
        lines = [line for line in self._errors.read().decode("utf-8", "replace").splitlines() if line.strip()]
        raise Died(f"its process ended with {exit_text(code)}" + (f": {lines[-1]}" if lines else ""))


def carry_out() -> None:
    """Make the call that is on standard input; its result goes to standard output."""
    with os.fdopen(os.dup(1), "wb") as sink:
        os.dup2(2, 1)
        function, arguments = pickle.load(sys.stdin.buffer)  # noqa: S301  # from our own process
        try:
            result = True, function(*arguments)
        except Exception as error:
            if not isinstance(error, (TdbError, MemoryError)) and os.environ.get(TRACEBACKS):
                raise
            result = False, sentence(error)
        pickle.dump(result, sink)


if __name__ == "__main__":
    confine()
    carry_out()
