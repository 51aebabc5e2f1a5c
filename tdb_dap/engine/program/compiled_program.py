"""One net of a compiled model: its commands as the file holds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tdb_dap.engine.bmodel import ModelFile, Net, RunMode, Stage, TensorInfo, select
from tdb_dap.engine.commands.commands import ENGINES, Columns, Command, operand_text
from tdb_dap.engine.commands.decoding import Streams, joined, sliced, stand_in_columns
from tdb_dap.engine.commands.net_tensors import Tensor, borders
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import UI8, Array
from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.engine.hardware.memory import Memory, Region, zeros
from tdb_dap.engine.hardware.strides import contiguous
from tdb_dap.engine.hardware.target import Description, Message, Target
from tdb_dap.engine.hardware.views import Layout, View, memref_text
from tdb_dap.engine.host.operation_names import CPU_OPERATIONS
from tdb_dap.engine.program.model_files import open_model_file
from tdb_dap.engine.program.own_memories import BorderCopy, with_own_memories
from tdb_dap.engine.program.program import Program, Subnet
from tdb_dap.engine.rendering.printable import elided
from tdb_dap.engine.source.layer_records import map_layers, segments_of
from tdb_dap.engine.source.layer_table import read_layers
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.engine.source.source_map import SourceMap
from tdb_dap.errors import BadInput

_DENSE_BYTES = 64 << 20
"""Of larger memory, as of the caches of a language model, a run may touch little."""


class CompiledProgram(Program):
    """One stage of one net of a bmodel: by default the first. ``target_for(chip, file)`` finds the chip.

    A file holds several nets where models were combined, and several stages of a net where it was compiled for several
    input shapes. ``as_compiled``: all tensors are where the compiler has put them, as in the vendor's debugger, also
    those that have memory of their own on the runtime (``own_memories``).
    """

    def __init__(
        self,
        context: Context,
        target_for: Callable[[str, str], Target],
        net: str | None = None,
        stage: int = 0,
        bmodel: ModelFile | None = None,
        as_compiled: bool = False,
    ) -> None:
        self._bmodel = bmodel or open_model_file(context.bmodel)
        self.content = self._bmodel.content
        self._target_for = target_for
        metadata = self._bmodel.metadata
        target = target_for(metadata.chip, str(context.bmodel))
        chosen, stage_info = select(self._bmodel, str(context.bmodel), net, stage)
        geometry = target.geometry
        copies: tuple[BorderCopy, ...] = ()
        if not as_compiled and metadata.has_own_memories:
            compiled = stage_info
            stage_info, copies = _with_own_memories(compiled, geometry)
            if stage_info is not compiled:  # without a copy, too: an input that only the host reads
                chosen = replace(chosen, stages=(*chosen.stages[:stage], stage_info, *chosen.stages[stage + 1 :]))
        self._streams = Streams(self._bmodel, stage_info, target, str(context.bmodel))
        columns, bounds = self._streams.decode()
        columns, bounds, self._copies = _with_copies(columns, bounds, copies, geometry)
        infos = stage_info.subnets
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
            for info, (start, stop) in zip(infos, bounds, strict=True)
        )
        starts = {info.id: start for info, (start, _) in zip(infos, bounds, strict=True)}
        stand_ins = _StandIns(geometry, starts, self._copies)
        super().__init__(
            context,
            target,
            metadata.chip,
            metadata.version,
            chosen,
            stage,
            columns,
            self._bmodel.payload,
            stand_ins,
        )
        self.source = self._map_sources(columns)

    @property
    def nets(self) -> tuple[Net, ...]:
        return self._bmodel.metadata.nets

    @property
    def bmodel(self) -> ModelFile:
        return self._bmodel

    def sibling(self, net: str, stage: int, as_compiled: bool = False) -> CompiledProgram:
        """Another net or stage of the same file."""
        return CompiledProgram(self.context, self._target_for, net, stage, self.bmodel, as_compiled)

    def _map_sources(self, columns: Columns) -> SourceMap:
        mlir = MlirFile.read(self.context.mlir) if self.context.mlir else None
        if mlir and mlir.module != self.net.name and mlir.module in {net.name for net in self.bmodel.metadata.nets}:
            # The files next to a combined model are those of one of its nets.
            return SourceMap.empty(None, columns.kind.size)
        if self.context.locations is None:
            return SourceMap.empty(mlir, columns.kind.size)
        layers = self.layers
        if layers is not None:
            subnets = [(info.id, [tensor.name for tensor in info.inputs]) for info in self.stage.subnets]
            tables = read_layers(self.context.locations)
            return map_layers(mlir, tables, columns, layers, subnets, self.target.geometry)
        ids = [info.id for info in self.stage.subnets]
        return SourceMap.build(mlir, self.context.locations, columns, ids, self.target.geometry)

    def _sections(self) -> list[tuple[str, int, int]]:
        """As of every program; where nothing but their layers says what commands are of, one for each layer."""
        sections = super()._sections()
        if self.layers is None or self.source.records:
            return sections
        parts: list[tuple[str, int, int]] = []
        for segment in segments_of(self.commands.columns, self.layers):
            first, last = int(segment.ordinals[0]), int(segment.ordinals[-1])
            subnet = next((title for title, start, _ in sections if start == first), "")
            title = f"layer {segment.layer}:" if self.commands[first].has_descriptor else ""
            parts.append((" ".join(filter(None, (subnet, title))), first, last + 1))
        return parts

    @cached_property
    def layers(self) -> NDArray[np.int64] | None:
        """Of each command the number of the compiler's layer; None where commands have none."""
        encoded = self.commands.encoded
        return None if encoded is None else self.target.layers(encoded)

    def ddr_regions(self, to_write: bool = False) -> list[Region]:
        """DDR as far as the model uses it: weights, activations, and inputs and outputs of their own.

        The last ones reach to the end of their page, as boards give whole pages: compiled moves may read past them. So
        they do past the weights, in whole blocks of which only what is theirs is used; activations adjoin those.
        """
        regions = self.separate_regions(to_write)
        by_address = sorted(regions, key=lambda region: region.start)
        adjoining = {
            id(region)
            for region, following in pairwise(by_address)
            if (region.title, following.title) == (WEIGHTS, ACTIVATIONS) and self._adjoin(region, following)
        }
        return [replace(region, adjoins_next=True) if id(region) in adjoining else region for region in regions]

    def _adjoin(self, weights: Region, activations: Region) -> bool:
        """Whether an address beyond the weights is one of the activations.

        Where addresses have tags, the vendor's runtime sets the base of the one behind the end of the other.
        """
        return self.target.geometry.tag_shift > 0 or weights.stop == activations.start

    def separate_regions(self, to_write: bool = False) -> list[Region]:
        """As ``ddr_regions``, where something else may follow the weights."""
        bytes_of = self.bmodel.private_bytes_of if to_write else self.bmodel.bytes_of
        places = places_of(self.stage, self.target.geometry)
        return [
            Region(place.start, bytes_of(self.stage.weights, "the weights"), place.title, is_filled=True)
            if place.title == WEIGHTS
            else Region(place.start, self._memory_for(_held(place, places), place.title), place.title)
            for place in places
        ]

    def _memory_for(self, size: int, what: str) -> NDArray[np.uint8]:
        """Zeros; BadInput where the model asks for more than a board or this machine has."""
        try:
            if size <= limits.DEVICE_MEMORY:
                return zeros(size, self.is_dense and size <= _DENSE_BYTES)
        except MemoryError:
            pass
        raise BadInput(
            f"{self.context.bmodel}: {what}: {size:,} bytes of DDR, more than this machine can give "
            f"(limit: {limits.readable(limits.DEVICE_MEMORY)}); is the file damaged?"
        )

    def outside_writes(self, ordinal: int, memory: Memory) -> tuple[tuple[View, Array], ...] | None:
        copied = self._copies.get(ordinal)
        return None if copied is None else ((copied.destination, memory.read(copied.source)),)

    def message_of(self, ordinal: int) -> Message | None:
        """The message that a command sends to other cores or waits for; None if it does neither."""
        return self._streams.message(self.commands.columns, ordinal) if self.commands[ordinal].has_descriptor else None


