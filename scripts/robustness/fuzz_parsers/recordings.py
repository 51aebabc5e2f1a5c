"""Targets: recordings of programs."""

from __future__ import annotations

import hashlib
import zlib
from contextlib import suppress
from typing import Any

import zstandard

from scripts.robustness.fuzz_parsers.files import written
from scripts.robustness.fuzz_parsers.target import target
from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording import payloads
from tdb_dap.engine.recording.format import Event, event
from tdb_dap.engine.recording.recording import Recording
from tdb_dap.errors import BadInput

_PARSERS: dict[int, Any] = {
    Event.REGION: payloads.Region,
    Event.COMMAND: payloads.CommandStart,
    Event.BLOCK: payloads.Block,
    Event.HASH: payloads.Hash,
    Event.BASE: payloads.Base,
    Event.MARK: payloads.Mark,
    Event.COPY_IN: payloads.CopyIn,
    Event.COPY_OUT: payloads.CopyOut,
    Event.LAUNCH_BEGIN: payloads.LaunchBegin,
    Event.LAUNCH_END: payloads.LaunchEnd,
    Event.MODEL: payloads.Model,
    Event.CPU_LAYER: payloads.CpuLayer,
    Event.NAME: payloads.Name,
}

_TENSOR = payloads.LaunchTensor(0, 0, 0x105100000, 40, (1, 10))


def _events() -> bytes:
    """One of each that has a shape, a text or data in it."""
    launch = payloads.LaunchBegin(0, 0, "toy", (_TENSOR,), (_TENSOR,))
    mark = payloads.Mark(0, 0, (1, 2, 3, 4), 5, 6, (1, 32))
    return b"".join(
        event(kind, payload.pack())
        for kind, payload in (
            (Event.REGION, payloads.Region("G", 1 << 32, 1 << 32, "libcmodel.so")),
            (Event.NAME, payloads.Name(0, "dynamic_context_group_end")),
            (Event.LAUNCH_BEGIN, launch),
            (Event.MARK, mark),
            (Event.COMMAND, payloads.CommandStart(1, 0, bytes(96))),
            (Event.BLOCK, payloads.Block("G", 0, 16368, b"abcd" * 4)),
            (Event.COPY_IN, payloads.CopyIn(0x105100000, 4, b"wxyz", None)),
            (Event.LAUNCH_END, payloads.LaunchEnd(0, 0, (_TENSOR,))),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    packed = zstandard.ZstdCompressor().compress(content)
    return form.CHUNK_HEADER.pack(kind, len(content), len(packed), zlib.crc32(packed)) + packed


def _file(content: bytes) -> bytes:
    """A whole recording of these events; nothing is written."""
    data = form.FILE_HEADER.pack(form.MAGIC, form.VERSION, 0, 0) + _chunk(form.HEAD, b'{"arguments": ["x"]}')
    data += _chunk(form.EVENTS, content) + _chunk(form.ATTACHED, b"\1\0x{}")
    return data + _chunk(form.DONE, b'{"exit": 0, "sha256": "%s"}' % hashlib.sha256(data).hexdigest().encode())


@target("recording", lambda: [_file(_events()), _file(b"")])
def recording(data: bytes) -> None:
    """A file that says it is a recording."""
    _ = Recording.read(written("x.tdbrec", data)).is_complete


@target("events", lambda: [_events()])
def events(data: bytes) -> None:
    """Events of a recording whose checksums are right."""
    found = Recording.read(written("x.tdbrec", _file(data)))
    for index, row in enumerate(found.events[:64]):
        kind, flags = int(row["type"]), int(row["flags"])
        with suppress(BadInput):
            if kind == Event.BLOCK:
                payloads.Block.parse(found.payload(index), flags, most=1 << 20)
            elif kind == Event.COPY_IN:
                payloads.CopyIn.parse(found.payload(index), flags)
            elif kind in _PARSERS:
                found.parsed(index, _PARSERS[kind].parse)
