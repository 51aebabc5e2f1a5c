"""Writing bmodels: one net of one static subnet from given command streams; for tests, benchmarks and new chips."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from pathlib import Path

import flatbuffers
from msgspec import Struct

from tdb_dap.engine.bmodel import bmodel_generated as fb
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
        fb.SubNetStart(b)
        fb.SubNetAddNextSubnetIds(b, following)
        if cores:
            fb.SubNetAddCoreCommands(b, cores)
        else:
            fb.SubNetAddCmdGroup(b, groups)
        fb.SubNetAddId(b, 0)
        fb.SubNetAddInputTensor(b, inputs)
        fb.SubNetAddOutputTensor(b, outputs)
        subnets = self._vector([fb.SubNetEnd(b)])
        weights = self._weights() if model.weights[1] else 0
        fb.NetParameterStart(b)
        if weights:
            fb.NetParameterAddCoeffMem(b, weights)
        fb.NetParameterAddInputTensor(b, inputs)
        fb.NetParameterAddOutputTensor(b, outputs)
        fb.NetParameterAddCtxAddr(b, model.activations[0])
        fb.NetParameterAddCtxSize(b, model.activations[1])
        fb.NetParameterAddCoreNum(b, 1)
        fb.NetParameterAddSubNet(b, subnets)
        stages = self._vector([fb.NetParameterEnd(b)])
        name = b.CreateString("made")
        fb.NetStart(b)
        fb.NetAddName(b, name)
        fb.NetAddParameter(b, stages)
        nets = self._vector([fb.NetEnd(b)])
        chip, version = b.CreateString(model.chip), b.CreateString("made")
        kind, time = b.CreateString("B"), b.CreateString("")  # the vendor's tools ask for them
        fb.ModelStart(b)
        fb.ModelAddType(b, kind)
        fb.ModelAddTime(b, time)
        fb.ModelAddChip(b, chip)
        fb.ModelAddVersion(b, version)
        fb.ModelAddNet(b, nets)
        b.Finish(fb.ModelEnd(b))
        return bytes(b.Output())

    def _groups(self) -> list[int]:
        b = self._builder
        made: list[int] = []
        start = 0
        for tiu, dma in self._model.groups:
            fb.CmdGroupStart(b)
            fb.CmdGroupAddBdcNum(b, tiu.count)
            fb.CmdGroupAddGdmaNum(b, dma.count)
            fb.CmdGroupAddBinaryBdc(b, fb.CreateBinSpan(b, start, len(tiu.data)))
            fb.CmdGroupAddBinaryGdma(b, fb.CreateBinSpan(b, start + len(tiu.data), len(dma.data)))
            made.append(fb.CmdGroupEnd(b))
            start += len(tiu.data) + len(dma.data)
        return made

    def _weights(self) -> int:
        b, model = self._builder, self._model
        address, data = model.weights
        before = [stream.data for group in model.groups for stream in group]
        start = sum(map(len, (*before, model.chip_to_chip, model.system_dma, model.hau)))
        fb.CoeffMemStart(b)
        fb.CoeffMemAddAddress(b, address)
        fb.CoeffMemAddBinaryCoeff(b, fb.CreateBinSpan(b, start, len(data)))
        return fb.CoeffMemEnd(b)

    def _core(self, groups: int) -> int:
        b, model = self._builder, self._model
        spans: list[int] = []
        start = sum(len(stream.data) for group in model.groups for stream in group)
        for data in (model.chip_to_chip, model.system_dma, model.hau):
            b.StartVector(16, 1 if data else 0, 8)
            if data:
                fb.CreateBinSpan(b, start, len(data))
            spans.append(b.EndVector())
            start += len(data)
        fb.CoreCommandsStart(b)
        fb.CoreCommandsAddGdmaTiuCommands(b, groups)
        fb.CoreCommandsAddCdmaCommands(b, spans[0])
        fb.CoreCommandsAddSdmaCommands(b, spans[1])
        fb.CoreCommandsAddHauCommands(b, spans[2])
        return fb.CoreCommandsEnd(b)

    def _tensor(self, tensor: Border) -> int:
        b = self._builder
        name = b.CreateString(tensor.name)
        b.StartVector(8, len(tensor.shape), 8)
        for extent in reversed(tensor.shape):
            b.PrependUint64(extent)
        dimensions = b.EndVector()
        fb.ShapeStart(b)
        fb.ShapeAddDim(b, dimensions)
        shapes = self._vector([fb.ShapeEnd(b)])
        fb.TensorStart(b)
        fb.TensorAddName(b, name)
        fb.TensorAddShape(b, shapes)
        fb.TensorAddDeviceAddr(b, tensor.address)
        fb.TensorAddSize(b, 4 * prod(tensor.shape))
        fb.TensorAddScale(b, 1.0)
        return fb.TensorEnd(b)

    def _vector(self, offsets: Sequence[int]) -> int:
        self._builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self._builder.PrependUOffsetTRelative(offset)
        return self._builder.EndVector()
