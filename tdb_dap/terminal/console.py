"""A session with the adapter, by lines that are typed or come from a script."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tdb_dap.adapter.protocol.client import Client, RequestFailed
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.terminal.view import View

_SHAPE = re.compile(r"\w+\[(\d+(?:,\d+)*)\]")
_ROWS, _VALUES = 8, 6
TRAITS = {
    "clientID": "tdb-dap debug",
    "supportsVariableType": True,
    "supportsVariablePaging": True,
    "supportsProgressReporting": True,
}
"""What this client can do."""


class Console:
    """``over``: the session has ended. ``place``: where the program is, in a few words.

    Expressions are about the innermost frame, as in an editor.
    """

    def __init__(self, client: Client, view: View) -> None:
        self._client = client
        self._view = view
        self._thread = 1
        self._frame: int | None = None
        self.over = False
        self.place = ""

    def start(self, configuration: Mapping[str, Any], filters: Sequence[str]) -> None:
        """Load the model and stop before its first command; BadInput if the adapter refuses it."""
        self._client.initialize(**TRAITS)
        launch = self._client.send("launch", **configuration)
        if self._client.event_unless_refused(launch, "initialized", "terminated") == "initialized":
            self._client.request("setExceptionBreakpoints", filters=list(filters))
            self._client.request("configurationDone")
        try:
            self._client.answer(launch)
        except RequestFailed as refused:
            raise BadInput(str(refused.response["message"])) from None
        for body in self._client.events("output"):
            show = self._view.notice if body.get("category") == "console" else self._view.text
            show(body["output"].rstrip("\n"))
        self._wait()

    def do(self, text: str) -> bool:
        """Carry out one line and what follows from it; whether it could be done."""
        try:
            answer = self._evaluate(text)
        except RequestFailed as refused:
            self._view.error(str(refused.response["message"]))
            return False
        if answer["result"]:
            self._view.answer(answer["result"])
        self._table(answer)
        self._client.request("threads")  # whatever the line has set off is known when this is answered
        if self._client.events("continued"):
            self._wait()
        elif self._client.events("terminated"):
            self.over = True
        if not self.over:
            self._say()
        return True

    def complete(self, text: str) -> list[dict[str, Any]]:
        """The protocol's completion items for the end of a line."""
        frame = {} if self._frame is None else {"frameId": self._frame}
        try:
            completions: list[dict[str, Any]] = self._client.request(
                "completions", text=text, column=len(text) + 1, **frame
            )["targets"]
        except TdbError:
            return []
        return completions

    def _evaluate(self, text: str) -> dict[str, Any]:
        frame = {} if self._frame is None else {"frameId": self._frame}
        return self._client.request("evaluate", expression=text, context="repl", **frame)

    def _wait(self) -> None:
        """Wait for the next stop; an interrupt from the keyboard pauses the run."""
        with self._pausing():
            message, body = self._stop()
        self.over = message["event"] == "terminated"
        if not self.over:
            self._thread = body["threadId"]
            with contextlib.suppress(RequestFailed):
                self._show(body)
            self._client.request("threads")
            self._say()

    @contextlib.contextmanager
    def _pausing(self) -> Iterator[None]:
        """Not an exception, which would end the session wherever it came between two messages."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGINT, lambda *_: self._client.send("pause", threadId=self._thread))
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _stop(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The event that ends the run, and its body; what comes before it is shown."""
        while True:
            message = self._client.event("stopped", "terminated", "output", *_PROGRESS)
            body = message.get("body") or {}
            if message["event"] == "output":
                self._view.text(body["output"].rstrip("\n"))
            elif message["event"] in _PROGRESS:
                share = f" ({body['percentage']} %)" if "percentage" in body else ""
                self._view.progress(f"{body.get('message', '')}{share}   Ctrl-C pauses")
            else:
                return message, body

    def _say(self) -> None:
        """Print what the adapter has sent in the meantime: displays, notices."""
        for body in self._client.events("output"):
            self._view.text(body["output"].rstrip("\n"))

    def _show(self, body: Mapping[str, Any]) -> None:
        """Why and where."""
        frames = self._client.request("stackTrace", threadId=self._thread)["stackFrames"]
        top = frames[0]
        self._frame = top["id"]
        self.place = top["name"] + (f"  {top['source']['name']}:{top['line']}" if "source" in top else "")
        why = body.get("text") or body.get("description") or body["reason"]
        mlir = self._evaluate("info mlir")["result"]
        mlir = mlir if mlir[:1].isdigit() else ""  # else it says that this command belongs to no line
        self._view.stop(f"{why}: {top['name']}", mlir, self._evaluate("info asm 1")["result"], self._values())

    def _values(self) -> list[tuple[str, str]]:
        """Operands and results of the innermost frame."""
        values: list[tuple[str, str]] = []
        scopes = self._client.request("scopes", frameId=self._frame)["scopes"]
        for scope in scopes:
            if scope["name"] in ("Operands", "Results", "Outputs"):
                rows = self._client.request("variables", variablesReference=scope["variablesReference"])["variables"]
                values += [(row["name"], row["value"]) for row in rows]
        if len(values) > _VALUES:
            values[_VALUES:] = [("...", f"{len(values) - _VALUES} more: p in, p out")]
        return values

    def _table(self, answer: Mapping[str, Any]) -> None:
        """The first numbers of a tensor, from the last two axes that have more than one."""
        shape = _SHAPE.match(answer["result"])
        reference = answer.get("variablesReference", 0)
        if not answer.get("indexedVariables") or shape is None or "\n" in answer["result"]:
            return
        sizes = [int(size) for size in shape[1].split(",")]
        if len(sizes) < 2 or 0 in sizes:
            return
        columns = self._view.columns
        # Clients see the axes that have more than one element, each below the one before.
        axes = [axis for axis, size in enumerate(sizes) if size > 1] or [len(sizes) - 1]
        for _ in axes[:-2]:
            reference = self._children(reference, 1)[0]["variablesReference"]
        lines = self._children(reference, _ROWS) if len(axes) > 1 else [{"variablesReference": reference}]
        rows = [[number["value"] for number in self._children(line["variablesReference"], columns)] for line in lines]
        where = ["0"] * len(sizes)
        for axis, most in zip(axes[-2:], (_ROWS, columns)[-len(axes) :], strict=True):
            where[axis] = f":{min(most, sizes[axis])}"
        more = len(axes) > 1 and sizes[axes[-2]] > _ROWS
        self._view.tensor(f"[{','.join(where)}]", rows, more, sizes[axes[-1]] > columns)

    def _children(self, reference: int, count: int) -> list[dict[str, Any]]:
        children: list[dict[str, Any]] = self._client.request(
            "variables", variablesReference=reference, filter="indexed", start=0, count=count
        )["variables"]
        return children


_PROGRESS = ("progressStart", "progressUpdate")