ACTIVATIONS = "activations"
"""Title of the place of the activations."""
WEIGHTS = "weights"
"""Title of the place of the weights."""
TENSOR = "tensor "
"""What the title of the place of a tensor begins with."""
_LONGEST_NAME = 120
_PAGE = 4096
_COPY = "host.copy"

BORDERS = "inputs and outputs"
"""Title of a place that inputs and outputs have of their own."""


class Place(Struct, frozen=True):
    """A part of DDR that a net uses. ``start``: offset of its first byte; ``size``: bytes; ``title``: what for."""

    start: int
    size: int
    title: str

    @property
    def stop(self) -> int:
        return self.start + self.size


def places_of(stage: Stage, geometry: Geometry) -> list[Place]:
    """DDR that a net uses: its weights first, activations, its further memories, inputs and outputs of their own."""
    places: list[Place] = []
    for address, size, title in (
        (stage.weights_address, stage.weights.size, WEIGHTS),
        (stage.activations_address, stage.activations_size, ACTIVATIONS),
        (stage.io_address, stage.io_size, BORDERS),
        *((address, size, title) for title, address, size in stage.memories),
    ):
        if size:
            places.append(Place(geometry.locate(address)[1], size, title))
    inside = (tensor for info in stage.subnets for tensor in (*info.inputs, *info.outputs))
    for tensor in (*stage.inputs, *stage.outputs, *inside):
        start = geometry.locate(tensor.address)[1]
        if tensor.size and not any(place.start <= start and start + tensor.size <= place.stop for place in places):
            places.append(Place(start, tensor.size, f"{TENSOR}{elided(tensor.name, _LONGEST_NAME)}"))
    return places


