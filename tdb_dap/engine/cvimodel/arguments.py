"""Arguments of a function on the host: a FlatBuffer of named attributes."""

from __future__ import annotations

import struct
from collections.abc import Mapping

from tdb_dap.engine.files.flat_buffer import Block, Table

Argument = float | bool | int | str | tuple[float, ...] | tuple[int, ...]

_FLOAT, _FLAG, _INTEGER = struct.Struct("<f"), struct.Struct("<?"), struct.Struct("<i")


def read_arguments(data: bytes) -> Mapping[str, Argument]:
    """The arguments by name; ValueError, struct.error or IndexError where the bytes are damaged."""
    if not data:
        return {}
    return dict(_argument(entry) for entry in Block(data).root().tables(0))


def _argument(entry: Table) -> tuple[str, Argument]:
    """The one kind of attribute that an entry holds; each kind has its slot, the name comes first."""
    if (table := entry.table(0)) is not None:
        return table.text(0), table.number(1, _FLOAT)
    if (table := entry.table(1)) is not None:
        return table.text(0), bool(table.number(1, _FLAG))
    if (table := entry.table(2)) is not None:
        return table.text(0), table.integer(1, _INTEGER)
    if (table := entry.table(3)) is not None:
        return table.text(0), table.text(1)
    if (table := entry.table(4)) is not None:
        return table.text(0), table.floats(1)
    if (table := entry.table(5)) is not None:
        return table.text(0), table.numbers(1, _INTEGER)
    raise ValueError("an argument of no known kind")
