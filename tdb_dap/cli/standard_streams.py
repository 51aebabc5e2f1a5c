"""Standard input, output and error of a command: closed ones, readers that have gone, and full disks."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import get_terminal_size
from typing import TextIO

from tdb_dap.engine.rendering.printable import columns_of, visible, wrapped
from tdb_dap.errors import TdbError


class Unwritable(TdbError):
    """Output cannot be written."""


class ReaderGone(Exception):
    """Nobody reads what is printed any more, and printing was all that was to be done."""


class Outlet:
    """A text stream that outlives its reader.

    ``direct``: the stream itself, for lines that are drawn. ``escaped``: names that are printed do nothing to a
    terminal, and lines that are longer than it go on below, where a word ends. ``required``: Unwritable if it cannot
    be written, else that is let pass. ``ends``: ReaderGone once nobody reads; else what is printed goes nowhere from
    then on.
    """

    def __init__(self, direct: TextIO, *, escaped: bool, required: bool, ends: bool = False) -> None:
        self.direct = direct
        self._wraps = escaped and not direct.closed and direct.isatty()
        self._escaped = escaped
        self._required = required
        self._ends = ends

    def write(self, text: str) -> int:
        """As that of the stream."""
        with self._guarded():
            shown = visible(text) if self._escaped else text
            self.direct.write("\n".join(map(_wrapped, shown.split("\n"))) if self._wraps else shown)
        return len(text)

    def flush(self) -> None:
        """As that of the stream."""
        with self._guarded():
            self.direct.flush()

    def __getattr__(self, name: str) -> object:
        return getattr(self.direct, name)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            self._lose()
            if self._ends:
                raise ReaderGone from None
        except OSError as error:
            self._lose()
            if self._required:
                raise Unwritable(f"standard output: cannot be written: {error.strerror or error}") from None

    def _lose(self) -> None:
        """Let everything go nowhere, what the stream holds back for later as well."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, self.direct.fileno())
            self.direct.flush()
        os.close(nowhere)


def terminal_width() -> int | None:
    """Columns of the terminal that standard output is, without the last; None if it is none.

    After the last column some terminals go on by themselves.
    """
    return get_terminal_size().columns - 1 if sys.stdout.isatty() else None


def _wrapped(line: str) -> str:
    """A line of a terminal; what does not fit goes on below it, indented."""
    width = get_terminal_size().columns - 1
    if columns_of(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return "\n".join(wrapped(line.rstrip(), width, f"{indent}    "))


def open_closed_descriptors() -> None:
    """Open standard streams that the caller has closed, to the null device.

    Otherwise the next file that is opened would be taken for the stream, and print would print into it.
    """
    for number, name, mode in ((0, "stdin", os.O_RDONLY), (1, "stdout", os.O_WRONLY), (2, "stderr", os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, mode)  # the lowest that is free: this one, as those below are open
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if mode else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


@contextmanager
def outlets(*, escaped: bool, ends: bool) -> Iterator[None]:
    """Inside, print goes through outlets; see there for ``escaped`` and ``ends``. At the end all of it is out."""
    streams = sys.stdout, sys.stderr
    for stream in streams:
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stdout = Outlet(streams[0], escaped=escaped, required=True, ends=ends)
    sys.stderr = Outlet(streams[1], escaped=escaped, required=False)
    try:
        yield
        sys.stdout.flush()
    except BaseException:
        with contextlib.suppress(Unwritable, ReaderGone):
            sys.stdout.flush()
        raise
    finally:
        sys.stdout, sys.stderr = streams
