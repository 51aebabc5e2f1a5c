"""The object tree of a bmodel as typed records: model, nets, stages, subnets, command groups, tensors.

Built from the FlatBuffers block.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from enum import Enum
from typing import Any

from msgspec import Struct, field

from tdb_dap.engine.bmodel import schema
from tdb_dap.engine.files.flat_buffer import Block, Table
from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI8, SI16, SI32, UI8, UI16, UI32, DType
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import BadInput

# Bytes of a stream that holds nothing but its end command, padded.
_END_ONLY = 128

# Numbering of Tensor.data_type in the file (differs from the precision codes of registers); 9 and 10 are 4 bit.
TENSOR_DTYPES = {0: F32, 1: F16, 2: SI8, 3: UI8, 4: SI16, 5: UI16, 6: SI32, 7: UI32, 8: BF16}


# Mode of the table KernelModule.
_RISCV = 1


class RunMode(str, Enum):
    """Kind of execution of a subnet."""

    TPU_STATIC = "TPU_STATIC"
    TPU_DYNAMIC = "TPU_DYNAMIC"
    CPU = "CPU"
    MERGE = "MERGE"
    SWITCH = "SWITCH"
    UNKNOWN = "UNKNOWN"


class Span(Struct, frozen=True):
    """``size`` bytes from ``start`` in the payload block."""

    start: int
    size: int


class TensorInfo(Struct, frozen=True):
    """A tensor at the border of a net or subnet; ``size`` in bytes of device memory, padding included.

    ``memory_mode``: batches that share a word of 4 bytes: 0 one, 1 two, 2 four.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    address: int
    size: int
    scale: float
    zero_point: int
    memory_mode: int

    @property
    def is_packed(self) -> bool:
        """Whether several batches share a word of 4 bytes."""
        return self.memory_mode != 0


class CommandGroup(Struct, frozen=True):
    """The two command streams of one core that run together; counts include the end command.

    ``packets``: one stream of both engines' commands instead, each behind a heading that names its engine, in the order
    in which they are issued.
    """

    tiu_count: int
    dma_count: int
    tiu: Span
    dma: Span
    packets: Span | None = None

    @property
    def spans(self) -> tuple[Span, ...]:
        """Its streams in the payload."""
        return (self.tiu, self.dma) if self.packets is None else (self.packets,)


class CpuOperation(Struct, frozen=True):
    """An operation on the host: its number, and its parameters as a C structure.

    ``function``: the name of a function whose ``arguments`` are named, too; empty for an operation that has a number.
    """

    number: int
    parameters: Span
    function: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


class SubnetInfo(Struct, frozen=True):
    """One subnet: ``groups[core]`` are the command groups that a core executes one after another."""

    id: int
    run_mode: RunMode
    next_ids: tuple[int, ...]
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    groups: tuple[tuple[CommandGroup, ...], ...]
    cpu_operations: tuple[CpuOperation, ...]
    chip_to_chip: tuple[tuple[Span, ...], ...] = ()
    """Per core the streams of the engine that moves data between chips."""
    system_dma: tuple[tuple[Span, ...], ...] = ()
    """Per core the streams of the engine that moves data outside of local memory."""
    hau_bytes: int = 0
    """Bytes of the streams of the engine that sorts, which are not decoded."""
    merged_from: tuple[tuple[int, ...], ...] = ()
    """For each output of a MERGE the numbers of the inputs it may come from."""


class Stage(Struct, frozen=True):
    """A net compiled for one set of input shapes. Addresses are device addresses, sizes bytes.

    ``timing``: the compiler's own estimate of the time of each command of the first core, as text; often empty.
    ``named_weights``: names and places, from the first byte of the weights on, of those that a program may exchange.
    ``memories``: further parts of DDR as title, address and bytes.
    """

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    weights_address: int
    weights: Span
    activations_address: int
    activations_size: int
    io_address: int
    io_size: int
    core_count: int
    subnets: tuple[SubnetInfo, ...]
    timing: Span = Span(0, 0)
    named_weights: tuple[tuple[str, Span], ...] = ()
    memories: tuple[tuple[str, int, int], ...] = ()

    @property
    def takes_other_shapes(self) -> bool:
        """Whether all that the chip does is made while it runs, for the shapes that the inputs have then."""
        modes = {info.run_mode for info in self.subnets}
        return RunMode.TPU_DYNAMIC in modes and RunMode.TPU_STATIC not in modes


class Net(Struct, frozen=True):
    name: str
    address_mode: int
    stages: tuple[Stage, ...]


class Metadata(Struct, frozen=True):
    """Everything the metadata block says that the debugger uses."""

    chip: str
    version: str
    nets: tuple[Net, ...]
    has_riscv_kernel: bool = False
    """Compiled with ``--rvti``: the firmware in the file is a RISC-V program with tensor instructions."""
    has_own_memories: bool = True
    """Whether the runtime gives inputs, outputs and results of the host memory of their own."""
    kernel_bytes: int = 0
    """Bytes of the kernel module, the firmware that a board loads; 0: the file has none."""


def read_metadata(block: bytes, file: str) -> Metadata:
    """Parse the FlatBuffers block; BadInput names ``file`` and what is damaged."""
    try:
        model = Block(block).root()
        kernel = model.table(schema.Model.KERNEL_MODULE)
        return Metadata(
            chip=_text(model, schema.Model.CHIP),
            version=_text(model, schema.Model.VERSION),
            nets=tuple(map(_net, model.tables(schema.Model.NETS))),
            has_riscv_kernel=kernel is not None and kernel.integer(schema.KernelModule.MODE) == _RISCV,
            kernel_bytes=_span(kernel, schema.KernelModule.BINARY).size if kernel else 0,
        )
    except (struct.error, IndexError, TypeError, ValueError, OverflowError) as error:
        what = str(error)
        if len(what) > 200:  # a damaged name may run to the end of the file
            what = f"{what[:100]} ... {what[-80:]}"
        raise BadInput(f"{file}: the model description is damaged ({what}); compile or copy the model again") from None


