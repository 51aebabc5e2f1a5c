"""Notifications of a debugger while it runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tdb_dap.engine.control.breakpoints import Breakpoint
    from tdb_dap.engine.control.logpoints import Message


class Listener:
    """Override what is of interest. All calls come on the thread that runs."""

    def log_point(self, message: Message, breakpoint: Breakpoint) -> None:
        """A log point was passed, or the condition of a breakpoint could not be evaluated; default: print it."""
        print(message.text)

    def note(self, text: str) -> None:
        """Something the user has to know of how the program is executed."""

    def between_commands(self) -> None:
        """The run is between two commands: breakpoints may be changed, and the run paused."""
