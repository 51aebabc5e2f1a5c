"""The debug session of an agent: one model, and the tools of the command line on its files."""

from __future__ import annotations

import io
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from tdb_dap.adapter.protocol.client import Client
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.child_processes import command
from tdb_dap.terminal.console import Console
from tdb_dap.terminal.view import View

_LONGEST = 300
"""Characters of a line that an agent may give."""

_PATIENCE = 3600.0
"""Seconds after which a tool of the command line is ended."""

_PAUSE = 0.2


class Session:
    """``roots``: directories below which everything lies that may be opened; ``may_edit``: whether values are changed.

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
        self.check_page = ""
        self._data: list[str] = []
        self._bookmarks: dict[str, int] = {}

    def close(self) -> None:
        """End the session, if there is one."""
        if self._client is not None:
            self._client.close()
        self._client = self._console = None

    def allowed(self, path: str) -> Path:
        """A path, if it lies below one of the roots; links are followed first. BadInput says which roots there are."""
        try:
            found = Path(path).expanduser().resolve()
        except (OSError, RuntimeError, ValueError):
            raise BadInput(f"{path[:100]!r}: is no path") from None
        if not any(found.is_relative_to(root) for root in self._roots):
            raise BadInput(
                f"{path[:200]}: lies outside of {', '.join(map(str, self._roots))}, which this server may read"
            )
        if not found.exists():
            raise BadInput(f"{path[:200]}: no such file or directory")
        return found

    def allowed_new(self, path: str) -> Path:
        """A path for something new below one of the roots."""
        found = Path(path).expanduser()
        parent = self.allowed(str(found.parent))
        if found.name in ("", ".", "..") or (parent / found.name).exists():
            raise BadInput(f"{path[:200]}: give the name of a new folder")
        return parent / found.name

    def open(self, context: str, inputs: str, reference: str) -> str:
        """Load a model and stop before its first command; what the debugger says of it."""
        model = self.allowed(context)
        configuration: dict[str, object] = {"program": str(model), "stopOnExit": True, "allowPython": False}
        data = []
        for name, given in (("inputs", inputs), ("reference", reference)):
            if given:
                path = str(self.allowed(given))
                data += [f"--{name}", path]
                configuration[name] = [path] if name == "reference" else path
        self.close()
        self._stream = io.StringIO()
        client = Client.spawn(timeout=None)
        console = Console(client, View(self._stream))
        try:
            console.start(configuration, ())
        except BaseException:
            client.close()
            raise
        self._client, self._console, self.context, self._data = client, console, model, data
        self._bookmarks = {}
        return self._taken()

    def look(self, line: str) -> str:
        """Carry out a line that looks: ``p``, ``who``, ``explain``."""
        return self.ask(line)

    def stop_at(self, place: str, condition: str, show: bool) -> str:
        """Run until a place is reached where a condition holds. ``show``: only where a user looks on."""
        self.ask(f"tb {place}" + (f" if {condition}" if condition else ""))
        return self.ask("c")

    def travel(self, direction: str, count: int, show: bool) -> str:
        """Go ``to`` command ``count``, ``forward`` or ``back`` by so many ops, to the ``start`` or the ``end``."""
        lines = {
            "to": f"goto {max(0, count)}",
            "forward": f"n {max(1, count)}",
            "back": f"rn {max(1, count)}",
            "start": "s",
            "end": "c",
        }
        return self.ask(lines[direction])

    def remembered(self) -> str:
        """The moments that are remembered, a line each."""
        return "\n".join(f"{key}: command {moment}" for key, moment in self._bookmarks.items())

    def bookmark(self, name: str) -> str:
        """Remember this moment under a name, if one is given; all that are remembered."""
        if name:
            words = self.ask("info progress").replace(",", "").split()
            self._bookmarks[name] = next((int(word) for word in words if word.isdigit()), 0)
        return self.remembered()

    def ask(self, line: str) -> str:
        """Carry out one line of the console; what it prints. TdbError if it cannot be done, or nothing is open."""
        if self._console is None or self._console.over:
            raise BadInput("no model is open; call open with the directory of a compiled model")
        if len(line) > _LONGEST or not line.isprintable():
            raise BadInput(f"give one line of at most {_LONGEST} characters")
        done = self._console.do(line)
        said = self._taken()
        if not done:
            raise TdbError(said or "that cannot be done")
        return said

    def _taken(self) -> str:
        text = self._stream.getvalue()
        self._stream.seek(0)
        self._stream.truncate()
        return text.rstrip()

    def run(self, words: Sequence[str], is_stopped: Callable[[], bool]) -> tuple[int, str]:
        """A subcommand on the open model; its exit code and what it prints. TdbError if it fails and prints nothing."""
        child = subprocess.Popen(
            [*command("tdb_dap"), *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        left = _PATIENCE
        while True:
            try:
                out, said = child.communicate(timeout=_PAUSE)
                break
            except subprocess.TimeoutExpired:
                left -= _PAUSE
                if is_stopped() or left <= 0:
                    child.kill()
                    child.communicate()
                    raise TdbError(f"{words[0]}: was ended" + ("" if left > 0 else "; it took an hour")) from None
        printed, remarks = (stream.decode("utf-8", "replace").strip() for stream in (out, said))
        if child.returncode not in (0, 1):
            lines = remarks.splitlines()
            why = lines[-1].removeprefix("tdb-dap: error: ") if lines else f"{words[0]} failed"
            if not printed:
                raise TdbError(why)
            return child.returncode, f"{printed}\nnot finished: {why}"
        return child.returncode, "\n".join(filter(None, (printed, remarks)))

    def files(self) -> list[str]:
        """The words for the open model and its data on a command line."""
        if self.context is None:
            raise BadInput("no model is open; call open with the directory of a compiled model")
        return [str(self.context), *self._data]

    @property
    def inputs(self) -> list[str]:
        """The option with the inputs, where there are any."""
        return self._data[:2] if self._data[:1] == ["--inputs"] else []
