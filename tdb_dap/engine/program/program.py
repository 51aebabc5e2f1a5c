"""A compiled model, ready to be looked at: built once, never changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.bmodel import Bmodel, RunMode, TensorInfo, select
from tdb_dap.engine.commands.commands import Columns, Command, Commands
from tdb_dap.engine.commands.decoding import Streams
from tdb_dap.engine.commands.listing import Listing
from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.memory import Region
from tdb_dap.engine.hardware.target import Message, Target
from tdb_dap.engine.hardware.views import contiguous, memref_text
from tdb_dap.engine.host.operation_names import CPU_OPERATIONS
from tdb_dap.engine.program.access_table import AccessRows
from tdb_dap.engine.program.accesses import Accesses
from tdb_dap.engine.program.ops import Ops
from tdb_dap.engine.rendering import html
from tdb_dap.engine.rendering.printable import counted
from tdb_dap.engine.source.compile_stages import CompileStages
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.engine.source.source_map import SourceMap
from tdb_dap.errors import BadExpression, BadInput


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
        self._streams = Streams(self.bmodel, self.stage, self.target, str(context.bmodel))
        columns, bounds = self._streams.decode()
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

    def require_ordinal(self, ordinal: int) -> int:
        """A number of executed commands that there can be; BadExpression for any other."""
        last = len(self.commands)
        if not 0 <= ordinal <= last:
            raise BadExpression(f"command {ordinal} is not in this program; there are 0 to {last}")
        return ordinal

    @cached_property
    def ops(self) -> Ops:
        """The ops that have commands, in the order in which they begin; empty without ``tensor_location.json``."""
        return Ops(self.source, self.commands)

    @cached_property
    def compile_stages(self) -> CompileStages:
        """The stages of compilation before final.mlir."""
        return CompileStages(self.context)

    @cached_property
    def accesses(self) -> Accesses:
        """Index of the accesses of all commands."""
        return Accesses(self.commands)

    @cached_property
    def access_rows(self) -> AccessRows:
        """Accesses of all commands, as columns of numbers."""
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

    def message_of(self, ordinal: int) -> Message | None:
        """The message that a command sends to other cores or waits for; None if it does neither."""
        return self._streams.message(self.commands.columns, ordinal) if self.commands[ordinal].has_descriptor else None

    def _stand_in(self, command: Command) -> tuple[str, str]:
        """Name and text of a subnet that is not made of commands."""
        info = command.subnet_info
        if command.engine == "hau":
            return f"HAU{info.id}", f"HAU{info.id} (streams of {info.hau_bytes:,} bytes that are not decoded)"
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


def program_html(program: Program) -> str:
    """Three tables."""
    about = {
        "net": program.net.name,
        "chip": f"{program.chip}, {counted(program.core_count, 'core')}",
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
