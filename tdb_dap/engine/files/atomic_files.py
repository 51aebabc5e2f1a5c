"""Writing files that appear under their name when they are complete, or not at all."""

from __future__ import annotations

import errno
import glob
import os
import shutil
import stat
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import IO

from tdb_dap.errors import BadInput

_LONGEST_NAME = 50


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to, which takes the place of ``path`` when the block ends well; BadInput if that cannot be.

    Through symbolic links. A device, or a pipe that somebody reads from, gets everything at the end.
    """
    try:
        if _is_special(path):
            with tempfile.TemporaryFile() as file:
                yield file
                file.seek(0)
                _pour(file, path)
        else:
            with _aside(path) as unfinished, unfinished.open("xb") as file:
                yield file
    except OSError as error:
        raise cannot_write(path, error) from None


@contextmanager
def whole_path(path: Path) -> Iterator[Path]:
    """As ``whole_file`` for a file that is written by name, or for a directory that is not there or empty."""
    try:
        with _aside(path) as unfinished:
            yield unfinished
    except OSError as error:
        raise cannot_write(path, error) from None


def write_text(path: Path, text: str) -> None:
    """Write a text; what UTF-8 cannot hold, such as a byte of a name that is none, becomes an escape."""
    with whole_file(path) as file:
        file.write(text.encode("utf-8", "backslashreplace"))


def cannot_write(path: Path, error: OSError) -> BadInput:
    """The error of a file that cannot be written."""
    reason = error.strerror or str(error)
    if error.errno == errno.ENXIO:
        reason = "nobody reads from this pipe"
    return BadInput(f"{path}: cannot be written: {reason}")


def refuse_unwritable(path: Path) -> None:
    """BadInput, before anything runs, where it is plain that ``path`` cannot be written."""
    parent = path.absolute().parent
    try:
        if not parent.is_dir():
            raise BadInput(f"{path}: cannot be written: there is no directory {parent}")
        if path.is_dir():
            raise BadInput(f"{path}: cannot be written: it is a directory")
    except OSError as error:
        raise cannot_write(path, error) from None


def _is_special(path: Path) -> bool:
    """Whether a path is no ordinary file, nor the place of one: a device, a pipe, /dev/stdout wherever that leads."""
    if os.path.abspath(path).startswith(("/dev/", "/proc/")):
        return True
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    return not stat.S_ISREG(mode)


def _pour(file: IO[bytes], path: Path) -> None:
    """Copy a file into what is there; does not wait for somebody to read from a pipe."""
    number = os.open(path, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
    if hasattr(os, "set_blocking"):
        os.set_blocking(number, True)
    with open(number, "wb") as sink:
        shutil.copyfileobj(file, sink, 1 << 20)


def unfinished_name(place: Path) -> Path:
    """A new hidden name next to ``place``; what killed processes of this machine left under such names goes away."""
    name, machine = place.name[:_LONGEST_NAME], _machine()
    if machine:
        with suppress(OSError):
            for left in place.parent.glob(f".{glob.escape(name)}.{machine}-*-*.part"):
                owner = left.name.split("-")[-2]
                if owner.isdecimal() and not Path("/proc", owner).exists():
                    _remove(left)
    return place.with_name(f".{name}.{machine or 'x'}-{os.getpid()}-{os.urandom(4).hex()}.part")


@cache
def _machine() -> str:
    """Tells this machine's processes from those of others that share a directory; empty where nothing does."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_bytes()
        return f"{zlib.crc32(boot + os.readlink('/proc/self/ns/pid').encode()):08x}"
    except (OSError, BadInput):  # a process that is confined leaves it to the others
        return ""


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


@contextmanager
def _aside(path: Path) -> Iterator[Path]:
    """A name next to ``path`` for what is unfinished; it takes its place at the end, and goes away after an error."""
    place = Path(os.path.realpath(path))
    unfinished = unfinished_name(place)
    try:
        yield unfinished
        if place.is_file():
            shutil.copymode(place, unfinished)
        elif unfinished.is_dir() and place.is_dir():
            place.rmdir()
        unfinished.replace(place)
    except BaseException:
        _remove(unfinished)
        raise
