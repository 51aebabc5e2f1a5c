"""The compiler's own cycle counts: a text table that it leaves in the bmodel, and one file per core next to it.

Each entry reads ``Conv2D_39|CONV|s:19764|b:18|g:10|e:41715|t:21952``: op and line, kind, start, id of the TIU and of
the DMA command, end, cycles; DMA entries go on with direction, bytes and bandwidth. The bmodel holds the table of the
first core. The files ``compiler_profile_N.txt`` hold those of all cores; the next compilation in the same directory
overwrites them, so they are believed only if the one of core 0 is the table in the bmodel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import picked_up

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program

Key = tuple[int, str, int]
"""Core, engine, command id."""

_ENTRY = re.compile(
    r"[\w.]*\|([A-Za-z]\w*)\|s:-?\d+\|b:(\d+)\|g:(\d+)(?:\|h:\d+\|sd:\d+)?\|e:-?\d+\|t:(\d+)"
    r"(?:\|dr:\d+\|sz:\d+\|bw:([\w.]+))?"
)
_OTHER_ENGINES = ("SDMA", "HAU")


def compiler_cycles(program: Program) -> dict[Key, int]:
    """Cycles of each command that the compiler's tables hold; empty where there are none."""
    try:
        table = program.bmodel.bytes_of(program.stage.timing, "the compiler's timing table").tobytes()
    except BadInput:
        return {}
    embedded = table.decode("utf-8", "replace").rstrip("\0")
    cycles = dict(_entries(embedded, 0))
    if cycles:
        for core, text in _files(program.context.bmodel.parent, embedded):
            cycles.update(_entries(text, core))
    return cycles


def _entries(text: str, core: int) -> Iterator[tuple[Key, int]]:
    for kind, tiu, dma, cycles, bandwidth in _ENTRY.findall(text):
        if kind.startswith(_OTHER_ENGINES) or bandwidth == "inf":  # moves of some types are entered as taking no time
            continue
        is_dma = kind.startswith("GDMA")
        yield (core, "dma" if is_dma else "tiu", int(dma if is_dma else tiu)), int(cycles)


def _files(folder: Path, embedded: str) -> Iterator[tuple[int, str]]:
    """The tables of the other cores, from the directory of the model or the one above it."""
    for place in (folder, folder.parent):
        first = place / "compiler_profile_0.txt"
        if not first.is_file() or dict(_entries(_text(first), 0)) != dict(_entries(embedded, 0)):
            continue
        picked_up(cycle_counts=place / "compiler_profile_*.txt")
        for path in sorted(place.glob("compiler_profile_*.txt")):
            core = path.stem.rsplit("_", 1)[1]
            if core.isdigit() and int(core) > 0:
                yield int(core), _text(path)
        return


def _text(path: Path) -> str:
    try:
        return read_file(path, limits.REPORT).decode("utf-8", "replace")
    except BadInput:
        return ""
