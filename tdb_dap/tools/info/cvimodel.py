"""Lines of ``tdb-dap info`` about a model of CV18xx."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from tdb_dap.engine.cvimodel.commands import read_commands
from tdb_dap.engine.cvimodel.file import COMMANDS, SECTIONS, WEIGHTS
from tdb_dap.engine.rendering.printable import counted

if TYPE_CHECKING:
    from tdb_dap.engine.cvimodel.file import Cvimodel, CviProgram, CviRoutine, CviSection, CviTensor

_MEMORIES = ("shared memory", "weights", "private memory")
"""By the number in an address from bit 40 on; inputs and outputs have higher numbers, each its own."""


def cvimodel_lines(model: Cvimodel) -> Iterator[str]:
    """Describe the content of the file: tensors, the steps of each program with their commands, and sections."""
    yield f"model      {model.path}"
    yield f"chip       {model.chip.upper()}, format {model.version}"
    yield f"compiler   {model.compiler or 'not named'}, {model.built or 'no date'}"
    yield f"net        {model.name}"
    if not model.is_intact:
        yield "problem    the file does not have the checksum of its heading: it was changed after compiling"
    steps = {section.name: _section_commands(model, section) for section in model.sections if section.kind == COMMANDS}
    for number, program in enumerate(model.programs):
        if len(model.programs) > 1:
            yield f"program    {number}"
        yield from _program_lines(program, steps)
    for section in model.sections:
        kind = SECTIONS.get(section.kind, f"kind {section.kind}")
        held = f", {counted(len(model.weights), 'tensor')}" if section.kind == WEIGHTS else ""
        yield f"section    {section.name}: {kind}, {section.size:,} bytes{held}{_packing(section)}"
    yield "support    CV18xx: only info; its commands are counted, neither listed nor simulated"


def _packing(section: CviSection) -> str:
    return f"{', encrypted' if section.is_encrypted else ''}{', compressed' if section.is_compressed else ''}"


def _section_commands(model: Cvimodel, section: CviSection) -> str:
    """The commands of a section, counted by engine and operation."""
    if section.is_encrypted or section.is_compressed:
        return f"commands{_packing(section)}"
    commands = read_commands(model.bytes_of(section), model.chip, f"{model.path}, section {section.name}")
    engines = Counter(command.engine for command in commands)
    names = Counter(command.name for command in commands)
    listed = ", ".join(f"{count:,} {name}" for name, count in sorted(names.items()))
    parts = ", ".join(f"{count:,} {engine.upper()}" for engine, count in sorted(engines.items()))
    return f"{counted(len(commands), 'command')} ({parts}): {listed}" if commands else "no commands"


def _program_lines(program: CviProgram, steps: Mapping[str, str]) -> Iterator[str]:
    tensors = {tensor.name: tensor for tensor in program.tensors}
    for word, names in (("input", program.inputs), ("output", program.outputs)):
        for name in names:
            yield f"{word:9}  {_tensor(tensors[name]) if name in tensors else f'{name}, which is not described'}"
    sizes = (program.shared_size, program.neuron_size, program.private_size)
    if any(sizes):
        yield f"memory     shared {sizes[0]:,} bytes, neurons {sizes[1]:,} bytes, private {sizes[2]:,} bytes"
    for number, routine in enumerate(program.routines):
        yield f"routine {number:<3}{_routine(routine, steps)}"


def _routine(routine: CviRoutine, steps: Mapping[str, str]) -> str:
    flow = f"{', '.join(routine.inputs)} -> {', '.join(routine.outputs)}"
    if routine.function:
        return f"on the host, {routine.function}: {flow}"
    if not routine.commands and routine.dma_buffer:
        return f"on the chip, {routine.dma_buffer}: {flow}; commands in a DMA buffer, which is not decoded"
    title = steps.get(routine.commands, "a section that is not in the file")
    return f"on the chip, {routine.commands}: {flow}; {title}"


def _tensor(tensor: CviTensor) -> str:
    number = tensor.address >> 40
    memory = f" in {_MEMORIES[number]}" if 0 <= number < len(_MEMORIES) else ""
    scale = f", scale {tensor.scale:g}" if tensor.scale not in (0, 1) else ""
    return f"{tensor.name} {tensor.dtype}[{','.join(map(str, tensor.shape))}]{memory}{scale}"
