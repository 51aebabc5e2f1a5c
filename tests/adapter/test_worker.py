"""A session in a web worker: the same messages, answered without a thread."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from tdb_dap.adapter.worker import WorkerSession
from tests.conftest import Toy


class Client:
    """What a page does: it posts requests, and keeps what it is sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.session = WorkerSession(lambda text: self.sent.append(json.loads(text)), self.arriving)
        self.later: list[str] = []
        self._seq = 0

    def arriving(self) -> None:
        """A message that arrives while a program runs."""
        if self.later:
            self.post(self.later.pop(0))

    def post(self, command: str, **arguments: Any) -> bool:
        self._seq += 1
        message = {"seq": self._seq, "type": "request", "command": command, "arguments": arguments}
        return self.session.feed(json.dumps(message))

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        before = len(self.sent)
        self.post(command, **arguments)
        [response] = [each for each in self.sent[before:] if each.get("request_seq") == self._seq]
        return response

    def events(self, name: str) -> list[dict[str, Any]]:
        return [each.get("body", {}) for each in self.sent if each.get("event") == name]

    def launch(self, toy: Toy, **more: Any) -> None:
        assert self.ask("initialize", adapterID="tdb", linesStartAt1=True)["success"]
        self.post("launch", program=str(toy.directory), inputs=str(toy.inputs), **more)
        assert len(self.events("initialized")) == 1


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Client:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr("sys.platform", "emscripten")
    return Client()


def test_a_session_stops_shows_steps_back_and_ends(client: Client, toy: Toy) -> None:
    client.launch(toy, stopOnEntry=False)
    line = toy.line_of("tpu.Pool2D")
    placed = client.ask("setBreakpoints", source={"path": str(toy.mlir)}, breakpoints=[{"line": line}])
    assert placed["body"]["breakpoints"][0]["verified"]
    assert client.ask("configurationDone")["success"]
    assert [stop["reason"] for stop in client.events("stopped")] == ["breakpoint"]
    frame = client.ask("stackTrace", threadId=1)["body"]["stackFrames"][0]
    assert frame["line"] == line
    scopes = client.ask("scopes", frameId=frame["id"])["body"]["scopes"]
    variables = client.ask("variables", variablesReference=scopes[0]["variablesReference"])["body"]["variables"]
    assert any("f32" in (variable.get("type") or variable["value"]) for variable in variables)
    assert client.ask("stepBack", threadId=1)["success"]
    assert client.ask("stackTrace", threadId=1)["body"]["stackFrames"][0]["line"] < line
    assert client.ask("continue", threadId=1)["success"]
    assert client.post("disconnect") is False
    assert client.sent[-1]["command"] == "disconnect"


def test_a_message_that_arrives_in_a_run_is_answered_in_it(client: Client, toy: Toy) -> None:
    client.launch(toy, stopOnEntry=False)
    client.later = ["threads"]
    client.post("configurationDone")
    order = [each.get("command") or each["event"] for each in client.sent]
    assert order.index("threads") < order.index("stopped")
    assert client.later == []


def test_an_error_is_one_response_and_the_session_goes_on(client: Client, toy: Toy) -> None:
    client.launch(toy, stopOnEntry=True)
    client.post("configurationDone")
    assert client.ask("evaluate", expression="max(", context="repl")["success"] is False
    invited = client.ask("tdb/inviteAgent")
    assert invited["success"] is False
    assert client.ask("evaluate", expression="max(in[0])", context="repl")["success"]
