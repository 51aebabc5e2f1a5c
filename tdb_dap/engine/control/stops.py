"""Why and where execution stopped."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from tdb_dap.engine.control.breakpoints import Breakpoint
from tdb_dap.engine.expressions.lexer import Level
from tdb_dap.engine.rendering import html

NOT_SIMULATED = "not simulated"
"""Name of the finding at a command that the backend cannot execute."""

ILLEGAL = "The chip has no such command"
"""Title of a finding about a command that breaks a rule of its chip."""

BACKEND_FAILED = "backend"
"""Name of the finding where the backend is lost and the session goes on with the target's own semantics."""

Reason = Literal["entry", "step", "breakpoint", "exception", "pause", "goto", "end"]


class Finding(Struct, frozen=True):
    """Reason of an observer to stop.

    ``filter``: name of the exception filter; ``title``: a few words; ``text``: the whole story on one line;
    ``details``: what more there is to know, line by line; ``focus``: ordinal of the command it is about; ``related``:
    of others that have to do with it; ``severity``: as editors show it.
    """

    filter: str
    title: str
    text: str
    focus: int
    details: tuple[str, ...] = ()
    related: tuple[int, ...] = ()
    severity: Literal["error", "warning"] = "error"


class Stop(Struct, frozen=True):
    """A place in time.

    ``ordinal``: number of commands executed. ``focus``: ordinal of the command that the stop is about: the next one,
    or the one just executed where a breakpoint or check stops after it. ``core``: core of that command.
    ``level``: whether the stop is about that hardware command or about its op; so ``in[0]`` means an operand of it.
    """

    reason: Reason
    ordinal: int
    focus: int
    core: int = 0
    description: str = ""
    text: str = ""
    breakpoints: tuple[Breakpoint, ...] = ()
    finding: Finding | None = None
    level: Level = "op"

    def _repr_html_(self) -> str:
        return html.fields(
            {
                "stopped": self.description or self.reason,
                "ordinal": self.ordinal,
                "core": self.core,
                "breakpoints": tuple(breakpoint.text for breakpoint in self.breakpoints),
                "why": self.text,
                "details": "\n".join(self.finding.details) if self.finding else "",
            }
        )
