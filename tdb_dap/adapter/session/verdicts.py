"""Whether the results of a session's program can be compared, and what is missing if not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session


def missing_for_verdicts(session: Session) -> str:
    """The file that comparing results still needs, and how to give it; empty if they are compared."""
    debugger = session.debugger
    if debugger.reference is not None:
        return ""
    if debugger.withheld:
        return f"nothing is compared: {debugger.withheld}; reload input FILE gives them"
    return "nothing to compare with; reload reference FILE gives it"


def require_verdicts(session: Session) -> None:
    """BadInput where results cannot be compared."""
    if missing := missing_for_verdicts(session):
        raise BadInput(missing)
