"""The disassembly view: commands as instructions of 16 address units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.addresses import INSTRUCTION_STEP, instruction_reference
from tdb_dap.adapter.protocol.types import DisassembleArguments, DisassembledInstruction, DisassembleResponseBody
from tdb_dap.adapter.registry import request
from tdb_dap.adapter.sources import mlir_source
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session import Session

_ORDINALS = (1 << 40) - 1


@request("disassemble", capability="supportsDisassembleRequest")
def disassemble(session: Session, arguments: DisassembleArguments) -> DisassembleResponseBody:
    """Exactly as many instructions as asked for; those outside of the program are marked invalid."""
    try:
        address = int(arguments.memoryReference, 0) + (arguments.offset or 0)
    except ValueError:
        raise BadExpression(f"{arguments.memoryReference!r} is not the address of an instruction") from None
    core, first = address >> 40, (address & _ORDINALS) // INSTRUCTION_STEP + (arguments.instructionOffset or 0)
    count = min(max(0, arguments.instructionCount), 1 << 16)
    return DisassembleResponseBody(
        instructions=[_instruction(session, core, ordinal) for ordinal in range(first, first + count)]
    )


def _instruction(session: Session, core: int, ordinal: int) -> DisassembledInstruction:
    program = session.debugger.program
    address = instruction_reference(core, max(0, ordinal))
    if not 0 <= ordinal < len(program.commands):
        return DisassembledInstruction(address=address, instruction="", presentationHint="invalid")
    command = program.commands[ordinal]
    made = DisassembledInstruction(
        address=address, instruction=command.asm, instructionBytes=command.descriptor.hex(" ")
    )
    file = mlir_source(session)
    if file is not None and command.mlir_lines:
        made.location, made.line = file, session.traits.line_out(command.mlir_lines[0])
    return made
