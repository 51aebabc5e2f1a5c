"""``tdb-dap demo``: a session on the bundled sample, against a real adapter process, told as it happens."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from tdb_dap.client import Client
from tdb_dap.commands.terminal import Terminal

SAMPLE = Path(__file__).resolve().parent.parent / "sample"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "--client", choices=("terminal",), default="terminal", help="who shows the session (default: this terminal)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Play the session."""
    client = Client.spawn()
    try:
        _Session(client, Terminal()).play()
    finally:
        client.close()
    return 0


class _Session:
    """The story. Everything printed comes from the adapter's answers."""

    def __init__(self, client: Client, terminal: Terminal) -> None:
        self._client = client
        self._out = terminal
        self._thread = 1
        self._mlir = SAMPLE / "final.mlir"

    def play(self) -> None:
        self._start()
        self._breakpoint()
        self._look()
        self._compare()
        self._back_in_time()
        self._find_a_fault()
        self._finish()

    def _start(self) -> None:
        out = self._out
        out.line("tdb-dap: a debugger for compiled TPU models", "bold")
        out.line(f"Sample: a small convolutional net, compiled for a chip that is not here. {SAMPLE}", "dim")
        self._client.initialize(clientID="demo", supportsVariableType=True, supportsVariablePaging=True)
        launch = self._client.send(
            "launch", program=str(SAMPLE), inputs=str(SAMPLE / "input.npz"), reference=str(SAMPLE / "ref.npz")
        )
        self._client.event("initialized")
        self._client.request("setExceptionBreakpoints", filters=[])
        self._client.request("configurationDone")
        self._client.answer(launch)
        self._stopped()
        for body in self._client.events("output"):
            out.line(body["output"].strip(), "dim")

    def _breakpoint(self) -> None:
        line = self._line_of('"tpu.Pool2D"')
        self._chapter(f"Break at line {line} of final.mlir, the max pooling, and run to it")
        source = {"path": str(self._mlir)}
        answer = self._client.request("setBreakpoints", source=source, breakpoints=[{"line": line}])
        self._say(f"breakpoint {'verified' if answer['breakpoints'][0]['verified'] else 'refused'} at line {line}")
        self._client.request("continue", threadId=self._thread)
        self._stopped()
        self._show_place()
        self._out.line()
        for frame in self._frames():
            where = f"{frame['source']['name']}:{frame['line']}" if "source" in frame else ""
            self._out.line(f"    {frame['name']:52} {where}")

    def _look(self) -> None:
        self._chapter("Look at what goes in: the operand, right where the chip holds it")
        operand = self._variables("Operands")[0]
        self._tensor(operand)
        text = self._client.request("evaluate", expression="in[0][0,3]", context="clipboard", frameId=self._top())
        self._say("channel 3 of it:")
        self._out.heat(json.loads(text["result"]))

    def _compare(self) -> None:
        self._chapter("Step over the op: is the result what the compiler's reference says?")
        self._step("next")
        frame = self._top()
        result = self._client.request("evaluate", expression="%17", context="watch", frameId=frame)
        self._say(f"%17 = {result['result']}")
        details = self._client.request("variables", variablesReference=result["variablesReference"], filter="named")[
            "variables"
        ]
        compared = next(d["value"] for d in details if d["name"] == "compare")
        self._out.line(f"    reference: {compared}", "green" if compared.startswith("pass") else "red")
        claim = "max(%17) == max(%16)"
        self._say(f"any expression will do: {claim} is {self._evaluate(claim)}")

    def _back_in_time(self) -> None:
        self._chapter("Go back in time: the chip is as it was before")
        self._step("stepBack")
        self._show_place(around=0)
        compared = self._variables("Compare")
        for variable in compared:
            verdict = "green" if variable["value"].startswith("pass") else "dim"
            self._out.line(f"    {variable['name']}: {variable['value']}", verdict)
        self._say(self._console("who in[0]"))

    def _find_a_fault(self) -> None:
        self._chapter("Break it on purpose: spoil one tensor and let the debugger find the first wrong op")
        self._client.request("setExceptionBreakpoints", filters=["mismatch"])
        self._client.request("setBreakpoints", source={"path": str(self._mlir)}, breakpoints=[])
        self._typed("set in[0] = in[0] * (in[0] < 1)")
        self._client.request("continue", threadId=self._thread)
        self._stopped()
        info = self._client.request("exceptionInfo", threadId=self._thread)
        self._show_place(around=0)
        self._say(info["description"], "red")
        self._say("back again; that also undoes the edit:")
        self._client.request("reverseContinue", threadId=self._thread)
        self._stopped()
        self._client.request("continue", threadId=self._thread)

    def _finish(self) -> None:
        self._client.event("terminated")
        for body in self._client.events("output"):
            self._out.line(f"    {body['output'].strip()}", "green")
        self._say("every op agrees with the reference now")
        self._client.request("disconnect")
        self._out.line()
        self._out.line("Next:", "bold")
        for command, what in (
            ("tdb-dap info CONTEXT", "what your own model consists of"),
            ("tdb-dap dis CONTEXT", "its commands, with operands spelt out"),
            ("tdb-dap run CONTEXT --inputs X.npz", "simulate it and print its outputs"),
            ("tdb-dap adapter", 'what editors start (VS Code: "type": "tdb")'),
        ):
            self._out.line(f"    {command:36} {what}")
        self._say("CONTEXT is the directory that the compiler leaves behind, or a .bmodel file.", "dim")

    # Pieces of a session

    def _stopped(self) -> dict[str, Any]:
        body: dict[str, Any] = self._client.event("stopped")["body"]
        self._thread = body["threadId"]
        return body

    def _step(self, command: str) -> None:
        self._client.request(command, threadId=self._thread)
        self._stopped()

    def _frames(self) -> list[dict[str, Any]]:
        frames: list[dict[str, Any]] = self._client.request("stackTrace", threadId=self._thread)["stackFrames"]
        return frames

    def _top(self) -> int:
        return int(self._frames()[0]["id"])

    def _variables(self, scope: str) -> list[dict[str, Any]]:
        scopes = self._client.request("scopes", frameId=self._top())["scopes"]
        reference = next(s["variablesReference"] for s in scopes if s["name"] == scope)
        found: list[dict[str, Any]] = self._client.request("variables", variablesReference=reference)["variables"]
        return found

    def _evaluate(self, expression: str) -> str:
        answer = self._client.request("evaluate", expression=expression, context="watch", frameId=self._top())
        return str(answer["result"])

    def _console(self, text: str) -> str:
        answer = self._client.request("evaluate", expression=text, context="repl", frameId=self._top())
        return str(answer["result"])

    def _line_of(self, text: str) -> int:
        lines = self._mlir.read_text("utf-8").split("\n")
        return next(number for number, line in enumerate(lines, 1) if text in line)

    # Words

    def _chapter(self, title: str) -> None:
        self._out.wait(0.6)
        self._out.line()
        self._out.line(f"> {title}", "blue")

    def _say(self, text: str, style: str | None = None) -> None:
        self._out.paragraph(text, style)
        self._out.wait(0.1)

    def _typed(self, command: str) -> None:
        self._out.line(f"    (console) {command}", "yellow")
        self._say(self._console(command))

    def _tensor(self, variable: dict[str, Any]) -> None:
        self._say(f"{variable['name']} = {variable['value']}")
        if "type" in variable:
            self._out.line(f"    {variable['type']}", "dim")

    def _show_place(self, around: int = 2) -> None:
        frame = next(f for f in self._frames() if f.get("source", {}).get("path") == str(self._mlir))
        self._out.source(self._mlir, frame["line"], around)
