"""A description in the terms of every compiled file: each program a stage of one net, each routine a subnet.

An address is the number of a memory from bit 40 on, and a byte in it: 0 shared, 1 weights, 2 private, from 3 on inputs
and outputs, which have one each as far as there are.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from tdb_dap.engine.bmodel import CommandGroup, Net, RunMode, Span, Stage, SubnetInfo, TensorInfo
from tdb_dap.engine.bmodel.metadata import CpuOperation, Metadata
from tdb_dap.engine.cvimodel.arguments import read_arguments
from tdb_dap.engine.cvimodel.file import COMMANDS, WEIGHTS, Cvimodel, CviProgram, CviRoutine, CviTensor, Description
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadInput

_MEMORY_BIT = 40
SHARED, COEFFICIENTS, PRIVATE = 0, 1, 2
"""Numbers of the memories that every program has."""
_NO_NUMBER = -1


def read_cvimodel(path: Path) -> Cvimodel:
    """A .cvimodel file with its metadata; BadInput names what is damaged."""
    model = Cvimodel(path)
    model.metadata = metadata_of(model)
    return model


def metadata_of(model: Cvimodel) -> Metadata:
    """Nets, stages and subnets of a file; BadInput names what is missing or cannot be read."""
    held = model.description
    stages = tuple(_stage(model, held, program) for program in held.programs)
    version = held.compiler or "not named"
    return Metadata(model.chip.upper(), version, (Net(held.name, 0, stages),), has_own_memories=False)


def _stage(model: Cvimodel, held: Description, program: CviProgram) -> Stage:
    if program.neuron_size:
        raise BadInput(
            f"{model.path}: the program has one memory of {program.neuron_size:,} bytes for all its tensors, as only "
            f"compilers of format 1.1 and older made; this is format {model.version}, compile it again"
        )
    tensors = {tensor.name: tensor for tensor in (*held.weights, *program.tensors)}
    weights = next((model.span_of(section) for section in held.sections if section.kind == WEIGHTS), None)
    inputs, outputs = (_borders(model, tensors, names) for names in (program.inputs, program.outputs))
    return Stage(
        inputs,
        outputs,
        weights_address=COEFFICIENTS << _MEMORY_BIT,
        weights=weights or Span(0, 0),
        activations_address=SHARED << _MEMORY_BIT,
        activations_size=program.shared_size,
        io_address=0,
        io_size=0,
        core_count=1,
        subnets=tuple(
            _subnet(model, tensors, number, routine, len(program.routines))
            for number, routine in enumerate(program.routines)
        ),
        memories=(("private memory", PRIVATE << _MEMORY_BIT, program.private_size),),
    )


def _borders(model: Cvimodel, tensors: Mapping[str, CviTensor], names: Sequence[str]) -> tuple[TensorInfo, ...]:
    missing = [name for name in names if name not in tensors]
    if missing:
        raise BadInput(
            f"{model.path}: the tensor {missing[0][:80]!r} is not described; copy or compile the model again"
        )
    return tuple(_tensor(tensors[name]) for name in names)


def _tensor(tensor: CviTensor) -> TensorInfo:
    scale = tensor.scale or 1.0
    return TensorInfo(tensor.name, tensor.dtype, tensor.shape, tensor.address, tensor.size, scale, 0, 0)


def _subnet(
    model: Cvimodel, tensors: Mapping[str, CviTensor], number: int, routine: CviRoutine, count: int
) -> SubnetInfo:
    is_last = number + 1 == count
    function = () if not routine.function else (_function(model, number, routine),)
    return SubnetInfo(
        id=number,
        run_mode=RunMode.CPU if function else RunMode.TPU_STATIC,
        next_ids=(-1 if is_last else number + 1,),
        inputs=_borders(model, tensors, routine.inputs),
        outputs=_borders(model, tensors, routine.outputs),
        groups=() if function else ((_commands(model, number, routine),),),
        cpu_operations=function,
    )


def _function(model: Cvimodel, number: int, routine: CviRoutine) -> CpuOperation:
    name = routine.function
    try:
        if not name.isidentifier():
            raise ValueError(f"its name is {quoted(name)}")
        arguments = read_arguments(model.bytes_of(routine.arguments, f"the arguments of {name}").tobytes())
    except (struct.error, ValueError, IndexError) as error:
        raise BadInput(
            f"{model.path}: the host function of routine {number} is damaged ({error}); compile or copy the model again"
        ) from None
    return CpuOperation(_NO_NUMBER, routine.arguments, name, arguments)


def _commands(model: Cvimodel, number: int, routine: CviRoutine) -> CommandGroup:
    if not routine.commands and routine.dma_buffer:
        raise BadInput(
            f"{model.path}: the commands of routine {number} are only in the DMA buffer {routine.dma_buffer[:80]!r}, "
            "which is not decoded; give the model as the compiler wrote it"
        )
    sections = model.description.sections
    section = next((each for each in sections if (each.kind, each.name) == (COMMANDS, routine.commands)), None)
    if section is None:
        raise BadInput(
            f"{model.path}: routine {number} has its commands in the section {routine.commands[:80]!r}, which is not "
            "in the file; copy or compile the model again"
        )
    packets = model.span_of(section)
    start = Span(packets.start, 0)
    return CommandGroup(0, 0, start, start, packets)
