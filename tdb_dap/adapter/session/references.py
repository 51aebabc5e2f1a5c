"""Texts by which clients refer to instructions and memory. To a client both are opaque; they are made to be readable.

Instruction: ``0x<(core + 1) << 40 + ordinal * 16>``: instructions are consecutive, cores apart, and there is
room before the first one for the rows with which a view of it is padded.
Memory: ``0x<space << 48 | core << 44 | byte offset>`` with space 1 = DDR (G), 2 = L2 (L), 3 = local (R), 4 = static
(S), below 2**53 so that every client can hold it in a number. Addresses as in listings (``R4.64``, ``G4096``) are
understood as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.addresses import parse_address
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tdb_dap.adapter.session.session import Session
    from tdb_dap.engine.hardware.geometry import Space
    from tdb_dap.engine.hardware.memory import Memory, Region
    from tdb_dap.engine.hardware.views import View

INSTRUCTION_STEP = 16
_INSTRUCTION_CORE = 40
_SPACE, _CORE = 48, 44
_LETTERS = "?GLRS"


def instruction_reference(core: int, ordinal: int) -> str:
    """Address of a command in the disassembly."""
    return hex(((core + 1) << _INSTRUCTION_CORE) + ordinal * INSTRUCTION_STEP)


def parse_instruction_reference(reference: str, offset: int = 0) -> tuple[int, int]:
    """Core and ordinal of an instruction address plus ``offset`` bytes; the ordinal may be outside of the program."""
    try:
        core, base = divmod(int(reference, 0), 1 << _INSTRUCTION_CORE)
    except ValueError:
        raise BadExpression(f"{quoted(reference)} is not the address of an instruction") from None
    if base >= 1 << (_INSTRUCTION_CORE - 1):  # padding before the first instruction of the next core
        core, base = core + 1, base - (1 << _INSTRUCTION_CORE)
    return core - 1, (base + offset) // INSTRUCTION_STEP


def instruction_ordinal(session: Session, reference: str, offset: int = 0) -> int:
    """The command at an instruction address plus ``offset`` bytes; BadExpression if there is none."""
    program = session.debugger.program
    core, ordinal = parse_instruction_reference(reference, offset)
    if not 0 <= core < program.core_count or not 0 <= ordinal < len(program.commands):
        raise BadExpression(f"there is no instruction at {reference}")
    return ordinal


def memory_reference(space: Space, core: int, offset: int) -> str:
    """Reference of a byte in a memory space."""
    return hex(_LETTERS.index(space.value) << _SPACE | core << _CORE | offset)


def every_region(memory: Memory) -> Iterator[tuple[str, Space, int, Region]]:
    """Every region of every memory: (title, space, core, region). DDR and L2 are those of all cores."""
    for space in (Space.GLOBAL, Space.L2, Space.LOCAL, Space.STATIC):
        for core in range(memory.cores if space in (Space.LOCAL, Space.STATIC) else 1):
            for region in memory.regions(space, core):
                yield region.title + (f" of core {core}" if memory.cores > 1 else ""), space, core, region


def view_reference(view: View) -> str:
    """Reference of a tensor's first byte."""
    return memory_reference(view.space, view.core, view.address)


def parse_memory_reference(session: Session, reference: str) -> tuple[Space, int, int]:
    """Space, core and byte offset; BadExpression if the text is no reference."""
    if not reference[:1].isdigit():
        space, offset = parse_address(reference, session.debugger.program.target.geometry)
        return space, 0, offset
    try:
        number = int(reference, 0)
        letter = _LETTERS[number >> _SPACE]
    except (ValueError, IndexError):
        raise BadExpression(f"{quoted(reference)} is not a memory reference") from None
    return Space(letter), number >> _CORE & 15, number & ((1 << _CORE) - 1)
