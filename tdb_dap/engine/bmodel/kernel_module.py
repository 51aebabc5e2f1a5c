"""The kernel module of a bmodel: firmware that the runtime of some chips insists on finding in the file.

A FlatBuffers table only points forward, by distances: a new root in front of the old block, with one more entry, leaves
everything behind it as it is. https://flatbuffers.dev/internals/
"""

from __future__ import annotations

import struct
from pathlib import Path

from tdb_dap.engine.bmodel import schema
from tdb_dap.engine.bmodel.file import HEADER, HEADER_BYTES, MAGIC
from tdb_dap.engine.files.atomic_files import whole_file
from tdb_dap.engine.files.flat_buffer import Block

_OFFSETS = (0, 1, 2, 3, 4, 8)
"""Fields of the table Model that are offsets: strings, vectors and tables."""

_KERNEL = schema.Model.KERNEL_MODULE

_FIELDS = {0: 4, 1: 8, 2: 12, 3: 16, 4: 20, _KERNEL: 24, 7: 28, 8: 32, 9: 36, 5: 40, 10: 48}
"""Field of the table Model -> its place in the new table, which is aligned to 8 bytes."""

_SIZES = {5: 8, 7: 4, 9: 4, 10: 16}
"""Bytes of the fields that are numbers or spans."""

_TABLE = 64
_ALIGNMENT = 16


def give_kernel(model: Path, library: Path) -> bool:
    """Put a kernel module into an unpacked bmodel that has none; False if it has one already."""
    data = model.read_bytes()
    _, header_size, block_size, payload_size = HEADER.unpack_from(data)
    block = data[header_size : header_size + block_size]
    own = Block(block).root().table(_KERNEL)
    _, size = (own and own.record(schema.KernelModule.BINARY, schema.SPAN)) or (0, 0)
    if size:
        return False
    payload = data[header_size + block_size : header_size + block_size + payload_size]
    kernel = library.read_bytes()
    new = _with_kernel(block, library.name.encode(), len(payload), len(kernel))
    header = HEADER.pack(MAGIC, HEADER_BYTES, len(new), len(payload) + len(kernel)).ljust(HEADER_BYTES, b"\0")
    with whole_file(model) as file:
        for part in (header, new, payload, kernel):
            file.write(part)
    return True


def _with_kernel(block: bytes, name: bytes, start: int, size: int) -> bytes:
    """The block with another root; the kernel is ``size`` bytes from ``start`` of the payload on."""
    (old,) = struct.unpack_from("<I", block)
    old_vtable = old - struct.unpack_from("<i", block, old)[0]
    (length,) = struct.unpack_from("<H", block, old_vtable)
    slots = struct.unpack_from(f"<{(length - 4) // 2}H", block, old_vtable + 4)
    vtable, table = 8, 40
    kernel = table + _TABLE
    kernel_vtable, text = kernel + 32, kernel + 48
    front = bytearray(-(-(text + 4 + len(name) + 1) // _ALIGNMENT) * _ALIGNMENT)
    struct.pack_into("<I", front, 0, table)
    present = {field for field, slot in enumerate(slots) if slot and field in _FIELDS} | {_KERNEL}
    struct.pack_into("<2H", front, vtable, 4 + 2 * len(_FIELDS), _TABLE)
    struct.pack_into("<i", front, table, table - vtable)
    for field, place in _FIELDS.items():
        if field not in present:
            continue
        struct.pack_into("<H", front, vtable + 4 + 2 * field, place)
        at = table + place
        if field == _KERNEL:
            struct.pack_into("<I", front, at, kernel - at)
            continue
        there = old + slots[field]
        if field in _OFFSETS:
            target = there + struct.unpack_from("<I", block, there)[0] + len(front)
            struct.pack_into("<I", front, at, target - at)
        else:
            front[at : at + _SIZES[field]] = block[there : there + _SIZES[field]]
    struct.pack_into("<i", front, kernel, kernel - kernel_vtable)
    struct.pack_into("<I", front, kernel + 4, text - kernel - 4)
    struct.pack_into("<QQI", front, kernel + 8, start, size, 0)
    struct.pack_into("<5H", front, kernel_vtable, 10, 28, 4, 8, 24)
    struct.pack_into("<I", front, text, len(name))
    front[text + 4 : text + 4 + len(name)] = name
    return bytes(front) + block
