"""The debug session of an agent: one model, and the tools of the command line on its files."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tdb_dap.adapter.protocol.client import Client
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.confinement import environment
from tdb_dap.system.worker_process import WorkerProcess
from tdb_dap.terminal.console import Console
from tdb_dap.terminal.view import View
from tdb_dap.tools.model_options import ModelOptions

_R = TypeVar("_R")

_LONGEST = 300
"""Characters of a line that an agent may give."""

_PATIENCE = 3600.0
"""Seconds after which a tool is ended."""

_PAUSE = 0.2


class Session:
    """``roots``: directories whose files may be opened; ``may_edit``: whether values are changed.

    One question at a time: the debugger has one present.
    """

    def __init__(self, roots: Sequence[Path], may_edit: bool = False) -> None:
        self._roots = [root.resolve() for root in roots]
        self.may_edit = may_edit
        self.lock = threading.Lock()
        self._stream = io.StringIO()
        self._client: Client | None = None
        self._console: Console | None = None
        self.context: Path | None = None
        self.opened = 0
        """How many times a model was opened."""
        self.check_page = ""
        self._inputs: Path | None = None
        self._references: tuple[Path, ...] = ()
        self._bookmarks: dict[str, int] = {}

    def close(self) -> None:
        """End the session, if there is one."""
        if self._client is not None:
            self._client.close()
        self._client = self._console = None

    def allowed(self, path: str) -> Path:
        """A path, if it is below one of the roots; links are followed first. BadInput says which roots there are."""
        try:
            resolved = Path(path).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):
            raise BadInput(f"{path[:100]!r}: is no path") from None
        if not any(resolved.is_relative_to(root) for root in self._roots):
            raise BadInput(f"{path[:200]}: not below {', '.join(map(str, self._roots))}, which this server may read")
        if not resolved.exists():
            raise BadInput(f"{path[:200]}: no such file or directory")
        return resolved

    def allowed_new(self, path: str) -> Path:
        """A path for something new below one of the roots."""
        target = Path(path).expanduser()
        parent = self.allowed(str(target.parent))
        if target.name in ("", ".", "..") or (parent / target.name).exists():
            raise BadInput(f"{path[:200]}: give the name of a new folder")
        return parent / target.name

    def open(self, context: str, inputs: str, reference: str) -> str:
        """Load a model and stop before its first command; what the debugger says of it."""
        model = self.allowed(context)
        configuration: dict[str, object] = {"program": str(model), "stopOnExit": True, "allowPython": False}
        own_inputs = self.allowed(inputs) if inputs else None
        references = (self.allowed(reference),) if reference else ()
        if own_inputs is not None:
            configuration["inputs"] = str(own_inputs)
        if references:
            configuration["reference"] = [str(path) for path in references]
        self.close()
        self._stream = io.StringIO()
        client = Client.spawn(timeout=None, environment=environment(self._roots))
        console = Console(client, View(self._stream))
        try:
            console.start(configuration, ())
        except BaseException:
            client.close()
            raise
        self._client, self._console, self.context = client, console, model
        self._inputs, self._references = own_inputs, references
        self._bookmarks = {}
        self.check_page = ""
        self.opened += 1
        return self._taken()

    def look(self, line: str) -> str:
        """Carry out a line that looks: ``p``, ``who``, ``explain``."""
        return self.ask(line)

    def stop_at(self, place: str, condition: str, show: bool) -> str:
        """Run until a place is reached where a condition holds. ``show``: only in the session of a user."""
        self._require_future()
        return self.ask(f"until {place}" + (f" if {condition}" if condition else ""))

    def travel(self, direction: str, count: int, show: bool) -> str:
        """Go ``to`` command ``count``, ``forward`` or ``back`` by ``count`` ops, to the ``start`` or the ``end``."""
        lines = {
            "to": f"goto {max(0, count)}",
            "forward": f"n {max(1, count)}",
            "back": f"rn {max(1, count)}",
            "start": "s",
            "end": "c",
        }
        if direction in ("forward", "end"):
            self._require_future()
        return self.ask(lines[direction])

    def where(self) -> str:
        """The open model and the moment: ``toy at command 9 of 58``; empty if none is open."""
        if self._console is None or self._console.over or self.context is None:
            return ""
        done, count = self._progress()
        return f"{self.context.name} at command {done} of {count}"

    def _progress(self) -> tuple[int, int]:
        """Commands that are executed, and how many there are."""
        words = self.ask("info progress").replace(",", "").split()
        done, count = [int(word) for word in words if word.isdigit()][:2]
        return done, count

    def _require_future(self) -> None:
        done, count = self._progress()
        if done == count:
            raise BadInput("the program is at its end: travel 'back', 'start' or 'to' a command first")

    def remembered(self) -> str:
        """The moments that are remembered, a line each."""
        return "\n".join(f"{key}: command {moment}" for key, moment in self._bookmarks.items())

    def bookmark(self, name: str) -> str:
        """Remember this moment under a name, if one is given; all that are remembered."""
        if name:
            self._bookmarks[name] = self._progress()[0]
        return self.remembered()

    def ask(self, line: str) -> str:
        """Carry out one line of the console; what it prints. TdbError if it cannot be done, or nothing is open."""
        if self._console is None or self._console.over:
            raise BadInput("no model is open; call open with the directory of a compiled model")
        if len(line) > _LONGEST or not line.isprintable():
            raise BadInput(f"give one line of at most {_LONGEST} characters")
        done = self._console.do(line)
        reply = self._taken()
        if not done:
            raise TdbError(reply or "that cannot be done")
        return reply

    def _taken(self) -> str:
        text = self._stream.getvalue()
        self._stream.seek(0)
        self._stream.truncate()
        return text.rstrip()

    def run(self, function: Callable[..., _R], *arguments: Any, is_stopped: Callable[[], bool]) -> _R:
        """Call a function in a separate process; TdbError if it fails, is stopped or takes too long.

        The process keeps the server responsive, can be ended at any moment, and gives the memory back.
        """
        deadline = time.monotonic() + _PATIENCE
        with WorkerProcess(function, *arguments, environment=environment(self._roots)) as worker:
            while not worker.wait(_PAUSE):
                is_late = time.monotonic() > deadline
                if is_stopped() or is_late:
                    name = function.__name__.removeprefix("run_")
                    raise TdbError(f"{name}: was ended" + ("; it took an hour" if is_late else ""))
            return worker.result()

    def model(self, with_reference: bool = True) -> ModelOptions:
        """The open model and its data; BadInput if none is open."""
        if self.context is None:
            raise BadInput("no model is open; call open with the directory of a compiled model")
        return ModelOptions(self.context, self._inputs, self._references if with_reference else ())

    def files(self, with_reference: bool = True) -> list[str]:
        """The words for the open model and its data on a command line."""
        model = self.model(with_reference)
        words = [str(model.context), *(("--inputs", str(model.inputs)) if model.inputs is not None else ())]
        return [*words, "--reference", *map(str, model.references)] if model.references else words
