"""Writing a ``.tdbrec`` file as a program runs: what is written can be read, whatever happens next."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

import zstandard

from tdb_dap.engine.recording import format as form

_LEVEL = 3


class Writer:
    """A recording that grows. OSError where the disk refuses it; the file then ends with its last whole chunk.

    ``size``: bytes of it so far.
    """

    def __init__(self, path: Path, head: Mapping[str, Any]) -> None:
        self._file = path.open("wb", buffering=0)
        self._packer = zstandard.ZstdCompressor(level=_LEVEL, write_checksum=False, write_content_size=True)
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

    def attach(self, name: str, content: bytes) -> None:
        """Add a file."""
        encoded = name.encode()
        self._chunk(form.ATTACHED, len(encoded).to_bytes(2, "little") + encoded + content)

    def done(self, summary: Mapping[str, Any]) -> None:
        """Say that this is all; ``remark`` in the summary names what is missing nevertheless."""
        self.flush()
        self._chunk(form.DONE, json.dumps({**summary, "sha256": self._checksum.hexdigest()}).encode())

    def close(self) -> None:
        """Write what waits and close; without ``done`` the recording counts as interrupted."""
        try:
            self.flush()
        finally:
            self._file.close()

    def _chunk(self, kind: bytes, content: bytes) -> None:
        packed = self._packer.compress(content)
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
