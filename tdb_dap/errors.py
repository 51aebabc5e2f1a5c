"""Errors shown to the user. Each message is one line: what, where, what to do."""

from __future__ import annotations

import errno
from pathlib import Path

TRACEBACKS = "TDB_DAP_TRACEBACK"
"""The variable of the environment that lets internal errors show where they come from."""


class TdbError(Exception):
    """Base of every error that is meant for the person at the keyboard, not for a traceback."""


class BadInput(TdbError):
    """A file or argument that the user gave cannot be used."""


class BadExpression(TdbError):
    """An expression typed by the user cannot be parsed or evaluated."""


class BadAccess(TdbError):
    """An address or view is outside the memory it names."""


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


class Illegal(NotSimulated):
    """A command breaks a rule of its chip."""


_HINTS = {
    errno.EMFILE: "close some, or raise the limit (ulimit -n)",
    errno.ENFILE: "close some programs",
    errno.ENOSPC: "make room, or choose another directory (TMPDIR for temporary files)",
}
"""What to do about errors of the system that name no file, or whose file is not to blame."""


def is_internal(error: Exception) -> bool:
    """Whether an error is a mistake in this package, and neither the user's, the system's nor an installation's."""
    if isinstance(error, ImportError):
        return (error.name or "").startswith("tdb_dap")
    return not isinstance(error, (TdbError, MemoryError, OSError)) and not _lacks_thread(error)


def sentence(error: Exception) -> str:
    """One line about an error for the person at the keyboard; an unexpected one is reported as internal."""
    if isinstance(error, TdbError):
        return str(error)
    if isinstance(error, MemoryError) or _lacks_memory(error):
        return "there is not enough memory for this"
    if isinstance(error, OSError):
        return _system_sentence(error)
    if _lacks_thread(error):
        return "no thread can be started: there is not enough memory, or there are too many processes (ulimit -u)"
    if not is_internal(error):
        return f"{error}; run `tdb-dap doctor` for the fix"
    innermost = error.__traceback__
    while innermost is not None and innermost.tb_next is not None:
        innermost = innermost.tb_next
    file = innermost and Path(innermost.tb_frame.f_code.co_filename).name
    where = f"{file}:{innermost.tb_lineno}; {TRACEBACKS}=1 shows more" if innermost else ""
    return f"internal error, please report it: {type(error).__name__}: {error} ({where})"


def _lacks_memory(error: BaseException | None) -> bool:
    """Whether a library could not be loaded because the system gave it no memory: the loader's words are all it has."""
    if not isinstance(error, ImportError):
        return False
    words = str(error)
    return any(each in words for each in _WORDS_FOR_NO_MEMORY) or _lacks_memory(error.__cause__)


_WORDS_FOR_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "Cannot allocate memory")


def _lacks_thread(error: Exception) -> bool:
    """Whether the system has refused a thread, for which Python has no class."""
    return isinstance(error, RuntimeError) and str(error).startswith("can't start new thread")


def _system_sentence(error: OSError) -> str:
    """The file or object, the reason of the system, and a remedy."""
    reason = (error.strerror or str(error) or type(error).__name__).lower()
    where = "" if error.filename is None else f"{str(error.filename)[:_LONGEST_PATH]}: "
    hint = _HINTS.get(error.errno or 0)
    return where + reason + (f"; {hint}" if hint else "")


_LONGEST_PATH = 120
