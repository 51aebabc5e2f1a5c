"""A session opened by a user, in an editor or a terminal, that the agent attaches to."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from tdb_dap.adapter.protocol.client import Client, RequestFailed
from tdb_dap.agent.session import Session
from tdb_dap.errors import BadInput, TdbError
from tdb_dap.system.ports import address


class AttachedSession(Session):
    """The same questions, asked to a running session of a user through the port that the invitation has named.

    The user's view stays where it is unless ``show`` is given. What runs a whole model (check, sanitize, report) does
    so in a separate process, on the same files: without the user's edits.
    """

    def __init__(self, where: str, token: str) -> None:
        host, port = address(where, f"--join {where:.100}")
        try:
            self._guest = Client.connect(host, port, timeout=None)
        except OSError as error:
            raise BadInput(f"--join {where:.100}: {error.strerror or error}; is the session still open?") from None
        try:
            self._guest.request("attach", token=token)
            files = self._guest.request("tdb/files")
        except RequestFailed as refused:
            raise BadInput(f"--join {where:.100}: {refused.response['message']}") from None
        program = Path(files["program"])
        super().__init__([program if program.is_dir() else program.parent])
        self._asking = threading.Lock()
        self._known = ""
        self.context = program
        self._inputs = Path(files["inputs"]) if files["inputs"] else None
        self._references = tuple(map(Path, files["reference"] or ()))

    def close(self) -> None:
        """Leave; the session goes on."""
        self._guest.close()

    def open(self, context: str, inputs: str, reference: str) -> str:
        """Only what the user has open; where the user is in it."""
        if Path(context).expanduser().resolve() != Path(str(self.context)).resolve():
            raise BadInput(f"the user has opened {self.context}; in that session there is no other model")
        return f"{self.context}: {self._asked('tdb/files')['at']}"

    def look(self, line: str) -> str:
        return str(self._asked("tdb/look", line=line)["result"])

    def stop_at(self, place: str, condition: str, show: bool) -> str:
        more = {"condition": condition} if condition else {}
        return str(self._asked("tdb/go", place=place, show=show, **more)["result"])

    def travel(self, direction: str, count: int, show: bool) -> str:
        target = {
            "to": {"to": max(0, count)},
            "forward": {"ops": max(1, count)},
            "back": {"ops": -max(1, count)},
            "start": {"to": 0},
            "end": {},
        }[direction]
        return str(self._asked("tdb/go", show=show, **target)["result"])

    def where(self) -> str:
        context = self.context
        return f"{context.name if context is not None else ''} at {self._asked('tdb/files')['at']}"

    def bookmark(self, name: str) -> str:
        if not name:
            raise BadInput("name: give one; the user's time slider shows all of them")
        self._known = str(self._asked("tdb/bookmark", name=name)["result"])
        return self._known

    def remembered(self) -> str:
        """As of the last bookmark that was set from here."""
        return self._known

    def ask(self, line: str) -> str:
        raise BadInput("a guest only looks: this changes a value or runs the user's session")

    def _asked(self, command: str, **arguments: Any) -> dict[str, Any]:
        try:
            with self._asking:
                return self._guest.request(command, **arguments)
        except RequestFailed as refused:
            raise TdbError(str(refused.response["message"])) from None
