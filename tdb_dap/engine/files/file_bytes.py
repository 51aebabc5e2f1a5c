"""The bytes of a file that a session goes on reading, whatever others do with the file meanwhile.

A small file is read. A large one is mapped: pages that nobody touches cost nothing, but what is written into the file
appears in them, and touching a page beyond its new end would end the process. So it is looked at again and again.
"""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file, size_of
from tdb_dap.errors import BadInput

READ = 32 << 20
"""Bytes up to which a file is read."""

_SELDOM = 0.02
"""Seconds between two looks at a mapped file."""


class FileBytes:
    """``data``: the bytes, uint8, of an ``.xz`` file what it unpacks to; what is written into them stays in memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._state = _state_of(path)
        self._file: IO[bytes] | None = None
        self._looked = 0.0
        size = size_of(path)
        if path.suffix == ".xz":
            self.data: NDArray[np.uint8] = np.frombuffer(read_file(path, limits.UNPACKED), np.uint8)
            return
        try:
            file = path.open("rb", buffering=0)
            if size <= READ:
                with file:
                    self.data = np.empty(size, np.uint8)
                    self.data = self.data[: file.readinto(self.data.data)]
                return
        except OSError as error:
            raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from None
        self._file = file
        self._content = self._content_now()
        self.data = self._mapped()

    @property
    def is_mapped(self) -> bool:
        """Whether the file is too large to be read."""
        return self._file is not None

    def private(self) -> NDArray[np.uint8]:
        """The same bytes of a mapped file to write into, while ``data`` stays as it is: a page is copied then."""
        self.require_intact()
        return self._mapped()

    @property
    def has_changed(self) -> bool:
        """Whether the path no longer names the file that was opened, or its contents were written since."""
        self._looked = 0.0
        return _state_of(self.path) != self._state

    def require_intact(self) -> None:
        """BadInput if somebody has written into a file that is mapped; looks at it every few milliseconds."""
        if self._file is None:
            return
        now = time.monotonic()
        if now - self._looked > _SELDOM:
            if self._content_now() != self._content:
                raise BadInput(
                    f"{self.path}: was written since it was opened, so its numbers would be of two files; load it again"
                )
            self._looked = now

    def _content_now(self) -> tuple[int, int]:
        assert self._file is not None
        status = os.fstat(self._file.fileno())
        return status.st_size, status.st_mtime_ns

    def _mapped(self) -> NDArray[np.uint8]:
        assert self._file is not None
        try:
            return np.frombuffer(mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_COPY), np.uint8)
        except (OSError, ValueError) as error:
            raise BadInput(f"{self.path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _state_of(path: Path) -> tuple[int, ...] | None:
    """Numbers that change with a file and with its contents; None where there is none."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
