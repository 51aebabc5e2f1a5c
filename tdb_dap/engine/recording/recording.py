"""Reading a ``.tdbrec`` file: complete, interrupted, damaged or malicious."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording.packing import CannotUnpack, Unpacker
from tdb_dap.errors import BadInput

T = TypeVar("T")

_KINDS = (form.HEAD, form.EVENTS, form.ATTACHED, form.DONE)

_WORKING_MEMORY = 64 << 20
"""Bytes of history that unpacking may keep."""

_AGAIN = "copy it or record again"


class _Broken(Exception):
    """A chunk that cannot be read; the message says why."""


class Recording(Struct, frozen=True):
    """A program's run on the vendor's runtime, event by event.

    ``head``: arguments, time, versions, mode; ``events``: rows of ``EVENT_DTYPE``; ``data``: uint8, all events joined;
    ``files``: attached ones by name; ``done``: counts and exit code, empty if it was interrupted; ``remark``: what is
    missing at the end, or empty.
    """

    path: Path
    head: Mapping[str, Any]
    data: NDArray[np.uint8]
    events: NDArray[Any]
    files: Mapping[str, bytes]
    done: Mapping[str, Any]
    remark: str

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Recording:
        """Read a whole file; BadInput if it is none, or damaged before its last chunk."""
        return _Reader(Path(path)).recording()

    @property
    def is_complete(self) -> bool:
        """Whether the program was recorded to its end."""
        return not self.remark

    def payload(self, index: int) -> bytes:
        """The payload of an event."""
        row = self.events[index]
        start = int(row["start"])
        return self.data[start : start + int(row["size"])].tobytes()

    def parsed(self, index: int, parse: Callable[[bytes], T]) -> T:
        """An event as ``parse`` reads it: ``recording.parsed(i, LaunchBegin.parse)``; BadInput names the event."""
        try:
            return parse(self.payload(index))
        except BadInput as error:
            raise BadInput(f"{self.path}: event {index:,}: {error}") from None

    def of(self, kind: form.Event) -> NDArray[np.intp]:
        """Indices of the events of one type."""
        return np.flatnonzero(self.events["type"] == kind)


class _Reader:
    """Goes through the chunks of one file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file = read_file(path, limits.UNPACKED)
        self.left = limits.unpacked(len(self.file))
        self.events_left = limits.events(len(self.file))
        self.unpacker = Unpacker(_WORKING_MEMORY)
        self.head: dict[str, Any] | None = None
        self.parts: list[NDArray[np.uint8]] = []
        self.rows: list[NDArray[Any]] = []
        self.files: dict[str, bytes] = {}
        self.done: dict[str, Any] = {}
        self.remark = "it was interrupted: what the program did after the last event is not in it"
        self.joined = 0

    def recording(self) -> Recording:
        if len(self.file) < form.FILE_HEADER.size or self.file[:8] != form.MAGIC:
            raise BadInput(f"{self.path}: not a recording; `tdb-dap record -- PROGRAM` makes one")
        _, version, _, _ = form.FILE_HEADER.unpack_from(self.file)
        if version != form.VERSION:
            raise BadInput(
                f"{self.path}: a recording of version {version}, and this tdb-dap reads {form.VERSION}; "
                "update tdb-dap or record again"
            )
        for at, kind, content in self._chunks():
            try:
                self._take(at, kind, content)
            except _Broken as error:
                raise BadInput(f"{self.path}: damaged at byte {at:,}: {error}; {_AGAIN}") from None
        if self.head is None:
            raise BadInput(f"{self.path}: nothing was recorded before it was interrupted; record again")
        data = np.concatenate(self.parts) if self.parts else np.zeros(0, np.uint8)
        events = np.concatenate(self.rows) if self.rows else np.zeros(0, form.EVENT_DTYPE)
        return Recording(self.path, self.head, data, events, self.files, self.done, self.remark)

    def _chunks(self) -> Iterator[tuple[int, bytes, bytes]]:
        """Byte offset, kind and unpacked content of each; a damaged last one is left out and said."""
        at = form.FILE_HEADER.size
        while at < len(self.file):
            try:
                kind, content, after = self._chunk(at)
            except _Broken as error:
                if self._is_last(at):
                    self.remark = f"it was interrupted: its last part, at byte {at:,}, is not whole ({error})"
                    return
                raise BadInput(f"{self.path}: damaged at byte {at:,}: {error}; {_AGAIN}") from None
            yield at, kind, content
            at = after

    def _chunk(self, at: int) -> tuple[bytes, bytes, int]:
        if len(self.file) - at < form.CHUNK_HEADER.size:
            raise _Broken("its header is cut off")
        kind, size, packed_size, checksum = form.CHUNK_HEADER.unpack_from(self.file, at)
        start = at + form.CHUNK_HEADER.size
        packed = memoryview(self.file)[start : start + packed_size]
        if len(packed) < packed_size:
            raise _Broken(f"{len(packed):,} of {packed_size:,} bytes are there")
        if kind not in _KINDS:
            raise _Broken("an unknown kind of chunk")
        if zlib.crc32(packed) != checksum:
            raise _Broken("its checksum is wrong")
        if size > self.left:
            raise BadInput(f"{self.path}: unpacks to more than {limits.readable(limits.unpacked(len(self.file)))}")
        try:
            content = self.unpacker.unpack(packed, size)
        except CannotUnpack as error:
            raise _Broken(str(error)) from None
        self.left -= size
        return kind, content, start + packed_size

    def _is_last(self, at: int) -> bool:
        """Whether the chunk at ``at`` reaches to the end of the file or beyond, so that it may have been cut off."""
        if len(self.file) - at < form.CHUNK_HEADER.size:
            return True
        _, _, packed_size, _ = form.CHUNK_HEADER.unpack_from(self.file, at)
        return at + form.CHUNK_HEADER.size + packed_size >= len(self.file)

    def _take(self, at: int, kind: bytes, content: bytes) -> None:
        if self.done:
            raise _Broken("it continues after its end")
        if (kind == form.HEAD) != (self.head is None):
            raise _Broken("its chunks are out of order")
        if kind == form.HEAD:
            self.head = _object(content)
        elif kind == form.EVENTS:
            self._events(content)
        elif kind == form.ATTACHED:
            self._attached(content)
        else:
            self.done = _object(content)
            if self.done.get("sha256") != hashlib.sha256(memoryview(self.file)[:at]).hexdigest():
                raise _Broken("the checksum of the whole is wrong")
            self.remark = str(self.done.get("remark", ""))

    def _events(self, content: bytes) -> None:
        try:
            starts = form.starts_of(content)
        except ValueError:
            raise _Broken("an event is cut off") from None
        self.events_left -= starts.size
        if self.events_left < 0:
            most = limits.events(len(self.file))
            raise BadInput(f"{self.path}: has more than {most:,} events, too many for its size")
        heads = np.frombuffer(content, np.uint8).reshape(-1, 8)[starts >> 3]
        rows = np.zeros(starts.size, form.EVENT_DTYPE)
        rows["type"], rows["flags"] = heads[:, 0], heads[:, 1]
        rows["core"] = np.ascontiguousarray(heads[:, 2:4]).view("<u2")[:, 0]
        rows["size"] = np.ascontiguousarray(heads[:, 4:8]).view("<u4")[:, 0]
        rows["start"] = starts + (self.joined + form.EVENT_HEADER.size)
        self.rows.append(rows)
        self.parts.append(np.frombuffer(content, np.uint8))
        self.joined += len(content)

    def _attached(self, content: bytes) -> None:
        length = int.from_bytes(content[:2], "little")
        if len(content) < 2 + length or len(self.files) >= limits.ARRAYS:
            raise _Broken("an attached file without its name")
        self.files[content[2 : 2 + length].decode("utf-8", "backslashreplace")] = content[2 + length :]


def _object(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        raise _Broken("not JSON") from None
    if not isinstance(value, dict):
        raise _Broken("not a JSON object")
    return value
