"""Memory as numbers of a type, for clients that show and edit it by address: ``tdb/memory`` and ``tdb/setMemory``."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.adapter.protocol.model import ProtocolModel
from tdb_dap.adapter.requests.scopes import names_at
from tdb_dap.adapter.requests.set_variable import announce
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.references import memory_reference, parse_memory_reference
from tdb_dap.engine.expressions.values import number_text
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.dtypes import BY_NAME
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.protocol.responses import MemoryWindow, WrittenNumber
    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.hardware.dtypes import DType
    from tdb_dap.engine.hardware.geometry import Space

_LARGEST_WINDOW = 1 << 16
"""Bytes in one answer: each becomes a text."""


class PlaceArguments(ProtocolModel, kw_only=True):
    """A place in memory: ``address`` as in listings (of the first core) or a memory reference, and bytes from there."""

    address: str
    offset: int = 0
    dtype: str = "ui8"


class WindowArguments(PlaceArguments, kw_only=True):
    """``count``: of bytes; the answer names the first of each ``rowBytes``."""

    count: int
    rowBytes: int = 16


class SetMemoryArguments(PlaceArguments, kw_only=True):
    """``value``: an expression whose value is one number."""

    value: str


@request("tdb/memory")
def read_window(session: Session, arguments: WindowArguments) -> MemoryWindow:
    """Bytes, and the numbers of a type that they are; no more of them than the region has."""
    memory, geometry = session.debugger.machine.memory, session.debugger.program.target.geometry
    dtype = _dtype(arguments.dtype)
    if not 0 < arguments.count <= _LARGEST_WINDOW or arguments.rowBytes < 1:
        raise BadExpression(f"count must be from 1 to {_LARGEST_WINDOW:,}, and rowBytes at least 1")
    space, core, start = _place(session, arguments)
    region = memory.region(space, start, start + 1, core)
    size = min(arguments.count, region.stop - start)
    data = memory.read_bytes(space, start, size, core)
    words = np.frombuffer(data[: size - size % dtype.itemsize], dtype.bits_dtype)
    return {
        "reference": memory_reference(space, core, start),
        "space": space.value,
        "core": core,
        "start": start,
        "region": {"title": region.title, "start": region.start, "stop": region.stop},
        "data": base64.b64encode(data).decode(),
        "numbers": [number_text(number) for number in dtype.decode(words)],
        "rows": [geometry.name(space, at) for at in range(start, start + size, arguments.rowBytes)],
    }


@request("tdb/setMemory")
def set_memory(session: Session, arguments: SetMemoryArguments) -> WrittenNumber:
    """Overwrite the number of a type at an address. It is an edit like others: listed, and undone."""
    debugger = session.debugger
    dtype = _dtype(arguments.dtype)
    space, core, start = _place(session, arguments)
    try:
        numbers = debugger.evaluate(arguments.value, names_at(session, None)).computed
    except BadExpression as error:
        raise BadExpression(f"{error}; write one number, such as -1.5, 0x1f, nan or in[0][0,0,0,0]") from None
    if numbers.size != 1:
        raise BadExpression(f"{arguments.value} is {numbers.size:,} numbers; one is written at a time")
    word = dtype.words_for(numbers.reshape(1))
    debugger.machine.write_bytes(space, core, start, word.tobytes())
    announce(session, ByteRanges.range(space, core, start, dtype.itemsize))
    return {"number": number_text(dtype.decode(word)[0])}


def _place(session: Session, arguments: PlaceArguments) -> tuple[Space, int, int]:
    space, core, start = parse_memory_reference(session, arguments.address)
    return space, core, start + arguments.offset


def _dtype(name: str) -> DType:
    dtype = BY_NAME.get(name)
    if dtype is None or dtype.per_byte > 1:
        names = ", ".join(known.name for known in BY_NAME.values() if known.per_byte == 1)
        raise BadExpression(f"{name} is not a type of numbers of whole bytes; there are {names}")
    return dtype
