"""Work for the session thread that is not the client's: an attached session that looks at the same program."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from msgspec import field

from tdb_dap.adapter.session.session import Request
from tdb_dap.errors import TdbError


class Errand(Request, frozen=True, kw_only=True):
    """Run ``act`` between two requests of the client; ``outcome`` gets what it returns, or its error."""

    act: Callable[[], Any]
    outcome: Future[Any] = field(default_factory=Future)

    def carry_out(self) -> None:
        """Do it, on the session thread."""
        try:
            self.outcome.set_result(self.act())
        except Exception as error:
            self.outcome.set_exception(error)

    def refuse(self, reason: str) -> None:
        """Answer that it cannot be done now."""
        self.outcome.set_exception(TdbError(reason))


def errand(act: Callable[[], Any]) -> Errand:
    """An errand; no client can cancel it by its number."""
    return Errand(-1, "", {}, act=act)
