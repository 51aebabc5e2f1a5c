"""Writing bmodels: one net of one static subnet from given command streams; for tests, benchmarks and new chips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path

import flatbuffers
from msgspec import Struct

from tdb_dap.engine.bmodel import schema
from tdb_dap.engine.bmodel.file import HEADER, HEADER_BYTES, MAGIC
from tdb_dap.engine.files.atomic_files import whole_file


class Border(Struct, frozen=True):
    """A float32 tensor at the border of the net."""

    name: str
    shape: tuple[int, ...]
    address: int


class Stream(Struct, frozen=True):
    """The commands of one engine, one after another."""

    data: bytes
    count: int


class Model(Struct, frozen=True):
    """Source of a bmodel to write.

    ``activations``: device address and size of the region; ``weights``: address and bytes of theirs; ``further``: more
    groups of commands of both engines, whose ids begin anew.
    """

    chip: str
    tiu: Stream
    dma: Stream
    inputs: Sequence[Border] = ()
    outputs: Sequence[Border] = ()
    activations: tuple[int, int] = (0, 4096)
    chip_to_chip: bytes = b""
    system_dma: bytes = b""
    hau: bytes = b""
    further: Sequence[tuple[Stream, Stream]] = ()
    weights: tuple[int, bytes] = (0, b"")

    @property
    def groups(self) -> tuple[tuple[Stream, Stream], ...]:
        """Commands of TIU and DMA of every group, in the order in which they are executed."""
        return (self.tiu, self.dma), *self.further

    def write(self, path: Path) -> Path:
        """Write the file; the streams follow each other in the payload."""
        metadata = _Writer(self).metadata()
        streams = [stream.data for group in self.groups for stream in group]
        payload = b"".join((*streams, self.chip_to_chip, self.system_dma, self.hau, self.weights[1]))
        header = HEADER.pack(MAGIC, HEADER_BYTES, len(metadata), len(payload)).ljust(HEADER_BYTES, b"\0")
        with whole_file(path) as file:
            file.write(header + metadata + payload)
        return path


class _Writer:
    """The FlatBuffers block; tables are written from the leaves up."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._builder = flatbuffers.Builder()

    def metadata(self) -> bytes:
        b, model = self._builder, self._model
        inputs, outputs = (self._vector([self._tensor(t) for t in ts]) for ts in (model.inputs, model.outputs))
        groups = self._vector(self._groups())
        cores = self._vector([self._core(groups)]) if model.chip_to_chip or model.system_dma or model.hau else 0
        b.StartVector(4, 1, 4)
        b.PrependInt32(-1)
        following = b.EndVector()
        of = schema.Subnet
        commands = {of.CORES: cores} if cores else {of.GROUPS: groups}
        ends = {of.NEXT_IDS: following, of.INPUTS: inputs, of.OUTPUTS: outputs}
        subnets = self._vector([self._table(commands | ends, {of.ID: 0})])
        stages = self._vector([self._stage(inputs, outputs, subnets)])
        nets = self._vector([self._table({schema.Net.NAME: b.CreateString("made"), schema.Net.STAGES: stages})])
        root = {
            schema.Model.CHIP: b.CreateString(model.chip),
            schema.Model.VERSION: b.CreateString("made"),
            schema.Model.TYPE: b.CreateString("B"),  # the vendor's tools ask for it and the time
            schema.Model.TIME: b.CreateString(""),
            schema.Model.NETS: nets,
        }
        b.Finish(self._table(root))
        return bytes(b.Output())

    def _stage(self, inputs: int, outputs: int, subnets: int) -> int:
        of = schema.Stage
        address, size = self._model.activations
        offsets = {of.INPUTS: inputs, of.OUTPUTS: outputs, of.SUBNETS: subnets}
        if self._model.weights[1]:
            offsets[of.WEIGHTS] = self._weights()
        return self._table(offsets, {of.CORE_COUNT: 1}, {of.CONTEXT_ADDRESS: address, of.CONTEXT_SIZE: size})

    def _groups(self) -> list[int]:
        of = schema.Group
        made: list[int] = []
        start = 0
        for tiu, dma in self._model.groups:
            spans = {of.TIU: (start, len(tiu.data)), of.DMA: (start + len(tiu.data), len(dma.data))}
            made.append(self._table(numbers={of.TIU_COUNT: tiu.count, of.DMA_COUNT: dma.count}, spans=spans))
            start += len(tiu.data) + len(dma.data)
        return made

    def _weights(self) -> int:
        model = self._model
        address, data = model.weights
        before = [stream.data for group in model.groups for stream in group]
        start = sum(map(len, (*before, model.chip_to_chip, model.system_dma, model.hau)))
        of = schema.Weights
        return self._table(long_numbers={of.ADDRESS: address}, spans={of.BINARY: (start, len(data))})

    def _core(self, groups: int) -> int:
        b, model, of = self._builder, self._model, schema.Core
        offsets = {of.GROUPS: groups}
        start = sum(len(stream.data) for group in model.groups for stream in group)
        streams = {of.CHIP_TO_CHIP: model.chip_to_chip, of.SYSTEM_DMA: model.system_dma, of.HAU: model.hau}
        for slot, data in streams.items():
            b.StartVector(schema.SPAN.size, 1 if data else 0, 8)
            if data:
                self._span(start, len(data))
            offsets[slot] = b.EndVector()
            start += len(data)
        return self._table(offsets)

    def _tensor(self, tensor: Border) -> int:
        b, of = self._builder, schema.Tensor
        name = b.CreateString(tensor.name)
        b.StartVector(8, len(tensor.shape), 8)
        for extent in reversed(tensor.shape):
            b.PrependUint64(extent)
        shapes = self._vector([self._table({schema.Shape.EXTENTS: b.EndVector()})])
        numbers = {of.ADDRESS: tensor.address, of.SIZE: 4 * prod(tensor.shape)}
        return self._table({of.NAME: name, of.SHAPES: shapes}, long_numbers=numbers)

    def _vector(self, offsets: Sequence[int]) -> int:
        self._builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self._builder.PrependUOffsetTRelative(offset)
        return self._builder.EndVector()

    def _span(self, start: int, size: int) -> int:
        b = self._builder
        b.Prep(8, schema.SPAN.size)
        b.PrependUint64(size)
        b.PrependUint64(start)
        return b.Offset()

    def _table(
        self,
        offsets: Mapping[int, int] = {},
        numbers: Mapping[int, int] = {},
        long_numbers: Mapping[int, int] = {},
        spans: Mapping[int, tuple[int, int]] = {},
    ) -> int:
        """A table, its fields by slot: offsets, numbers of 32 and of 64 bits, and spans."""
        b = self._builder
        b.StartObject(1 + max((*offsets, *numbers, *long_numbers, *spans)))
        for slot, span in spans.items():
            b.PrependStructSlot(slot, self._span(*span), 0)
        for slot, number in long_numbers.items():
            b.PrependUint64(number)
            b.Slot(slot)
        for slot, number in numbers.items():
            b.PrependUint32(number)
            b.Slot(slot)
        for slot, offset in offsets.items():
            b.PrependUOffsetTRelativeSlot(slot, offset, 0)
        return b.EndObject()
