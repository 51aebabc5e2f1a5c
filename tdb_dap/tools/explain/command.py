"""One command in words: what it computes, what it reads and who wrote that, who reads its result, why it waits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.byte_ranges import ByteRanges, share_a_byte
from tdb_dap.engine.hardware.views import Constant, View
from tdb_dap.errors import NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.program.program import Program

_READERS = 4
_OTHER = {"tiu": "dma", "dma": "tiu"}


def explain_command(program: Program, ordinal: int) -> Iterator[str]:
    """The lines. Of a program as it is compiled: what a session has changed does not show."""
    command = program.commands[ordinal]
    core = f", core {command.core}" if program.core_count > 1 else ""
    yield f"{command.token}, command {ordinal:,} of {len(program.commands):,}, {command.engine.upper()}{core}"
    yield f"  {command.asm}"
    yield from _op(program, command)
    if not command.has_descriptor and command.engine != "host":
        yield f"stands for a whole subnet that runs elsewhere ({command.engine})"
        return
    try:
        description = command.description
    except NotSimulated as error:
        yield str(error)
        return
    yield f"does       {description.summary}" if description.summary else f"does       {command.name}"
    attributes = ", ".join(f"{name} = {value}" for name, value in description.attributes.items() if value)
    if attributes:
        yield f"with       {attributes}"
    for role, operand in zip(description.operand_roles, description.operands, strict=True):
        yield f"reads      {role}: {_what(operand)}{_writer(program, ordinal, operand)}"
    for role, result in zip(description.result_roles, description.results, strict=True):
        yield f"writes     {role}: {_what(result)}{_readers(program, ordinal, result)}"
    if not command.has_descriptor:  # the host's own time and order
        return
    yield from _waits(program, command)
    cost = program.target.cost(description)
    if cost is not None and cost.cycles:
        yield f"takes      about {cost.cycles:,.0f} cycles" + (
            f", {cost.operations:,} operations" if cost.operations else ""
        )


def _op(program: Program, command: Command) -> Iterator[str]:
    for record in program.source.records_of(command.ordinal):
        names = ", ".join(value.name for value in record.results)
        position = record.ordinals.index(command.ordinal) + 1
        part = f" {record.slice_text}" if record.slice_text else ""
        yield (
            f"belongs to {record.opcode} {names}{part}, {_place(program, record.line)}: command {position} of "
            f"{len(record.ordinals)}"
        )


def _what(operand: View | Constant) -> str:
    if isinstance(operand, Constant):
        return f"the number {operand.value} ({operand.dtype}) in the command itself"
    lanes = ""
    if operand.space.value == "R":
        bank = operand.address % operand.geometry.lane_bytes // operand.geometry.bank_bytes
        lanes = f", bank {bank}"
    shape = ", ".join(map(str, operand.shape))
    return f"{operand.dtype}[{shape}] at {operand.name} ({operand.space.title}{lanes}, {operand.layout.value})"


def _writer(program: Program, ordinal: int, operand: View | Constant) -> str:
    """Text about the writer of an operand."""
    if isinstance(operand, Constant):
        return ""
    writer = program.accesses.last_writer(ByteRanges.of(operand), ordinal, lambda _: False)
    if writer is not None:
        return f", written by {_named(program, writer)}"
    return ", there from the start" if operand.space.value in "GS" else ", written by nobody before"


def _readers(program: Program, ordinal: int, result: View | Constant) -> str:
    """Text about the readers of a result before it is overwritten."""
    if isinstance(result, Constant):
        return ""
    place = ByteRanges.of(result)
    last = next(program.accesses.touching(place, reads=False, writes=True, start=ordinal + 1), None)
    readers: list[int] = []
    for reader in program.accesses.touching(place, reads=True, writes=False, start=ordinal + 1):
        if (last is not None and reader > last) or len(readers) > _READERS:
            break
        readers.append(reader)
    if not readers:
        end = f", overwritten by {_named(program, last)}" if last is not None else ""
        return f", read by no command after it{end}"
    named = ", ".join(_named(program, reader) for reader in readers[:_READERS])
    return f", read by {named}" + (" and others" if len(readers) > _READERS else "")


def _named(program: Program, ordinal: int) -> str:
    command = program.commands[ordinal]
    return f"{command.token} {command.name}"


def _waits(program: Program, command: Command) -> Iterator[str]:
    message = program.message_of(command.ordinal) if program.core_count > 1 else None
    if message is not None:
        verb = "sends" if message.is_send else "waits for"
        count = "" if message.is_send else f", which has to be sent {message.count} times"
        yield f"{verb:10} message {message.number}{count}"
    other = _OTHER.get(command.engine)
    if not command.dep or other is None:
        yield f"waits      for nothing but its own engine, {command.engine.upper()}"
        return
    for ordinal in range(command.ordinal - 1, -1, -1):
        before = program.commands[ordinal]
        if (before.engine, before.core, before.id) == (other, command.core, command.dep):
            yield f"waits      for {before.token} {before.name} (command {ordinal:,}){_reason(command, before)}"
            return
    yield f"waits      for the {other.upper()} command {command.dep}"


def _reason(command: Command, before: Command) -> str:
    """Hazard that the dependency prevents, if the two commands touch the same bytes."""
    if command.is_system or before.is_system:
        return ""
    try:
        mine, theirs = command.description, before.description
    except NotSimulated:
        return ""
    pairs = (
        (mine.reads, theirs.results, "reads what that writes"),
        (mine.results, theirs.reads, "overwrites what that reads"),
        (mine.results, theirs.results, "overwrites what that writes"),
    )
    for own, other, words in pairs:
        if any(share_a_byte(a, b) for a in own for b in other):
            return f": {words}"
    return ": they share no byte; a later command of that engine may need it, or an earlier one of this"


def _place(program: Program, line: int) -> str:
    text = program.source.place_text(line)
    return f"{text} of final.mlir" if text.startswith("line ") else text
