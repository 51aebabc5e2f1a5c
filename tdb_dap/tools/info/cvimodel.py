"""Lines of ``tdb-dap info`` about what only a .cvimodel has: its format, checksum and sections."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tdb_dap.engine.cvimodel.file import NATIVE, SECTIONS, WEIGHTS
from tdb_dap.engine.rendering.printable import counted, visible

if TYPE_CHECKING:
    from tdb_dap.engine.cvimodel.file import Cvimodel, CviSection


def cvimodel_lines(model: Cvimodel) -> Iterator[str]:
    """Format and sections of the file; what was changed after compiling."""
    yield f"format     {model.version}, {visible(model.description.built) or 'no date'}"
    if not model.is_intact:
        yield "problem    the file does not have the checksum of its heading: it was changed after compiling"
    for section in model.description.sections:
        kind = SECTIONS.get(section.kind, f"kind {section.kind}")
        held = f", {counted(len(model.description.weights), 'tensor')}" if section.kind == WEIGHTS else ""
        never = ", never loaded" if section.kind in NATIVE else ""
        yield f"section    {visible(section.name)}: {kind}, {section.size:,} bytes{held}{_packing(section)}{never}"


def _packing(section: CviSection) -> str:
    return f"{', encrypted' if section.is_encrypted else ''}{', compressed' if section.is_compressed else ''}"
