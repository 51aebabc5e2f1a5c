"""The whole program in the words of the vendor's disassembler, so that the two texts can be compared line by line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.program import Program, Subnet
    from tdb_dap.engine.tensors import Tensor


def vendor_lines(program: Program) -> Iterator[str]:
    """Lines of the module: the function, a block per subnet, its commands and what follows the block."""
    if program.core_count > 1:
        raise BadInput(
            f"{program.context.bmodel}: runs on {program.core_count} cores; the vendor's text of such models is not "
            "available yet, use --format native"
        )
    metadata, net = program.bmodel.metadata, program.net
    yield (
        f'module attributes {{chip = "{metadata.chip.upper()}", version = {metadata.version}, '
        f"addr_mode = {net.address_mode}}} {{"
    )
    results = ", ".join(tensor.view.memref for tensor in program.outputs)
    yield f"  func.func @{net.name}({_typed(program.inputs)}) -> ({results}) ({{"
    for subnet in program.subnets:
        yield f"    ^bb{subnet.id}({_typed(subnet.inputs)})    //  run_mode={subnet.run_mode}"
        for command in program.commands[subnet.start : subnet.stop]:
            yield f"      {command.tdb_asm}"
        yield f"      {_terminator(program, subnet)}"
    arguments, returned = (
        ", ".join(f'"{tensor.name}"' for tensor in tensors) for tensors in (program.inputs, program.outputs)
    )
    yield f"  }}) {{function_type = {{arg_attrs = [{arguments}], res_attrs = [{returned}]}}}}"
    yield "} loc(#loc)"


def _terminator(program: Program, subnet: Subnet) -> str:
    following = next(info.next_ids for info in program.stage.subnets if info.id == subnet.id)
    if any(id != -1 for id in following):
        return f"Successor {list(following)}"
    names = ", ".join(f"%{tensor.view.name}" for tensor in subnet.outputs)
    types = ", ".join(tensor.view.memref for tensor in subnet.outputs)
    return f"return {names}: {types}"


def _typed(tensors: Sequence[Tensor]) -> str:
    return ", ".join(f"%{tensor.view.name}: {tensor.view.memref}" for tensor in tensors)
