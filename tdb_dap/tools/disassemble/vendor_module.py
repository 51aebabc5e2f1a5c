"""The whole program in the words of the vendor's disassembler, so that the two texts can be compared line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.commands.net_tensors import Tensor
    from tdb_dap.engine.hardware.target import Message
    from tdb_dap.engine.program.program import Program, Subnet

_INDENT = "      "


def vendor_lines(program: Program) -> Iterator[str]:
    """Lines of the module: the function, a block per subnet, its commands and what follows the block.

    BadInput for a recording, which is no module of the vendor's.
    """
    if not isinstance(program, CompiledProgram):
        raise BadInput(f"{program.context.bmodel}: a recording has no text of the vendor's; leave --format tdb out")
    metadata = program.bmodel.metadata
    yield (
        f'module attributes {{chip = "{metadata.chip.upper()}", version = {metadata.version}, '
        f"addr_mode = {metadata.nets[0].address_mode}}} {{"
    )
    for net in metadata.nets:
        yield from _function([program.sibling(net.name, stage, as_compiled=True) for stage in range(len(net.stages))])
    yield "} loc(#loc)"


def _function(stages: Sequence[Program]) -> Iterator[str]:
    """A net: its head and tail are those of the first stage."""
    program = stages[0]
    results = ", ".join(tensor.view.memref for tensor in program.outputs)
    yield f"  func.func @{program.net.name}({_typed(program.inputs)}) -> ({results}) ({{"
    for stage in stages:
        if stage is not program:
            yield "    }, {"
        for subnet in stage.subnets:
            yield f"    ^bb{subnet.id}({_typed(subnet.inputs)})    //  run_mode={subnet.run_mode}"
            yield from _block(stage, subnet)
            yield f"{_INDENT}{_terminator(stage, subnet)}"
    arguments, returned = (
        ", ".join(f'"{tensor.name}"' for tensor in tensors) for tensors in (program.inputs, program.outputs)
    )
    yield f"  }}) {{function_type = {{arg_attrs = [{arguments}], res_attrs = [{returned}]}}}}"


def _block(program: Program, subnet: Subnet) -> Iterator[str]:
    # The vendor's listing knows nothing of these engines.
    commands = [c for c in program.commands[subnet.start : subnet.stop] if c.engine not in ("sdma", "hau")]
    if not commands:
        yield ""
    elif not commands[0].has_descriptor:
        # Of a subnet on the host only the operations are named, of a dynamic one the tensors as well.
        for command in commands:
            yield f"{_INDENT}{command.name if command.engine == 'cpu' else command.tdb_asm}"
    elif len({command.core for command in commands}) == 1:
        for command in _in_vendor_order(program, commands):
            yield f"{_INDENT}{command.tdb_asm}"
    else:
        yield from _cores(program, commands)


def _in_vendor_order(program: Program, commands: Sequence[Command]) -> list[Command]:
    """One core's commands sorted by the DMA command that each is or waits for; a lost dependency comes first."""
    ordinals = [command.ordinal for command in commands]
    listed = program.commands.columns.listed[ordinals]
    keys = np.array([c.id if c.engine == "dma" else wait for c, wait in zip(commands, listed, strict=True)])
    streams = np.array([c.engine != "dma" for c in commands])
    positions = np.array([c.id for c in commands])
    return [commands[index] for index in np.lexsort((positions, streams, keys)).tolist()]


def _cores(program: Program, commands: Sequence[Command]) -> Iterator[str]:
    """Several cores: what each does between two barriers, segment by segment."""
    cores = sorted({command.core for command in commands})
    parts = [_segments(program, [c for c in commands if c.core == core]) for core in cores]
    for number in range(max(map(len, parts))):
        for core, segments in zip(cores, parts, strict=True):
            if number < len(segments):
                yield from _segment(program, core, segments[number], is_first=number == 0)


def _segments(program: Program, commands: list[Command]) -> list[list[Command]]:
    """A core's commands, cut between the sends that open a barrier and the waits for it."""
    cut: list[list[Command]] = [[]]
    was_send = False
    for command in _in_vendor_order(program, commands):
        message = program.message_of(command.ordinal)
        if was_send and message is not None and not message.is_send:
            cut.append([])
        cut[-1].append(command)
        was_send = message is not None and message.is_send
    return cut


def _segment(program: Program, core: int, commands: list[Command], is_first: bool) -> Iterator[str]:
    messages = [program.message_of(command.ordinal) for command in commands]
    if is_first:
        # Before its first barrier a core's commands stand outside of the braces; of those without operands the last
        # character is lost.
        start = next((i for i, message in enumerate(messages) if message is not None), len(commands))
        for command in commands[:start]:
            text = command.tdb_asm
            yield _INDENT + (text if command.results else f"{text[:-1]}, status = None")
        commands, messages = commands[start:], messages[start:]
    if not commands:
        return
    opened = next((m.number for m in messages if m is not None and not m.is_send), None)
    closed = next((m.number for m in reversed(messages) if m is not None and m.is_send), None)
    last = next((c for c, m in zip(reversed(commands), reversed(messages), strict=True) if m is not None), commands[-1])
    result = f"%{_token(last)}" + ("" if closed is None else f", %msg{closed}")
    operand = f"%{_dependency(program, commands[0])}" + ("" if opened is None else f", %msg{opened}")
    yield f'{_INDENT}{result} = "@core_{core}"({operand}) {{'
    waits = sum(1 for message in messages if message is not None and not message.is_send)
    for command, message in zip(commands, messages, strict=True):
        if message is None:
            yield f"{_INDENT}  {command.tdb_asm}"
            continue
        waits -= not message.is_send
        yield f"{_INDENT}  {_message(command, message, last=waits == 0)}"
    yield f"{_INDENT}}}"


def _message(command: Command, message: Message, last: bool) -> str:
    """A send hands its message on, a wait receives it; the vendor's status of the last wait of a segment differs."""
    status = "PRODUCING" if message.is_send else "CONSUMED" if last else "RECIEVING"
    text = f"{command.tdb_asm[:-1]}, status = Status.{status}}}"
    if message.is_send:
        token = f", %msg{message.number}"
        text = text.replace(" = ", f"{token} = ", 1).replace(f"{token})", ")", 1)
    return text


def _token(command: Command) -> str:
    return f"{command.short_token}C{command.core}"


def _dependency(program: Program, command: Command) -> str:
    other = "D" if command.engine == "tiu" else "B"
    return f"{other}{int(program.commands.columns.listed[command.ordinal])}C{command.core}"


def _terminator(program: Program, subnet: Subnet) -> str:
    following = next(info.next_ids for info in program.stage.subnets if info.id == subnet.id)
    if any(id != -1 for id in following):
        return f"Successor {list(following)}"
    names = ", ".join(f"%{tensor.view.name}" for tensor in subnet.outputs)
    types = ", ".join(tensor.view.memref for tensor in subnet.outputs)
    return f"return {names}: {types}"


def _typed(tensors: Sequence[Tensor]) -> str:
    return ", ".join(f"%{tensor.view.name}: {tensor.view.memref}" for tensor in tensors)
