"""Contents of a model as text: chip, nets, inputs and outputs, memories, subnets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.bmodel import input_shapes
from tdb_dap.engine.cvimodel import Cvimodel
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.engine.program.placement import misplaced
from tdb_dap.engine.rendering.printable import counted
from tdb_dap.tools.info.cvimodel import cvimodel_lines
from tdb_dap.tools.info.nets import kernel_line, net_lines
from tdb_dap.tools.info.preprocessing import preprocessing_lines
from tdb_dap.tools.programs import open_program, remark_sources

if TYPE_CHECKING:
    from tdb_dap.engine.commands.net_tensors import Tensor
    from tdb_dap.engine.program.program import Program

_MOST_MISPLACED = 10


def info(context: Path, net: str | None = None, stage: int | None = None) -> Iterator[str]:
    """The lines about a model of any kind; BadInput if it cannot be read."""
    program = open_program(context, net, stage)
    yield from describe(program)
    remark_sources(program)


def describe(program: Program) -> Iterator[str]:
    """The lines about a program."""
    context = program.context
    yield f"model      {context.bmodel}"
    yield f"chip       {program.chip}, {counted(program.core_count, 'core')}"
    yield f"compiler   {program.compiler}"
    yield from _nets(program)
    yield from net_lines(program)
    if isinstance(program, CompiledProgram) and (kernel := kernel_line(program)):
        yield kernel
    if isinstance(program, CompiledProgram) and isinstance(program.bmodel, Cvimodel):
        yield from cvimodel_lines(program.bmodel)
    yield f"source     {_file(context.mlir)}"
    yield f"locations  {_file(context.locations)}"
    for stage in program.compile_stages.stages:
        yield f"before     {stage.path} ({stage.title}{', changed since' if stage.is_changed else ''})"
    if program.compile_stages.reason:
        yield f"before     {program.compile_stages.reason}"
    yield from preprocessing_lines(program)
    for word, tensors in (("input", program.inputs), ("output", program.outputs)):
        for tensor in tensors:
            yield f"{word:9}  {_tensor(tensor)}"
    for region in program.ddr_regions():
        place = program.target.geometry.name(Space.GLOBAL, region.start)
        yield f"DDR        {region.title}: {region.data.size:,} bytes at %{place}"
    for subnet in program.subnets:
        if subnet.title and subnet.start == subnet.stop:
            continue
        counts = program.commands.count_engines(subnet.start, subnet.stop)
        parts = ", ".join(f"{count:,} {engine.upper()}" for engine, count in sorted(counts.items()))
        title = subnet.title.rstrip(":") or f"subnet {subnet.id:<3} {subnet.run_mode}"
        yield f"{title}: {counted(subnet.stop - subnet.start, 'command')}{f' ({parts})' if parts else ''}"
    if program.is_executable:
        yield from _misplaced(program)
    records = program.source.records
    if records:
        lines = {record.line for record in records if record.ordinals}
        yield f"ops        {len(records):,} emitted from {len(lines):,} lines with commands"


def _misplaced(program: Program) -> Iterator[str]:
    """Addresses outside of all memories."""
    texts = misplaced(program)
    for text in texts[:_MOST_MISPLACED]:
        yield f"problem    {text}"
    if len(texts) > _MOST_MISPLACED:
        yield f"problem    {len(texts) - _MOST_MISPLACED:,} more addresses are in no known memory"


def _nets(program: Program) -> Iterator[str]:
    """The net and stage that is shown, and what else the file holds."""
    yield f"net        {program.net.name}, address mode {program.net.address_mode}"
    for net in program.nets:
        for number, stage in enumerate(net.stages):
            mark = "   <- shown" if (net.name, number) == (program.net.name, program.stage_index) else ""
            if len(program.nets) > 1 or len(net.stages) > 1:
                yield f"stage      {net.name} {number}: {input_shapes(stage)}{mark}"


def _file(path: Path | None) -> str:
    return str(path) if path else "none"


def _tensor(tensor: Tensor) -> str:
    text = f"{tensor.name} {tensor.dtype}[{','.join(map(str, tensor.shape))}] at %{tensor.view.name}"
    if tensor.scale != 1 or tensor.zero_point != 0:
        text += f", scale {tensor.scale:g}, zero point {tensor.zero_point}"
    return text
