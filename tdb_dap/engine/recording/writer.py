"""Writing a ``.tdbrec`` file as a program runs: what is written can be read, whatever happens next."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from tdb_dap.engine.files.atomic_files import unfinished_name
from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording.packing import Packer

_LEVEL = 3


class Writer:
    """A recording that grows. OSError where the disk refuses it; the file then ends with its last whole chunk.

    It has a temporary name next to ``path`` until there is an event in it, or ``done``: what was at ``path`` stays
    until then (on Windows until it is closed). ``size``: bytes of it so far.
    """

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        self._place = Path(os.path.realpath(path))
        self._has_content = False
        self._unfinished: Path | None = None
        if self._place.exists() and not self._place.is_file():  # a device or a pipe is never replaced
            self._file = self._place.open("wb", buffering=0)
        else:
            self._unfinished = unfinished_name(self._place)
            self._file = self._unfinished.open("xb", buffering=0)
        self._packer = Packer(_LEVEL)
        self._checksum = hashlib.sha256()
        self._pending = bytearray()
        self.size = 0
        self._write(form.FILE_HEADER.pack(form.MAGIC, form.VERSION, 0, 0))
        self._chunk(form.HEAD, json.dumps(head).encode())

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def events(self, data: bytes | bytearray | memoryview) -> None:
        """Add whole events; they are packed when there are enough."""
        self._pending += data
        if len(self._pending) >= form.CHUNK:
            self.flush()

    def flush(self) -> None:
        """Write the events that wait."""
        if self._pending:
            content = bytes(self._pending)
            self._pending.clear()
            self._chunk(form.EVENTS, content)
            self._publish()

    def attach(self, name: str, content: bytes) -> None:
        """Add a file."""
        encoded = name.encode()
        self._chunk(form.ATTACHED, len(encoded).to_bytes(2, "little") + encoded + content)

    def done(self, summary: Mapping[str, Any]) -> None:
        """Say that this is all; ``remark`` in the summary names what is missing nevertheless."""
        self.flush()
        self._chunk(form.DONE, json.dumps({**summary, "sha256": self._checksum.hexdigest()}).encode())
        self._publish()

    def _publish(self) -> None:
        """There is something in it: it takes its place, where an open file can be renamed."""
        self._has_content = True
        if self._unfinished is not None and (os.name == "posix" or self._file.closed):
            if self._place.is_file():
                shutil.copymode(self._place, self._unfinished)
            self._unfinished.replace(self._place)
            self._unfinished = None

    def close(self) -> None:
        """Write what waits and close; without ``done`` the recording counts as interrupted, without events it goes."""
        try:
            self.flush()
        finally:
            self._file.close()
            if self._has_content:
                self._publish()
            elif self._unfinished is not None:
                self._unfinished.unlink(missing_ok=True)

    @property
    def has_content(self) -> bool:
        """Whether there is a recording."""
        return self._has_content

    def _chunk(self, kind: bytes, content: bytes) -> None:
        packed = self._packer.pack(content)
        self._write(form.CHUNK_HEADER.pack(kind, len(content), len(packed), zlib.crc32(packed)) + packed)

    def _write(self, data: bytes) -> None:
        before = self.size
        view = memoryview(data)
        try:
            while view:
                written = self._file.write(view)
                view = view[written or 0 :]
        except OSError:
            self._file.truncate(before)
            raise
        self._checksum.update(data)
        self.size += len(data)
