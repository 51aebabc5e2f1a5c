"""Why a request is refused, and how that is said in a response."""

from __future__ import annotations

from tdb_dap.adapter.protocol.framing import Message
from tdb_dap.errors import TdbError, sentence
from tdb_dap.system.localisation import localised


class NotStopped(TdbError):
    """A request that needs a stopped program came while it runs."""


class NoProgram(TdbError):
    """A request that needs a program came before ``launch`` or after the end."""


class Cancelled(TdbError):
    """The client has withdrawn a request, or is leaving."""


def error_message(error: Exception, loud: bool, locale: str = "") -> Message:
    """``message`` and ``body`` of an error response; ``loud``: the client should show it in a dialog."""
    if isinstance(error, NotStopped):
        text, short = "The program is running; pause it first.", "notStopped"
    elif isinstance(error, Cancelled):
        text = short = "cancelled"
    else:
        text = short = sentence(error)
    text, short = localised(text, locale), localised(short, locale)
    format_ = {"format": "{text}", "variables": {"text": text}} if "{" in text else {"format": text}
    return {"message": short, "body": {"error": {"id": _error_id(error), **format_, "showUser": loud}}}


def _error_id(error: Exception) -> int:
    """A number that is the same for the same kind of error in every session."""
    kinds = ("NotStopped", "Cancelled", "NoProgram", "BadInput", "BadExpression", "BadAccess", "NotSimulated")
    name = type(error).__name__
    return 100 + kinds.index(name) if name in kinds else 1
