"""A listener that keeps what a debugger says."""

from __future__ import annotations

from collections.abc import Callable

from tdb_dap.engine.control.breakpoints import Breakpoint
from tdb_dap.engine.control.listener import Listener
from tdb_dap.engine.control.logpoints import Message


class Heard(Listener):
    """``logged``: texts of log points; ``notes``: what the user has to know; ``between``: called between commands."""

    def __init__(
        self,
        logged: list[str] | None = None,
        notes: list[str] | None = None,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        self._logged = [] if logged is None else logged
        self._notes = [] if notes is None else notes
        self._between = between

    def log_point(self, message: Message, breakpoint: Breakpoint) -> None:
        self._logged.append(message.text)

    def note(self, text: str) -> None:
        self._notes.append(text)

    def between_commands(self) -> None:
        self._between()
