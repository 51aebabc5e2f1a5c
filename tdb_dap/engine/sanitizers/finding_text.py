"""Text of commands and bytes in findings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.geometry import Geometry, Space

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command


def title_of(command: Command) -> str:
    """``B12 conv.normal``"""
    return f"{command.token} {command.name}"


def place_text(place: ByteRanges, geometry: Geometry) -> str:
    """The number of bytes and where the first of them is: ``128 bytes from R4.64 on``."""
    where = f"{place.size:,} byte{'s' if place.size != 1 else ''} from {geometry.name(place.space, place.start)} on"
    return f"{where} in core {place.core}" if place.core and place.space in (Space.LOCAL, Space.STATIC) else where
