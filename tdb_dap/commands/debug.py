"""``tdb-dap debug``: the console of the adapter in a terminal."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Any

from tdb_dap.client import Client, RequestFailed
from tdb_dap.commands.options import backend_options, model_arguments
from tdb_dap.commands.terminal import Terminal
from tdb_dap.errors import BadInput, TdbError

_PROMPT = "(tdb) "


def arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    model_arguments(parser)
    parser.add_argument("--inputs", metavar="X", type=Path, help=".npz by input name, or raw .dat (default: zeros)")
    parser.add_argument(
        "--reference",
        metavar="R",
        nargs="+",
        type=Path,
        help="expected data: .npz by tensor name, or another CONTEXT that is run on the same inputs",
    )
    backend_options(parser)
    parser.add_argument("-c", dest="commands", metavar="CMD", action="append", default=[], help="run a console command")
    parser.add_argument("-x", dest="script", metavar="FILE", type=Path, help="run the console commands of a file")


def run(arguments: argparse.Namespace) -> int:
    """Carry out the commands given, then ask for more if somebody is there."""
    script = [*arguments.commands, *_lines(arguments.script)]
    client = Client.spawn()
    try:
        console = _Console(client)
        try:
            console.start(arguments)
        except RequestFailed as refused:
            raise BadInput(str(refused.response["message"])) from None
        failed = [text for text in script if not console.over and not console.do(text)]
        if not script or sys.stdin.isatty():
            console.talk()
        return 1 if failed else 0
    finally:
        client.close()


def _lines(path: Path | None) -> list[str]:
    """The commands of a script; empty lines and comments (#) are left out."""
    if path is None:
        return []
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


class _Console:
    """One session. ``over``: the program has ended. Expressions are about the innermost frame, as in an editor."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._out = Terminal()
        self._thread = 1
        self._frame: int | None = None
        self.over = False

    def start(self, arguments: argparse.Namespace) -> None:
        """Load the model and stop before its first command."""
        self._client.initialize(clientID="tdb-dap debug")
        configuration: dict[str, Any] = {
            "program": str(arguments.context),
            "stopOnExit": True,
            "backend": arguments.backend,
        }
        if arguments.cmodel_path:
            configuration["cmodelPath"] = str(arguments.cmodel_path)
        configuration.update(net=arguments.net, stage=arguments.stage)
        if arguments.inputs:
            configuration["inputs"] = str(arguments.inputs)
        if arguments.reference:
            configuration["reference"] = [str(path) for path in arguments.reference]
        launch = self._client.send("launch", **configuration)
        if self._client.event("initialized", "terminated")["event"] == "initialized":
            filters = ["mismatch"] if arguments.reference else []
            filters += ["divergence"] if arguments.backend == "lockstep" else []
            self._client.request("setExceptionBreakpoints", filters=filters)
            self._client.request("configurationDone")
        self._client.answer(launch)
        self._wait()

    def talk(self) -> None:
        """Read commands until the end; an empty line does the last one again."""
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  gives input() its line editing
        last = ""
        while not self.over:
            try:
                text = input(_PROMPT).strip() or last
            except EOFError:
                print()
                break
            except KeyboardInterrupt:
                print()
                continue
            self.do(text)
            last = text

    def do(self, text: str) -> bool:
        """Carry out one command and what follows from it; whether it was understood."""
        try:
            answer = self._evaluate(text)
        except RequestFailed as refused:
            self._out.line(str(refused.response["message"]), "red")
            return False
        if answer["result"]:
            print(answer["result"], flush=True)
        self._client.request("threads")  # whatever the command has set off is known when this is answered
        if self._client.events("continued"):
            self._wait()
        elif self._client.events("terminated"):
            self.over = True
        return True

    def _evaluate(self, text: str) -> dict[str, Any]:
        frame = {} if self._frame is None else {"frameId": self._frame}
        return self._client.request("evaluate", expression=text, context="repl", **frame)

    def _wait(self) -> None:
        """Wait for the next stop; an interrupt from the keyboard pauses the run."""
        while True:
            try:
                message = self._client.event("stopped", "terminated", "output")
            except KeyboardInterrupt:
                self._client.send("pause", threadId=self._thread)
                continue
            if message["event"] == "output":
                self._out.line(message["body"]["output"].rstrip("\n"), "dim")
                continue
            break
        self.over = message["event"] == "terminated"
        if not self.over:
            self._thread = message["body"]["threadId"]
            with contextlib.suppress(TdbError):
                self._show(message["body"])

    def _show(self, body: dict[str, Any]) -> None:
        """Why and where."""
        frames = self._client.request("stackTrace", threadId=self._thread)["stackFrames"]
        self._frame = frames[0]["id"]
        reason = body.get("text") or body.get("description") or body["reason"]
        self._out.paragraph(f"{reason}: {frames[0]['name']}", "yellow", indent=0)
        for topic in ("info asm 1", "info mlir"):
            text = self._evaluate(topic)["result"]
            for line in text.split("\n"):
                self._out.line(line, None if line.startswith("=>") else "dim")
