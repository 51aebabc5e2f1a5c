"""Reader of FlatBuffers: tables, their fields by slot (the number in the schema), strings and lists, all bounded.

What is visited is counted: lists whose entries are all the same table, each of which holds such a list again, would
otherwise make years of work of a few kilobytes. https://flatbuffers.dev/internals/
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from tdb_dap.engine.files import limits

_OFFSET = struct.Struct("<I")
_BACK = struct.Struct("<i")
_SLOT = struct.Struct("<H")
_FLOAT = struct.Struct("<f")


class Block:
    """The bytes of a FlatBuffer. Every access beyond them is a ValueError, struct.error or IndexError."""

    def __init__(self, data: bytes | bytearray) -> None:
        self.data = data
        self._left = len(data) * limits.DESCRIPTION_RATIO

    def root(self) -> Table:
        return Table(self, self.follow(0))

    def spend(self, count: int) -> None:
        """Count bytes as visited."""
        self._left -= count
        if self._left < 0:
            raise ValueError(
                f"its parts are more than {limits.DESCRIPTION_RATIO} times the {len(self.data):,} bytes that hold them"
            )

    def follow(self, position: int) -> int:
        """The position that the offset at this one leads to."""
        return position + int(self.unpack(_OFFSET, position))

    def unpack(self, form: struct.Struct, position: int) -> int | float | bool:
        """One number."""
        value: int | float | bool = self.record(form, position)[0]
        return value

    def record(self, form: struct.Struct, position: int) -> tuple[Any, ...]:
        """The numbers of a structure."""
        if not 0 <= position <= len(self.data) - form.size:
            raise ValueError(f"a part at {position:,} is beyond the {len(self.data):,} bytes")
        self.spend(form.size)
        return form.unpack_from(self.data, position)

    def bytes_at(self, position: int) -> bytes:
        """A list of bytes, with its length before it."""
        length = int(self.unpack(_OFFSET, position))
        if length > len(self.data) - position - _OFFSET.size:
            raise ValueError(f"a text or list at {position:,} claims {length:,} bytes of {len(self.data):,}")
        self.spend(length)
        return bytes(self.data[position + _OFFSET.size : position + _OFFSET.size + length])


class Table:
    """A table of a block. A field that is not stored has its default."""

    def __init__(self, block: Block, position: int) -> None:
        self._block = block
        self.start = position
        self._slots = position - int(block.unpack(_BACK, position))
        self._size = int(block.unpack(_SLOT, self._slots))

    def position(self, slot: int) -> int | None:
        """Position of a field; None if it is not stored and has its default."""
        entry = 4 + 2 * slot
        if entry + _SLOT.size > self._size:
            return None
        offset = int(self._block.unpack(_SLOT, self._slots + entry))
        return self.start + offset if offset else None

    def number(self, slot: int, form: struct.Struct, default: int | float = 0) -> int | float | bool:
        """A number in the form in which it is stored."""
        at = self.position(slot)
        return default if at is None else self._block.unpack(form, at)

    def integer(self, slot: int, form: struct.Struct = _OFFSET) -> int:
        """A whole number, 32 bits without a sign unless ``form`` says else."""
        return int(self.number(slot, form))

    def raw(self, slot: int) -> bytes:
        """A list of bytes; empty if it is not stored."""
        at = self.position(slot)
        return b"" if at is None else self._block.bytes_at(self._block.follow(at))

    def first(self, slot: int) -> int:
        """Position of the first entry of a list; 0 if it is not stored."""
        at = self.position(slot)
        return 0 if at is None else self._block.follow(at) + _OFFSET.size

    def text(self, slot: int) -> str:
        return self.raw(slot).decode("utf-8", "replace")

    def table(self, slot: int) -> Table | None:
        at = self.position(slot)
        return None if at is None else Table(self._block, self._block.follow(at))

    def tables(self, slot: int) -> Iterator[Table]:
        """The entries of a list of tables."""
        return (Table(self._block, place) for place in self._entries(slot))

    def texts(self, slot: int) -> tuple[str, ...]:
        """The entries of a list of strings."""
        return tuple(self._block.bytes_at(place).decode("utf-8", "replace") for place in self._entries(slot))

    def record(self, slot: int, form: struct.Struct) -> tuple[Any, ...] | None:
        """The numbers of a structure."""
        at = self.position(slot)
        return None if at is None else self._block.record(form, at)

    def records(self, slot: int, form: struct.Struct) -> Iterator[tuple[Any, ...]]:
        """The entries of a list of structures."""
        return (self._block.record(form, place) for place in self._list(slot, form.size))

    def numbers(self, slot: int, form: struct.Struct) -> tuple[int, ...]:
        """The entries of a list of whole numbers."""
        return tuple(int(self._block.unpack(form, place)) for place in self._list(slot, form.size))

    def floats(self, slot: int) -> tuple[float, ...]:
        """The entries of a list of float32."""
        return tuple(float(self._block.unpack(_FLOAT, place)) for place in self._list(slot, _FLOAT.size))

    def _entries(self, slot: int) -> Iterator[int]:
        return (self._block.follow(place) for place in self._list(slot, _OFFSET.size))

    def _list(self, slot: int, size: int) -> range:
        """The positions of the entries of a list."""
        at = self.position(slot)
        if at is None:
            return range(0)
        first = self._block.follow(at)
        length = int(self._block.unpack(_OFFSET, first))
        if length > len(self._block.data) // size:
            raise ValueError(f"a list claims {length:,} entries in a block of {len(self._block.data):,} bytes")
        first += _OFFSET.size
        return range(first, first + size * length, size)
