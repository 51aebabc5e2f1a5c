"""Files kept between processes in the user's cache directory: what another run of the same program need not work out.

A file counts only with the mark that the user's own key gives it: one that is damaged, or that somebody else has
written, is ignored. The key is in another directory than the files, because caches are what machines share.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

from tdb_dap.system.user_directories import cache_directory, state_directory

SWITCH = "TDB_DAP_PLAN_CACHE"
"""Environment variable: ``0`` keeps nothing."""
_MARK_BYTES = 32
_MOST_BYTES = 1 << 28
"""Of all files; the ones that were not used for the longest time go first."""
_LARGEST = 1 << 26
"""Bytes of one file."""


class KeptFile:
    """One file. ``kind``: what it holds, its suffix; ``digest``: 16 bytes that stand for all its contents depend on."""

    def __init__(self, kind: str, digest: bytes) -> None:
        self._name = kind.encode() + digest
        self._path = cache_directory() / "plans" / f"{digest.hex()}.{kind}"

    def load(self) -> memoryview | None:
        """Its contents; None where there is none that counts."""
        key = _key(to_make=False)
        if key is None:
            return None
        with suppress(OSError, ValueError):
            if self._path.stat().st_size > _LARGEST + _MARK_BYTES:
                return None
            data = memoryview(self._path.read_bytes())
            if hmac.compare_digest(data[:_MARK_BYTES], self._mark(key, data[_MARK_BYTES:])):
                os.utime(self._path)
                return data[_MARK_BYTES:]
        return None

    def save(self, data: bytes) -> None:
        """Replace its contents; what is too large, or cannot be written, is not kept."""
        key = _key(to_make=True)
        if key is None or len(data) > _LARGEST:
            return
        with suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Under another name first, which nobody else has; a link in the file's place is replaced, not followed.
            unfinished = self._path.with_suffix(f".{os.urandom(8).hex()}{self._path.suffix}")
            with unfinished.open("xb") as file:
                file.write(self._mark(key, memoryview(data)))
                file.write(data)
            unfinished.replace(self._path)
            _make_room(self._path.parent)

    def _mark(self, key: bytes, data: memoryview) -> bytes:
        digest = hashlib.blake2b(self._name, key=key, digest_size=_MARK_BYTES)
        digest.update(data)
        return digest.digest()


def are_wanted() -> bool:
    """Whether files are kept."""
    return os.environ.get(SWITCH, "1") != "0"


def state_of_sources(*folders: Path) -> bytes:
    """Digests of the sources below some folders, and of the Python that runs them."""
    return b"".join([_state_of_python(), *map(_state_of, folders)])


@cache
def _state_of_python() -> bytes:
    digest = hashlib.blake2b(f"{sys.version}\n".encode(), digest_size=16)
    with suppress(OSError):  # where Python is a library, as in a browser, there is no such file
        program = os.stat(sys.executable)
        digest.update(f"{program.st_size} {program.st_mtime_ns}\n".encode())
    return digest.digest()


@cache
def _state_of(folder: Path) -> bytes:
    digest, rest = hashlib.blake2b(digest_size=16), [folder]
    for part in rest:
        with suppress(OSError), os.scandir(part) as entries:  # a frozen program has no folders
            for entry in sorted(entries, key=lambda each: each.name):
                if entry.name.endswith((".py", ".json")):
                    state = entry.stat()
                    digest.update(f"{entry.path} {state.st_size} {state.st_mtime_ns}\n".encode())
                elif entry.is_dir() and entry.name != "__pycache__":
                    rest.append(Path(entry.path))
    return digest.digest()


def _key(to_make: bool) -> bytes | None:
    """The user's key; None where there is none, or others may read or change it."""
    path = state_directory() / "plans.key"
    try:
        if to_make and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with suppress(FileExistsError):  # another process was first
                descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
                with os.fdopen(descriptor, "wb") as file:
                    file.write(os.urandom(_MARK_BYTES))
        state = path.stat()
        if os.name == "posix" and (state.st_uid != os.getuid() or state.st_mode & 0o077):
            return None
        key = path.read_bytes()
    except OSError:
        return None
    return key if len(key) == _MARK_BYTES else None


def _make_room(folder: Path) -> None:
    """Remove the files that were not used for the longest time, as far as all together are too large."""
    files = [(path.stat(), path) for path in folder.iterdir() if path.suffix in (".plans", ".rows")]
    total = sum(state.st_size for state, _ in files)
    for state, path in sorted(files, key=lambda file: file[0].st_mtime):
        if total <= _MOST_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= state.st_size
