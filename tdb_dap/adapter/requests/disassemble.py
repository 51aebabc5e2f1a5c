"""The disassembly view: commands as instructions of 16 address units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.adapter.protocol.types import DisassembleArguments, DisassembledInstruction, DisassembleResponseBody
from tdb_dap.adapter.requests.sources import mlir_place
from tdb_dap.adapter.requests.stack_trace import op_name
from tdb_dap.adapter.session.handlers import request
from tdb_dap.adapter.session.references import instruction_reference, parse_instruction_reference
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.adapter.session.session import Session

_MOST_INSTRUCTIONS = 1 << 17


@request("disassemble", capability="supportsDisassembleRequest")
def disassemble(session: Session, arguments: DisassembleArguments) -> DisassembleResponseBody:
    """Exactly as many instructions as asked for, one address step apart; those outside of the program are invalid."""
    core, first = parse_instruction_reference(arguments.memoryReference, arguments.offset or 0)
    first += arguments.instructionOffset or 0
    count = arguments.instructionCount
    if not 0 <= count <= _MOST_INSTRUCTIONS:
        raise BadExpression(f"{count:,} instructions at once; ask for at most {_MOST_INSTRUCTIONS:,}")
    if not 0 <= core < session.debugger.program.core_count:
        raise BadExpression(f"there is no instruction at {arguments.memoryReference}")
    symbols = arguments.resolveSymbols is not False
    return DisassembleResponseBody(
        instructions=[_instruction(session, core, ordinal, symbols) for ordinal in range(first, first + count)]
    )


def _instruction(session: Session, core: int, ordinal: int, symbols: bool) -> DisassembledInstruction:
    """One row; ``symbols``: with its op. The line of final.mlir is there for views that interleave it.

    Without the bytes of its descriptor: these are up to 128, and views show them before the text. The listing and
    ``tdb-dap dis --bytes`` have them.
    """
    program = session.debugger.program
    address = instruction_reference(core, ordinal)
    if not 0 <= ordinal < len(program.commands):
        return DisassembledInstruction(address=address, instruction="", presentationHint="invalid")
    command = session.debugger.machine.command_at(ordinal)
    made = DisassembledInstruction(address=address, instruction=command.asm)
    if command.mlir_lines:
        made.location, made.line = mlir_place(session, command.mlir_lines[0])
    records = program.source.records_of(ordinal)
    if symbols and records:
        made.symbol = op_name(records[0])
    return made