def _held(place: Place, places: list[Place]) -> int:
    """Bytes of a part of DDR on the board: whole pages for a tensor of its own, but nothing of another part."""
    if not place.title.startswith(TENSOR):
        return place.size
    end = -(-place.stop // _PAGE) * _PAGE
    return min((other.start for other in places if place.stop <= other.start < end), default=end) - place.start


class _Copied(Struct, frozen=True):
    """A copy of the runtime's as bytes. ``tensor``: its name; ``is_before``: see ``BorderCopy``."""

    source: View
    destination: View
    tensor: str
    is_before: bool


def _with_own_memories(stage: Stage, geometry: Geometry) -> tuple[Stage, tuple[BorderCopy, ...]]:
    """See ``with_own_memories``. In a program of several nets each stays as it was compiled."""
    if geometry.is_linked or len(stage.subnets) == 1:
        return stage, ()
    places = places_of(stage, geometry)
    return with_own_memories(stage, geometry, max((place.stop for place in places), default=0))


def _with_copies(
    columns: Columns, bounds: list[tuple[int, int]], copies: Sequence[BorderCopy], geometry: Geometry
) -> tuple[Columns, list[tuple[int, int]], dict[int, _Copied]]:
    """Commands and bounds of subnets with the runtime's copies before and after these, and the copies by ordinal."""
    if not copies:
        return columns, bounds, {}
    parts: list[Columns] = []
    wider: list[tuple[int, int]] = []
    copied: dict[int, _Copied] = {}
    count = 0
    for subnet, (start, stop) in enumerate(bounds):
        first = count
        for is_before in (True, False):
            own = [copy for copy in copies if (copy.subnet, copy.is_before) == (subnet, is_before)]
            copied |= {count + number: _copied(copy, geometry) for number, copy in enumerate(own)}
            rows = stand_in_columns(ENGINES.index("host"), subnet, len(own))
            parts.append(replace(rows, id=np.arange(len(copied) - len(own) + 1, len(copied) + 1)))
            count += len(own)
            if is_before:
                parts.append(sliced(columns, start, stop))
                count += stop - start
        wider.append((first, count))
    return joined(parts), wider, copied


def _copied(copy: BorderCopy, geometry: Geometry) -> _Copied:
    shape = (min(copy.source.size, copy.destination.size),)
    source, destination = (
        View(*geometry.locate(info.address), shape, UI8, Layout.CONTIGUOUS, contiguous(shape), geometry)
        for info in (copy.source, copy.destination)
    )
    return _Copied(source, destination, copy.source.name, copy.is_before)


class _StandIns:
    """Subnets that are not made of commands: each of their operations has a command in its place.

    ``starts``: the first command of each subnet, by the subnet's id; ``copies``: the runtime's, by ordinal.
    """

    def __init__(self, geometry: Geometry, starts: dict[int, int], copies: Mapping[int, _Copied]) -> None:
        self._geometry = geometry
        self._starts = starts
        self._copies = copies

    def text(self, command: Command) -> tuple[str, str]:
        copied = self._copies.get(command.ordinal)
        if copied is not None:
            source, destination = operand_text(copied.source), operand_text(copied.destination)
            return _COPY, f"{command.token}: {destination} = {_COPY}(source = {source})"
        info = command.subnet_info
        if command.engine == "hau":
            return f"HAU{info.id}", f"HAU{info.id} (streams of {info.hau_bytes:,} bytes that are not decoded)"
        if info.run_mode is RunMode.CPU:
            position = command.ordinal - self._starts[info.id]
            operations = info.cpu_operations
            number = operations[position].number if position < len(operations) else -1
            function = operations[position].function if position < len(operations) else ""
            name = f"CPU_{function}" if function else CPU_OPERATIONS.get(number, f"CPU_{number}")
        elif info.run_mode is RunMode.TPU_DYNAMIC:
            name = f"DYN{info.id}_FULLNET"
        else:
            name = f"{info.run_mode.value}{info.id}"
        inputs, outputs = (", ".join(map(self._typed, tensors)) for tensors in (info.inputs, info.outputs))
        return name, f"{name}() ([{inputs}]) -> [{outputs}]"

    def description(self, command: Command) -> Description:
        """The borders of the subnet, all in DDR."""
        copied = self._copies.get(command.ordinal)
        if copied is not None:
            where = "from its own memory to where this subnet reads it" if copied.is_before else "to its own memory"
            summary = f"The runtime copies {copied.tensor} {where}."
            reads, writes = (copied.source,), (copied.destination,)
            return Description(_COPY, "host", summary, reads, ("source",), writes, ("destination",), {}, reads)
        inputs, outputs = borders(command.subnet_info, self._geometry)
        operands, results = tuple(t.view for t in inputs), tuple(t.view for t in outputs)
        names = tuple(t.name for t in inputs), tuple(t.name for t in outputs)
        return Description(command.name, command.engine, "", operands, names[0], results, names[1], {}, operands)

    def _typed(self, tensor: TensorInfo) -> str:
        geometry = self._geometry
        name = geometry.name(*geometry.locate(tensor.address))
        return f"%{name}: {memref_text(tensor.shape, tensor.dtype, contiguous(tensor.shape))}"