def _text(table: Table, slot: int) -> str:
    """A string, its control characters as escapes."""
    text = table.text(slot)
    return text if text.isprintable() else visible(text).replace("\n", "\\n")


def _span(table: Table, slot: int) -> Span:
    return Span(*(table.record(slot, schema.SPAN) or (0, 0)))


def _spans(table: Table, slot: int) -> tuple[Span, ...]:
    return tuple(Span(*span) for span in table.records(slot, schema.SPAN))


def _tensors(table: Table, slot: int) -> tuple[TensorInfo, ...]:
    return tuple(map(_tensor, table.tables(slot)))


def _groups(table: Table, slot: int) -> tuple[CommandGroup, ...]:
    return tuple(map(_group, table.tables(slot)))


def _net(net: Table) -> Net:
    return Net(
        name=_text(net, schema.Net.NAME),
        address_mode=net.integer(schema.Net.ADDRESS_MODE, schema.I32),
        stages=tuple(map(_stage, net.tables(schema.Net.STAGES))),
    )


def _stage(stage: Table) -> Stage:
    of = schema.Stage
    weights = stage.table(of.WEIGHTS)
    return Stage(
        inputs=_tensors(stage, of.INPUTS),
        outputs=_tensors(stage, of.OUTPUTS),
        weights_address=weights.integer(schema.Weights.ADDRESS, schema.U64) if weights else 0,
        weights=_span(weights, schema.Weights.BINARY) if weights else Span(0, 0),
        activations_address=stage.integer(of.CONTEXT_ADDRESS, schema.U64),
        activations_size=stage.integer(of.CONTEXT_SIZE, schema.U64),
        io_address=stage.integer(of.IO_ADDRESS, schema.U64),
        io_size=stage.integer(of.IO_SIZE, schema.U64),
        core_count=max(1, stage.integer(of.CORE_COUNT)),
        subnets=tuple(map(_subnet, stage.tables(of.SUBNETS))),
        timing=_span(stage, of.COMMAND_TIMES),
        named_weights=tuple(map(_location, weights.tables(schema.Weights.LOCATIONS))) if weights else (),
    )


def _location(place: Table) -> tuple[str, Span]:
    of = schema.Location
    return _text(place, of.NAME), Span(place.integer(of.OFFSET, schema.U64), place.integer(of.SIZE, schema.U64))


def _subnet(subnet: Table) -> SubnetInfo:
    of = schema.Subnet
    cores = tuple(subnet.tables(of.CORES))
    merge = subnet.table(of.MERGE)
    hau = [span for core in cores for span in _spans(core, schema.Core.HAU)]
    return SubnetInfo(
        id=int(subnet.number(of.ID, schema.I32, -1)),
        run_mode=_run_mode(subnet.integer(of.MODE, schema.I32), subnet.integer(of.IS_DYNAMIC, schema.I32)),
        next_ids=subnet.numbers(of.NEXT_IDS, schema.I32),
        inputs=_tensors(subnet, of.INPUTS),
        outputs=_tensors(subnet, of.OUTPUTS),
        groups=tuple(_groups(core, schema.Core.GROUPS) for core in cores) or (_groups(subnet, of.GROUPS),),
        cpu_operations=tuple(map(_host_operation, subnet.tables(of.HOST_OPERATIONS))),
        chip_to_chip=tuple(_spans(core, schema.Core.CHIP_TO_CHIP) for core in cores),
        system_dma=tuple(_spans(core, schema.Core.SYSTEM_DMA) for core in cores),
        hau_bytes=sum(span.size for span in hau if span.size > _END_ONLY),
        merged_from=tuple(
            source.numbers(schema.OutputFrom.INDICES, schema.I32)
            for source in (merge.tables(schema.Merge.OUTPUTS_FROM) if merge else ())
        ),
    )


def _host_operation(operation: Table) -> CpuOperation:
    of = schema.HostOperation
    return CpuOperation(operation.integer(of.NUMBER, schema.I32), _span(operation, of.PARAMETERS))


def _group(group: Table) -> CommandGroup:
    of = schema.Group
    return CommandGroup(
        group.integer(of.TIU_COUNT), group.integer(of.DMA_COUNT), _span(group, of.TIU), _span(group, of.DMA)
    )


def _tensor(tensor: Table) -> TensorInfo:
    of = schema.Tensor
    name = _text(tensor, of.NAME)
    code = tensor.integer(of.DTYPE)
    if code not in TENSOR_DTYPES:
        raise ValueError(f"tensor {name!r} has the unknown data type {code}")
    shape = next(tensor.tables(of.SHAPES), None)
    return TensorInfo(
        name=name,
        dtype=TENSOR_DTYPES[code],
        shape=shape.numbers(schema.Shape.EXTENTS, schema.U64) if shape else (),
        address=tensor.integer(of.ADDRESS, schema.U64),
        size=tensor.integer(of.SIZE, schema.U64),
        scale=float(tensor.number(of.SCALE, schema.F32, 1.0)),
        zero_point=tensor.integer(of.ZERO_POINT, schema.I32),
        memory_mode=tensor.integer(of.MEMORY_MODE, schema.I32),
    )


def _run_mode(mode: int, dynamic: int) -> RunMode:
    if mode == 0:
        return RunMode.TPU_DYNAMIC if dynamic else RunMode.TPU_STATIC
    return {1: RunMode.CPU, 2: RunMode.MERGE, 3: RunMode.SWITCH}.get(mode, RunMode.UNKNOWN)
