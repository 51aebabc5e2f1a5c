"""A compiled model, ready to be looked at: built once, never changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine import limits
from tdb_dap.engine.access_rows import AccessRows
from tdb_dap.engine.accesses import Accesses
from tdb_dap.engine.bmodel import Bmodel, CommandGroup, RunMode, Span, SubnetInfo, TensorInfo, select
from tdb_dap.engine.commands import ENGINES, Columns, Command, Commands
from tdb_dap.engine.context import Context
from tdb_dap.engine.cpu_operations import CPU_OPERATIONS
from tdb_dap.engine.layouts import contiguous
from tdb_dap.engine.listing import Listing
from tdb_dap.engine.memory import Region
from tdb_dap.engine.mlir import MlirFile
from tdb_dap.engine.order import interleave, merge
from tdb_dap.engine.origin_files import Origins
from tdb_dap.engine.source_map import SourceMap
from tdb_dap.engine.target import Message, Target
from tdb_dap.engine.tensors import Tensor
from tdb_dap.engine.views import memref_text
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.ops import Ops

_COLUMNS = ("engine", "core", "subnet", "kind", "offset", "id", "dependency", "listed")


@dataclass(frozen=True)
class Subnet:
    """A subnet and its commands [start, stop) in execution order. ``function``: its name in final.mlir."""

    id: int
    run_mode: str
    start: int
    stop: int
    function: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


class Program:
    """One stage of one net of a bmodel: by default the first. ``target_for(chip, file)`` finds the chip.

    A file holds several nets where models were combined, and several stages of a net where it was compiled for several
    input shapes. ``stage_index``: the stage's number in its net.
    """

    def __init__(
        self,
        context: Context,
        target_for: Callable[[str, str], Target],
        net: str | None = None,
        stage: int = 0,
        bmodel: Bmodel | None = None,
    ) -> None:
        self.context = context
        self.bmodel = bmodel or Bmodel(context.bmodel)
        metadata = self.bmodel.metadata
        self.chip = metadata.chip
        self._target_for = target_for
        self.target = target_for(metadata.chip, str(context.bmodel))
        self.net, self.stage = select(self.bmodel, str(context.bmodel), net, stage)
        self.stage_index = stage
        geometry = self.target.geometry
        self.inputs = tuple(Tensor.of(info, geometry) for info in self.stage.inputs)
        self.outputs = tuple(Tensor.of(info, geometry) for info in self.stage.outputs)
        columns, bounds = self._decode()
        self.commands = Commands(
            columns, self.target, self.bmodel.payload, self.stage.subnets, self._stand_in, self._lines_of
        )
        self.subnets = tuple(
            Subnet(
                info.id,
                info.run_mode.value,
                start,
                stop,
                f"subfunc_{info.id}",
                tuple(Tensor.of(t, geometry) for t in info.inputs),
                tuple(Tensor.of(t, geometry) for t in info.outputs),
            )
            for info, (start, stop) in zip(self.stage.subnets, bounds, strict=True)
        )
        self.core_count = max(1, int(columns.core.max(initial=0)) + 1)
        self.source = self._map_sources(columns)

    def __repr__(self) -> str:
        return f"<Program {self.net.name}: {self.chip}, {len(self.commands):,} commands>"

    def _repr_html_(self) -> str:
        from tdb_dap.engine.program_html import program_html

        return program_html(self)

    def sibling(self, net: str, stage: int) -> Program:
        """Another net or stage of the same file."""
        return Program(self.context, self._target_for, net, stage, self.bmodel)

    def _map_sources(self, columns: Columns) -> SourceMap:
        mlir = MlirFile.read(self.context.mlir) if self.context.mlir else None
        if mlir and mlir.module != self.net.name and mlir.module in {net.name for net in self.bmodel.metadata.nets}:
            # The files beside a combined model are those of one of its nets.
            return SourceMap.empty(None, columns.kind.size)
        if self.context.locations is None:
            return SourceMap.empty(mlir, columns.kind.size)
        ids = [info.id for info in self.stage.subnets]
        return SourceMap.build(mlir, self.context.locations, columns, ids, self.target.geometry)

    def _lines_of(self, ordinal: int) -> tuple[int, ...]:
        return self.source.lines_of(ordinal)

    @cached_property
    def listing(self) -> Listing:
        """Our disassembly of the whole program."""
        heading = (
            f"// {self.net.name}: {self.chip}, {len(self.commands):,} commands, compiler {self.bmodel.metadata.version}"
        )
        sections = [(f"subnet {subnet.id} {subnet.run_mode}:", subnet.start, subnet.stop) for subnet in self.subnets]
        return Listing(self.net.name, heading, sections, lambda ordinal: self.commands[ordinal].asm)

    @cached_property
    def ops(self) -> Ops:
        """The ops that have commands, in the order in which they begin; empty without ``tensor_location.json``."""
        from tdb_dap.engine.ops import Ops

        return Ops(self)

    @cached_property
    def origins(self) -> Origins:
        """The stages of compilation before final.mlir."""
        return Origins(self.context)

    @cached_property
    def accesses(self) -> Accesses:
        """Which commands read and write what."""
        return Accesses(self.commands)

    @cached_property
    def access_rows(self) -> AccessRows:
        """What all commands read and write, as columns of numbers."""
        return AccessRows.of(self.commands)

    def ddr_regions(self, to_write: bool = False) -> list[Region]:
        """DDR as far as the model uses it: weights, activations, and inputs and outputs of their own.

        ``to_write``: the regions become somebody's memory; without it the weights are the program's own bytes.
        """
        bytes_of = self.bmodel.private_bytes_of if to_write else self.bmodel.bytes_of
        stage, locate = self.stage, self.target.geometry.locate
        regions = [
            Region(
                locate(stage.weights_address)[1],
                bytes_of(stage.weights, "the weights"),
                "weights",
            )
        ]
        for address, size, title in (
            (stage.activations_address, stage.activations_size, "activations"),
            (stage.io_address, stage.io_size, "inputs and outputs"),
        ):
            if size:
                regions.append(Region(locate(address)[1], self._memory_for(size, title), title))
        for tensor in (*stage.inputs, *stage.outputs):
            start = locate(tensor.address)[1]
            if not any(region.start <= start and start + tensor.size <= region.stop for region in regions):
                title = f"tensor {tensor.name}"
                regions.append(Region(start, self._memory_for(tensor.size, title), title))
        return [region for region in regions if region.data.size]

    def _memory_for(self, size: int, what: str) -> NDArray[np.uint8]:
        """Zeros; BadInput where the model asks for more than a board or this machine has."""
        try:
            if size <= limits.DEVICE_MEMORY:
                return np.zeros(size, np.uint8)
        except MemoryError:
            pass
        raise BadInput(
            f"{self.context.bmodel}: {what}: {size:,} bytes of DDR, more than this machine can give "
            f"(limit: {limits.readable(limits.DEVICE_MEMORY)}); is the file damaged?"
        )

    def _decode(self) -> tuple[Columns, list[tuple[int, int]]]:
        parts: list[Columns] = []
        bounds: list[tuple[int, int]] = []
        count = 0
        for index, info in enumerate(self.stage.subnets):
            made = self._decode_subnet(index, info)
            parts.append(made)
            bounds.append((count, count + made.kind.size))
            count += made.kind.size
        return _joined(parts), bounds

    def _decode_subnet(self, index: int, info: SubnetInfo) -> Columns:
        if info.run_mode is not RunMode.TPU_STATIC:
            engine = {RunMode.CPU: "cpu"}.get(info.run_mode, "dynamic")
            return _stand_in_columns(ENGINES.index(engine), index, max(1, len(info.cpu_operations)))
        cores = [
            self._decode_core(index, core, groups, f"{self.context.bmodel}: subnet {info.id}, core {core}")
            for core, groups in enumerate(info.groups)
        ]
        return _joined(
            [
                cores[0] if len(cores) == 1 else self._interleave(cores),
                *(
                    self._decode_chip_to_chip(
                        index, core, span, f"{self.context.bmodel}: subnet {info.id}, core {core}"
                    )
                    for core, spans in enumerate(info.chip_to_chip)
                    for span in spans
                ),
            ]
        )

    def _decode_chip_to_chip(self, subnet: int, core: int, span: Span, what: str) -> Columns:
        """Moves between chips, listed behind the subnet's own commands: when they run depends on the other chip."""
        data = self.bmodel.bytes_of(span, "the CDMA stream")
        stream = self.target.decode_stream("cdma", data, None, f"{what}, CDMA stream")
        made = _stand_in_columns(ENGINES.index("cdma"), subnet, stream.offsets.size)
        return replace(
            made,
            core=np.full(stream.offsets.size, core, np.int16),
            kind=stream.kinds,
            offset=stream.offsets + span.start,
            id=stream.ids,
        )

    def _decode_core(self, subnet: int, core: int, groups: tuple[CommandGroup, ...], what: str) -> Columns:
        """The groups of one core, one after another."""
        whole = _joined([])
        for group in groups:
            whole = _joined([whole, self._decode_group(subnet, core, group, what).continuing(whole)])
        return whole

    def _interleave(self, cores: list[Columns]) -> Columns:
        """The cores' commands in one order: see ``order.interleave``."""
        messages = [[self._message(columns, i) for i in range(columns.kind.size)] for columns in cores]
        chosen = interleave(messages, str(self.context.bmodel))
        whole = _joined(cores)
        starts = np.cumsum([0, *(columns.kind.size for columns in cores[:-1])])
        order = np.array([starts[core] + index for core, index in chosen], np.int64)
        return Columns(**{name: getattr(whole, name)[order] for name in _COLUMNS})

    def _message(self, columns: Columns, index: int) -> Message | None:
        kind = int(columns.kind[index])
        if not self.target.is_system(kind):
            return None
        start = int(columns.offset[index])
        descriptor = self.bmodel.payload[start : start + self.target.kind_size(kind)].tobytes()
        return self.target.message(kind, descriptor)

    def message_of(self, ordinal: int) -> Message | None:
        """The message that a command sends to other cores or waits for; None if it does neither."""
        return self._message(self.commands.columns, ordinal) if self.commands[ordinal].has_descriptor else None

    def _decode_group(self, subnet: int, core: int, group: CommandGroup, what: str) -> Columns:
        tiu, dma = (
            self.target.decode_stream(engine, self.bmodel.bytes_of(span, f"the {engine.upper()} stream"), count, where)
            for engine, span, count, where in (
                ("tiu", group.tiu, group.tiu_count, f"{what}, TIU stream"),
                ("dma", group.dma, group.dma_count, f"{what}, DMA stream"),
            )
        )
        is_dma, chosen = merge(tiu, dma, what)

        def pick(of_tiu: NDArray[np.int64], of_dma: NDArray[np.int64]) -> NDArray[np.int64]:
            values = np.empty(chosen.size, np.int64)
            values[is_dma] = of_dma[chosen[is_dma]]
            values[~is_dma] = of_tiu[chosen[~is_dma]]
            return values

        return Columns(
            engine=np.where(is_dma, ENGINES.index("dma"), ENGINES.index("tiu")).astype(np.int8),
            core=np.full(chosen.size, core, np.int16),
            subnet=np.full(chosen.size, subnet, np.int32),
            kind=pick(tiu.kinds.astype(np.int64), dma.kinds.astype(np.int64)).astype(np.int32),
            offset=pick(tiu.offsets + group.tiu.start, dma.offsets + group.dma.start),
            id=pick(tiu.ids, dma.ids),
            dependency=pick(tiu.dependencies, dma.dependencies),
            listed=pick(tiu.listed, dma.listed),
        )

    def _stand_in(self, command: Command) -> tuple[str, str]:
        """Name and text of a subnet that is not made of commands."""
        info = command.subnet_info
        if info.run_mode is RunMode.CPU:
            position = command.ordinal - next(s.start for s in self.subnets if s.id == info.id)
            operations = info.cpu_operations
            number = operations[position].number if position < len(operations) else -1
            name = CPU_OPERATIONS.get(number, f"CPU_{number}")
        elif info.run_mode is RunMode.TPU_DYNAMIC:
            name = f"DYN{info.id}_FULLNET"
        else:
            name = f"{info.run_mode.value}{info.id}"
        inputs, outputs = (", ".join(map(self._typed, tensors)) for tensors in (info.inputs, info.outputs))
        return name, f"{name}() ([{inputs}]) -> [{outputs}]"

    def _typed(self, tensor: TensorInfo) -> str:
        geometry = self.target.geometry
        name = geometry.name(*geometry.locate(tensor.address))
        return f"%{name}: {memref_text(tensor.shape, tensor.dtype, contiguous(tensor.shape))}"


def _stand_in_columns(engine: int, subnet: int, count: int) -> Columns:
    zeros = np.zeros(count, np.int64)
    return Columns(
        engine=np.full(count, engine, np.int8),
        core=np.zeros(count, np.int16),
        subnet=np.full(count, subnet, np.int32),
        kind=np.full(count, -1, np.int32),
        offset=zeros,
        id=zeros,
        dependency=zeros,
        listed=zeros,
    )


def _joined(parts: list[Columns]) -> Columns:
    if len(parts) == 1:
        return parts[0]
    empty = _stand_in_columns(0, 0, 0)
    return Columns(**{name: np.concatenate([getattr(part, name) for part in [empty, *parts]]) for name in _COLUMNS})
