"""The object tree of a bmodel as typed records: model, nets, stages, subnets, command groups, tensors.

Built from the FlatBuffers block. What is visited is counted: lists whose entries are all the same table, each of which
holds such a list again, would otherwise make years of work of a few kilobytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, TypeVar

from msgspec import Struct, field

from tdb_dap.engine.bmodel import bmodel_generated as fb
from tdb_dap.engine.files import limits
from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, SI8, SI16, SI32, UI8, UI16, UI32, DType
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.errors import BadInput

T = TypeVar("T")

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
        model = fb.Model.GetRootAs(block, 0)
        reader = _Reader(len(block))
        kernel = model.KernelModule()
        return Metadata(
            chip=reader.text(model.Chip()),
            version=reader.text(model.Version()),
            nets=reader.each(model.NetLength(), model.Net, reader.net),
            has_riscv_kernel=kernel is not None and kernel.Mode() == _RISCV,
            kernel_bytes=_binary_bytes(kernel),
        )
    except (struct.error, IndexError, TypeError, ValueError, OverflowError, AttributeError) as error:
        what = str(error)
        if len(what) > 200:  # a damaged name may run to the end of the file
            what = f"{what[:100]} ... {what[-80:]}"
        raise BadInput(f"{file}: the model description is damaged ({what}); compile or copy the model again") from None


def _binary_bytes(kernel: Any) -> int:
    span = kernel.Binary() if kernel is not None else None
    return int(span.Size()) if span is not None else 0


class _Reader:
    """``size``: bytes of the block."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.left = size * limits.DESCRIPTION_RATIO

    def text(self, raw: bytes | str | None) -> str:
        """A string, its control characters as escapes: the accessors return bytes, whatever their stubs say."""
        self.spend(len(raw or ""))
        text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw or ""
        return text if text.isprintable() else visible(text).replace("\n", "\\n")

    def count(self, length: int) -> int:
        """The number of entries of a list, each of which takes four bytes at least."""
        if not 0 <= length <= self.size // 4:
            raise ValueError(f"a list claims {length:,} entries in a block of {self.size:,} bytes")
        self.spend(4 * length)
        return length

    def spend(self, count: int) -> None:
        """So many bytes are visited."""
        self.left -= count
        if self.left < 0:
            raise ValueError(
                f"its parts are more than {limits.DESCRIPTION_RATIO} times the {self.size:,} bytes that hold them"
            )

    def each(self, length: int, get: Callable[[int], Any], read: Callable[[Any], T]) -> tuple[T, ...]:
        return tuple(read(get(i)) for i in range(self.count(length)))

    def net(self, net: Any) -> Net:
        return Net(self.text(net.Name()), net.AddrMode(), self.each(net.ParameterLength(), net.Parameter, self.stage))

    def stage(self, stage: Any) -> Stage:
        weights = stage.CoeffMem()
        return Stage(
            inputs=self.each(stage.InputTensorLength(), stage.InputTensor, self.tensor),
            outputs=self.each(stage.OutputTensorLength(), stage.OutputTensor, self.tensor),
            weights_address=weights.Address() if weights else 0,
            weights=self.span(weights.BinaryCoeff()) if weights else Span(0, 0),
            activations_address=stage.CtxAddr(),
            activations_size=stage.CtxSize(),
            io_address=stage.IoAddr(),
            io_size=stage.IoSize(),
            core_count=max(1, stage.CoreNum()),
            subnets=self.each(stage.SubNetLength(), stage.SubNet, self.subnet),
            timing=self.span(stage.NetStat()),
            named_weights=self.each(weights.LocationLength(), weights.Location, self.named) if weights else (),
        )

    def named(self, place: Any) -> tuple[str, Span]:
        return self.text(place.Name()), Span(place.Offset(), place.Size())

    def subnet(self, subnet: Any) -> SubnetInfo:
        chip_to_chip: tuple[tuple[Span, ...], ...] = ()
        system_dma: tuple[tuple[Span, ...], ...] = ()
        hau_bytes = 0
        if subnet.CoreCommandsLength():
            chip_to_chip = self.each(
                subnet.CoreCommandsLength(),
                subnet.CoreCommands,
                lambda core: self.each(core.CdmaCommandsLength(), core.CdmaCommands, self.span),
            )
            system_dma = self.each(
                subnet.CoreCommandsLength(),
                subnet.CoreCommands,
                lambda core: self.each(core.SdmaCommandsLength(), core.SdmaCommands, self.span),
            )
            hau_bytes = self.hau_bytes(subnet)
            groups = self.each(
                subnet.CoreCommandsLength(),
                subnet.CoreCommands,
                lambda core: self.each(core.GdmaTiuCommandsLength(), core.GdmaTiuCommands, self.group),
            )
        else:
            groups = (self.each(subnet.CmdGroupLength(), subnet.CmdGroup, self.group),)
        return SubnetInfo(
            id=subnet.Id(),
            run_mode=_run_mode(subnet.SubnetMode(), subnet.IsDynamic()),
            next_ids=tuple(subnet.NextSubnetIds(i) for i in range(self.count(subnet.NextSubnetIdsLength()))),
            inputs=self.each(subnet.InputTensorLength(), subnet.InputTensor, self.tensor),
            outputs=self.each(subnet.OutputTensorLength(), subnet.OutputTensor, self.tensor),
            groups=groups,
            cpu_operations=self.each(
                subnet.CpuParamLength(),
                subnet.CpuParam,
                lambda p: CpuOperation(p.OpType(), self.span(p.BinaryParam())),
            ),
            chip_to_chip=chip_to_chip,
            system_dma=system_dma,
            hau_bytes=hau_bytes,
            merged_from=self.merged_from(subnet.MergeParam()),
        )

    def merged_from(self, merge: Any) -> tuple[tuple[int, ...], ...]:
        if merge is None:
            return ()
        return self.each(
            merge.OutputFromLength(),
            merge.OutputFrom,
            lambda source: tuple(source.Indice(i) for i in range(self.count(source.IndiceLength()))),
        )

    def hau_bytes(self, subnet: Any) -> int:
        """Of the streams that hold more than their end command."""
        cores = self.each(
            subnet.CoreCommandsLength(),
            subnet.CoreCommands,
            lambda core: self.each(core.HauCommandsLength(), core.HauCommands, self.span),
        )
        return sum(span.size for spans in cores for span in spans if span.size > _END_ONLY)

    def group(self, group: Any) -> CommandGroup:
        return CommandGroup(
            group.BdcNum(), group.GdmaNum(), self.span(group.BinaryBdc()), self.span(group.BinaryGdma())
        )

    def span(self, span: Any) -> Span:
        return Span(span.Start(), span.Size()) if span else Span(0, 0)

    def tensor(self, tensor: Any) -> TensorInfo:
        name = self.text(tensor.Name())
        dtype = TENSOR_DTYPES.get(tensor.DataType())
        if dtype is None:
            raise ValueError(f"tensor {name!r} has the unknown data type {tensor.DataType()}")
        shape = tensor.Shape(0) if tensor.ShapeLength() else None
        return TensorInfo(
            name=name,
            dtype=dtype,
            shape=tuple(shape.Dim(i) for i in range(self.count(shape.DimLength()))) if shape else (),
            address=tensor.DeviceAddr(),
            size=tensor.Size(),
            scale=tensor.Scale(),
            zero_point=tensor.ZeroPoint(),
            memory_mode=tensor.GmemStmode(),
        )


def _run_mode(mode: int, dynamic: int) -> RunMode:
    if mode == 0:
        return RunMode.TPU_DYNAMIC if dynamic else RunMode.TPU_STATIC
    return {1: RunMode.CPU, 2: RunMode.MERGE, 3: RunMode.SWITCH}.get(mode, RunMode.UNKNOWN)
