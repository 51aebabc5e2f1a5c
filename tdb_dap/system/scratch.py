"""Directories for what is needed while something runs, which go away also after a process that was killed."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tdb_dap.errors import BadInput

_PREFIX = "tdb-dap-scratch-"

SOCKET_PATH = 100
"""Bytes that the path of a local socket may have on every system."""

_TRIALS = 3
"""Directories that are made to get one with a lock, before one without is taken: not every system has them."""

_SHORT = ("/tmp", "/var/tmp", "/dev/shm")


@contextmanager
def scratch_directory(most: int | None = None) -> Iterator[Path]:
    """A directory of this user, removed at the end; what killed processes have left is removed first.

    ``most``: bytes that its path may have; a system directory is taken where TMPDIR is too long. BadInput if none is
    short enough, or can be written.
    """
    _sweep(Path(tempfile.gettempdir()))
    folder, lock = _made(most)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _made(most: int | None) -> tuple[Path, int | None]:
    """A new directory and the descriptor that holds its lock."""
    problem = ""
    for parent in (tempfile.gettempdir(), *(_SHORT if most is not None else ())):
        if most is not None and len(os.fsencode(parent)) + len(_PREFIX) + 10 > most:
            problem = problem or f"{parent}: is too long a path for a socket"
            continue
        try:
            for _ in range(_TRIALS):
                folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
                lock = _locked(folder)
                if lock is not None and folder.is_dir():  # else somebody swept before it was locked
                    return folder, lock
            return Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent)), None
        except OSError as error:
            problem = problem or f"{parent}: cannot be written: {error.strerror or error}"
    raise BadInput(f"{problem}; TMPDIR names another place")


def _locked(folder: Path) -> int | None:
    """A descriptor that holds the lock of a directory; None if another process holds it, or no system locks them."""
    try:
        import fcntl
    except ImportError:
        return None
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _sweep(parent: Path) -> None:
    """Remove directories of this user that no process holds."""
    if not hasattr(os, "getuid"):
        return
    with suppress(OSError, BadInput):  # a process that is confined leaves it to the others
        for entry in os.scandir(parent):
            if not entry.name.startswith(_PREFIX) or entry.is_symlink() or entry.stat().st_uid != os.getuid():
                continue
            lock = _locked(Path(entry.path))
            if lock is not None:
                shutil.rmtree(entry.path, ignore_errors=True)
                os.close(lock)
