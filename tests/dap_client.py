"""The client that sessions in tests are written with: it reads like a person at the keyboard."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tdb_dap.adapter.protocol.client import Client, RequestFailed
from tdb_dap.adapter.protocol.transports import SocketStream
from tdb_dap.adapter.server import serve

EVERYTHING: dict[str, Any] = {
    "clientID": "tests",
    "linesStartAt1": True,
    "columnsStartAt1": True,
    "pathFormat": "path",
    "supportsVariableType": True,
    "supportsVariablePaging": True,
    "supportsMemoryReferences": True,
    "supportsProgressReporting": True,
    "supportsInvalidatedEvent": True,
    "supportsMemoryEvent": True,
}
"""What a full-grown client announces."""


@dataclass(frozen=True)
class Variable:
    """A row of the Variables pane."""

    client: DapClient = field(repr=False)
    raw: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.raw["name"])

    @property
    def value(self) -> str:
        return str(self.raw["value"])

    def children(self, **page: Any) -> list[Variable]:
        """Its children; ``filter``, ``start`` and ``count`` as in the protocol."""
        return self.client.variables(self.raw["variablesReference"], **page)

    def child(self, name: str) -> Variable:
        """The child of this name; a lazy one is evaluated, as by a click of the user."""
        found = next(child for child in self.children() if child.name == name)
        if (found.raw.get("presentationHint") or {}).get("lazy"):
            [found] = found.children()
        return found


@dataclass(frozen=True)
class Frame:
    """A row of the call stack."""

    raw: Mapping[str, Any]

    @property
    def id(self) -> int:
        return int(self.raw["id"])

    @property
    def name(self) -> str:
        return str(self.raw["name"])

    @property
    def line(self) -> int:
        return int(self.raw["line"])

    @property
    def source(self) -> str:
        """Name of the file or listing; empty if it has none."""
        return str(self.raw.get("source", {}).get("name", ""))


class Stop:
    """The program has stopped. Its frames are taken down at once, variables when they are looked at."""

    def __init__(self, client: DapClient, body: Mapping[str, Any]) -> None:
        self.client = client
        self.reason = str(body["reason"])
        self.description = str(body.get("description", ""))
        self.text = str(body.get("text", ""))
        self.hit = list(body.get("hitBreakpointIds", ()))
        self.thread = int(body["threadId"])
        self.frames = [Frame(raw) for raw in client.request("stackTrace", threadId=self.thread)["stackFrames"]]

    @property
    def top(self) -> Frame:
        """The frame that an editor goes to."""
        return self.frames[0]

    def frame(self, level: str) -> Frame:
        """The frame of the command, op, group, subnet, main or layer."""
        tests: dict[str, Callable[[Frame], bool]] = {
            "command": lambda f: f.source.endswith(".tdbasm"),
            "op": lambda f: f.name.startswith("tpu.") and not f.name.startswith("tpu.Group"),
            "group": lambda f: f.name.startswith("tpu.Group"),
            "subnet": lambda f: f.name.startswith("subfunc_"),
            "main": lambda f: f.name.startswith("main"),
            "layer": lambda f: f.raw.get("presentationHint") == "label",
        }
        return next(f for f in self.frames if tests[level](f))

    @property
    def ordinal(self) -> int:
        """Position in time of the command that is shown."""
        return (int(self.frame("command").raw["instructionPointerReference"], 0) & ((1 << 40) - 1)) // 16

    def scopes(self, level: str = "op") -> list[str]:
        return [scope["name"] for scope in self._scopes(level)]

    def scope(self, name: str, level: str = "op") -> list[Variable]:
        """The variables of a scope of a frame."""
        reference = next(s["variablesReference"] for s in self._scopes(level) if s["name"] == name)
        return self.client.variables(reference)

    def variable(self, scope: str, name: str, level: str = "op") -> Variable:
        """The variable that has ``name`` as a word of its name, or as the layer's name in its row."""
        return next(v for v in self.scope(scope, level) if name in (*v.name.split(), *v.value.split()))

    def evaluate(self, expression: str, context: str = "watch", level: str = "op") -> str:
        answer = self.client.request("evaluate", expression=expression, context=context, frameId=self.frame(level).id)
        return str(answer["result"])

    def _scopes(self, level: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.client.request("scopes", frameId=self.frame(level).id)["scopes"]
        return found


class DapClient:
    """A session with an adapter; its transcript goes to ``log``.

    The adapter runs on a thread of this process, behind a socket; as a ``process`` of its own where that is the point.
    """

    def __init__(self, log: Path, traits: Mapping[str, Any] | None = None, process: bool = False) -> None:
        if process:
            self.raw = Client.spawn((sys.executable, "-m", "tdb_dap.adapter", "--log", str(log)), timeout=30)
            self._thread: threading.Thread | None = None
        else:
            near, far = socket.socketpair()
            self._thread = threading.Thread(target=_serve, args=(far, log), daemon=True)
            self._thread.start()
            self.raw = Client(SocketStream(near), timeout=30)
        self.traits = EVERYTHING if traits is None else traits
        self.thread = 1

    def request(self, command: str, **arguments: Any) -> dict[str, Any]:
        return self.raw.request(command, **arguments)

    def refusal(self, command: str, **arguments: Any) -> str:
        """Message of a request that has to be refused."""
        try:
            answer = self.request(command, **arguments)
        except RequestFailed as refused:
            return str(refused.response["message"])
        raise AssertionError(f"{command} was answered: {answer}")

    def launch(
        self,
        program: Path,
        *,
        stop_on_entry: bool = True,
        breakpoints: Mapping[Path, Sequence[int | Mapping[str, Any]]] | None = None,
        filters: Sequence[str] = (),
        **configuration: Any,
    ) -> list[dict[str, Any]]:
        """Everything from the first hello to the answered launch; returns the breakpoints as they were set.

        The session ends with the program, unless ``stopOnExit`` is given.
        """
        configuration.setdefault("stopOnExit", False)
        self.raw.initialize(**self.traits)
        launch = self.raw.launch(program=str(program), stopOnEntry=stop_on_entry, **configuration)
        placed: list[dict[str, Any]] = []
        for path, lines in (breakpoints or {}).items():
            placed += self.set_breakpoints(path, lines)
        self.request("setExceptionBreakpoints", filters=list(filters))
        self.request("configurationDone")
        self.raw.answer(launch)
        return placed

    def failed_launch(self, **configuration: Any) -> str:
        """Message of a launch that has to fail; the session must then end in order."""
        self.raw.initialize(**self.traits)
        launch = self.raw.send("launch", **configuration)
        response = self.raw.response(launch)
        assert not response["success"]
        assert response["body"]["error"]["showUser"] is True
        self.expect_end(exit_code=2)
        self.disconnect()
        return str(response["message"])

    def set_breakpoints(self, path: Path, lines: Sequence[int | Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Set the breakpoints of a file: lines, or lines with conditions."""
        wanted = [{"line": line} if isinstance(line, int) else dict(line) for line in lines]
        answer = self.request("setBreakpoints", source={"path": str(path)}, breakpoints=wanted)
        found: list[dict[str, Any]] = answer["breakpoints"]
        return found

    def expect_stopped(self, reason: str) -> Stop:
        """The next stop; it must be for this reason."""
        message = self.raw.event("stopped", "terminated")
        assert message["event"] == "stopped", f"the program ended, instead of a stop: {reason}"
        stop = Stop(self, message["body"])
        assert stop.reason == reason, f"stopped: {message['body']}"
        self.thread = stop.thread
        return stop

    def expect_end(self, exit_code: int = 0) -> None:
        """The program ends."""
        assert self.raw.event("exited", "stopped")["body"] == {"exitCode": exit_code}
        self.raw.event("terminated")

    def resume(self) -> None:
        self.request("continue", threadId=self.thread)

    def next(self, granularity: str = "statement") -> None:
        self.request("next", threadId=self.thread, granularity=granularity)

    def step_in(self) -> None:
        self.request("stepIn", threadId=self.thread)

    def step_out(self) -> None:
        self.request("stepOut", threadId=self.thread)

    def step_back(self, granularity: str = "statement") -> None:
        self.request("stepBack", threadId=self.thread, granularity=granularity)

    def reverse(self) -> None:
        self.request("reverseContinue", threadId=self.thread)

    def console(self, text: str) -> str:
        """A line typed into the debug console."""
        return str(self.request("evaluate", expression=text, context="repl")["result"])

    def variables(self, reference: int, **page: Any) -> list[Variable]:
        found = self.request("variables", variablesReference=reference, **page)["variables"]
        return [Variable(self, raw) for raw in found]

    def printed(self) -> str:
        """What has come to the console since the last look."""
        return "".join(body["output"] for body in self.raw.events("output"))

    def disconnect(self) -> None:
        """Leave; the adapter must come to its end."""
        self.request("disconnect")
        self.expect_exit()

    def expect_exit(self) -> None:
        """The adapter comes to its end."""
        if self._thread is None:
            assert self.raw.exit_code() == 0
        else:
            self._thread.join(30)
            assert not self._thread.is_alive()

    def close(self) -> None:
        """Leave without a word."""
        self.raw.close()
        if self._thread is not None:
            self._thread.join(30)


def _serve(far: socket.socket, log: Path) -> None:
    with log.open("a", encoding="utf-8") as transcript:
        serve(SocketStream(far), log=transcript)
