"""A program in a notebook: chip and net, what goes in and comes out, and its subnets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.rendering import html

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program


def program_html(program: Program) -> str:
    """Three tables."""
    about = {
        "net": program.net.name,
        "chip": f"{program.chip}, {program.core_count} core(s)",
        "compiler": program.bmodel.metadata.version,
        "commands": f"{len(program.commands):,}",
        "ops": f"{len(program.ops):,}",
    }
    tensors = [
        (role, tensor.name, tensor.dtype.name, tensor.shape, f"%{tensor.view.name}", tensor.scale, tensor.zero_point)
        for role, group in (("input", program.inputs), ("output", program.outputs))
        for tensor in group
    ]
    subnets = [
        (subnet.id, subnet.run_mode, subnet.stop - subnet.start, tuple(tensor.name for tensor in subnet.outputs))
        for subnet in program.subnets
    ]
    return html.block(
        html.fields(about),
        html.table(("", "name", "type", "shape", "lies at", "scale", "zero point"), tensors),
        html.table(("subnet", "runs", "commands", "gives"), subnets),
    )
