"""Errors shown to the user. Each message is one line: what, where, what to do."""

from __future__ import annotations


class TdbError(Exception):
    """Base of every error that is meant for the person at the keyboard, not for a traceback."""


class BadInput(TdbError):
    """A file or argument that the user gave cannot be used."""


class BadExpression(TdbError):
    """An expression typed by the user cannot be parsed or evaluated."""


class BadAccess(TdbError):
    """An address or view lies outside the memory it names."""


class NotFinished(TdbError):
    """The outputs of a program are asked for before its last command has been executed."""


class EndOfProgram(TdbError):
    """There is no further command to execute."""


class BackendFailed(TdbError):
    """The backend is lost: a vendor library has ended its process. The session is not."""


class NotSimulated(TdbError):
    """A command that the backend does not know how to execute; never answered with a guess.

    ``ordinal``: position of the command in execution order, or None where the command is not yet placed.
    """

    def __init__(self, message: str, ordinal: int | None = None) -> None:
        super().__init__(message)
        self.ordinal = ordinal


class Undefined(NotSimulated):
    """A command holds a code that its chip does not define."""
