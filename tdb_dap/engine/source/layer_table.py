"""Reading ``NAME_tensor_info.txt``: which tensor each layer number of the commands is about.

A table for each stream of commands, in their order; one row for each layer: its number, the tensor, whether
it stands in a layer group, whether it leaves no tensor of its own, and where the tensor is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.files.bounded_files import read_lines
from tdb_dap.errors import BadInput
from tdb_dap.system.patterns import pattern

_HEADING = pattern(r"Cmdbuf\d+:")
_COLUMNS = 10


class Layer(Struct, frozen=True):
    """A row. ``moves``: no tensor of its own: weights that are loaded, a result that is stored.

    ``first``: first batch and first row of the slice in a layer group, ``address``: where its result is in local
    memory; None if the table does not tell.
    ``turn``: number of earlier rows that are the same: those of the slices before it.
    """

    number: int
    name: str
    moves: bool
    first: tuple[int, int] | None
    turn: int = 0
    address: int | None = None


def read_layers(path: Path) -> list[Mapping[int, Layer]]:
    """For each stream of commands the rows by layer number; BadInput names the line that is none."""
    tables: list[Mapping[int, Layer]] = []
    rows: dict[int, Layer] | None = None
    turns: Counter[tuple[str, bool]] = Counter()
    for number, line in enumerate(read_lines(path)[0], 1):
        if _HEADING.match(line):
            rows = {}
            turns.clear()
            tables.append(rows)
            continue
        if not line.strip():
            continue
        layer = _layer(line.split())
        if rows is None or layer is None:
            raise BadInput(f"{path}: line {number} is no row of a layer; compile the model again with --debug")
        rows[layer.number] = replace(layer, turn=turns[layer.name, layer.moves])
        turns[layer.name, layer.moves] += 1
    return tables


def _layer(columns: list[str]) -> Layer | None:
    if len(columns) != _COLUMNS or not columns[0].isdecimal():
        return None
    name = columns[1]
    slices = columns[6].split(",")
    is_slice = len(slices) == 4 and all(part.isdecimal() for part in slices)
    moves = columns[3] == "true" or name.startswith("load_")
    first = (int(slices[0]), int(slices[2])) if is_slice else None
    return Layer(int(columns[0]), name, moves, first, address=int(columns[7]) if columns[7].isdecimal() else None)
