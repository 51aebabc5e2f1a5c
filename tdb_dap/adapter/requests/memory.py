"""Bytes of every memory space of the chip: read and overwritten."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.types import (
    ReadMemoryArguments,
    ReadMemoryResponseBody,
    WriteMemoryArguments,
    WriteMemoryResponseBody,
)
from tdb_dap.adapter.requests.set_variable import announce
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.references import memory_reference, parse_memory_reference
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session

_LARGEST_READ = 64 << 20


@request("readMemory", capability="supportsReadMemoryRequest")
def read_memory(session: Session, arguments: ReadMemoryArguments) -> ReadMemoryResponseBody:
    """Bytes from a reference on; what is outside of the space is reported as unreadable."""
    space, core, base = parse_memory_reference(session, arguments.memoryReference)
    start = base + (arguments.offset or 0)
    count = max(0, arguments.count)
    memory = session.debugger.machine.memory
    stop = next((r.stop for r in memory.regions(space, core) if r.start <= start < r.stop), start)
    size = min(count, stop - start, _LARGEST_READ)
    answer = ReadMemoryResponseBody(address=memory_reference(space, core, max(start, 0)))
    if size > 0:
        answer.data = base64.b64encode(memory.read_bytes(space, start, size, core)).decode()
    if size < count:
        answer.unreadableBytes = count - max(size, 0)
    return answer


@request("writeMemory", capability="supportsWriteMemoryRequest")
def write_memory(session: Session, arguments: WriteMemoryArguments) -> WriteMemoryResponseBody:
    """Bytes from a reference on; with ``allowPartial`` as many of them as there is memory for."""
    space, core, base = parse_memory_reference(session, arguments.memoryReference)
    start = base + (arguments.offset or 0)
    try:
        data = base64.b64decode(arguments.data, validate=True)
    except ValueError:
        raise BadExpression("the data is not base64") from None
    if arguments.allowPartial:
        regions = session.debugger.machine.memory.regions(space, core)
        stop = next((region.stop for region in regions if region.start <= start < region.stop), start)
        data = data[: stop - start]
    if data:
        session.debugger.machine.write_bytes(space, core, start, data)
        announce(session, ByteRanges.range(space, core, start, len(data)))
    return WriteMemoryResponseBody(bytesWritten=len(data))
