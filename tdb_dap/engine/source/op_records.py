"""Records of emitted op instances (``tensor_location.json``): checking, and the commands they own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.commands.commands import ENGINES, Columns
from tdb_dap.engine.hardware.dtypes import BY_NAME
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.engine.source.local_info import scratch_of
from tdb_dap.engine.source.mapped_tensor import MappedTensor
from tdb_dap.engine.source.marks import NO_MARKS, Marks
from tdb_dap.engine.source.mlir_file import MlirFile
from tdb_dap.engine.source.tensor_location import LocationRecord
from tdb_dap.errors import BadInput


class _Tensors:
    """The tensors of a file's records: those that several of them describe in the same words are made once."""

    def __init__(self, geometry: Geometry, marks: Marks) -> None:
        self._geometry = geometry
        self._marks = marks
        self._made: dict[tuple[int, bytes], MappedTensor | None] = {}

    def of(self, record: LocationRecord, key: str) -> tuple[MappedTensor, ...]:
        """Operands or results of a record; BadInput where one of them is not usable."""
        each = (self._tensor(record, key, text) for text in record.texts_of(key))
        return tuple(tensor for tensor in each if tensor is not None)

    def _tensor(self, record: LocationRecord, key: str, text: bytes) -> MappedTensor | None:
        """None for an empty entry, which stands for a result that nobody uses."""
        place = record.core_id, text
        if place not in self._made:
            entry = record.decoded(key, text)
            self._made[place] = MappedTensor(entry, self._geometry, record.core_id, self._marks) if entry else None
        return self._made[place]


class OpRecord(Struct, frozen=True, dict=True):
    """One emitted instance of an op. ``ordinals``: the commands it owns, ascending (they need not be adjacent)."""

    index: int
    line: int
    opcode: str
    subnet: int
    core: int
    is_local: bool
    ordinals: tuple[int, ...]
    raw: LocationRecord
    geometry: Geometry
    marks: Marks
    tensors: _Tensors

    @property
    def is_certain(self) -> bool:
        """Whether its commands are known to be its own; in recordings something may contradict that."""
        return self.raw.is_certain

    @property
    def first(self) -> int:
        return self.ordinals[0]

    @property
    def last(self) -> int:
        return self.ordinals[-1]

    @cached_property
    def operands(self) -> tuple[MappedTensor, ...]:
        values, shift = self.tensors.of(self.raw, "operands"), self.marks.shifts.get(self.line)
        return values if shift is None else tuple(value.shifted(shift) for value in values)

    @cached_property
    def results(self) -> tuple[MappedTensor, ...]:
        values = self.tensors.of(self.raw, "results")
        return values if self.line not in self.marks.padded else tuple(value.widened() for value in values)

    def result(self, index: int) -> MappedTensor | None:
        """Result ``index`` of the op; the compiler's record has an empty entry for one that nobody uses."""
        entries = self.raw.list_of("results")
        if not 0 <= index < len(entries) or not entries[index]:
            return None
        return self.results[sum(1 for entry in entries[:index] if entry)]

    @cached_property
    def buffers(self) -> tuple[View, ...]:
        """Scratch space of the op: bytes per lane."""
        views: list[View] = []
        for buffer in self.raw.list_of("buffers"):
            address, size = _place_of(buffer)
            space, offset = self.geometry.locate_tiu(address)
            if space is Space.LOCAL and size:
                shape = (1, self.geometry.lanes, 1, size)
                strides = (0, 0, shape[3], 1)
                views.append(
                    View(space, offset, shape, BY_NAME["ui8"], Layout.STRIDE, strides, self.geometry, core=self.core)
                )
        return tuple(views)

    @cached_property
    def slice_text(self) -> str:
        """Part of its results that this instance computes: ``h[0:16]``; empty if all of them."""
        for result in self.results:
            if result.slices and result.reshape:
                parts = [
                    f"{axis}[{part.start}:{part.stop}]"
                    for axis, part, extent in zip("ncdhw", result.slices, result.reshape, strict=False)
                    if (part.start, part.stop) != (0, extent)
                ]
                return " ".join(parts)
        return ""


def is_doubtful(record: OpRecord, value: MappedTensor) -> bool:
    """Whether an operand or result may be something else than the record says.

    Firmware may cut tensors in places of its own, or give commands that no op is known to need. Outside of local memory
    tensors are whole, and where the record says.
    """
    return not record.is_certain and value.view is not None and value.view.space is Space.LOCAL


def name_of(record: OpRecord) -> str:
    """Name of the first result of an op instance; empty if it has none."""
    return record.results[0].name if record.results else ""


def _place_of(buffer: Any) -> tuple[int, int]:
    """Address and size of scratch space."""
    if isinstance(buffer, dict) and all(isinstance(buffer.get(key), int) for key in ("address", "size")):
        return buffer["address"], buffer["size"]
    raise BadInput("tensor_location.json: a buffer has no usable address or size; compile the model again with --debug")


class Records(Sequence[OpRecord]):
    """Records made when asked for. ``owners``: per command the record that owns it, or -1."""

    def __init__(
        self, raw: list[LocationRecord], owners: NDArray[np.int32], geometry: Geometry, marks: Marks = NO_MARKS
    ) -> None:
        self._marks = marks
        self._raw = raw
        self._order = np.argsort(owners, kind="stable")
        self._bounds = np.searchsorted(owners[self._order], np.arange(len(raw) + 1))
        self._geometry = geometry
        self._tensors = _Tensors(geometry, marks)
        self._made: dict[int, OpRecord] = {}

    def owned(self, owners: NDArray[np.int32]) -> Records:
        """The same records with other owners."""
        return Records(self._raw, owners, self._geometry, self._marks)

    def __len__(self) -> int:
        return len(self._raw)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"there is no record {index}")
        made = self._made.get(index)
        if made is None:
            raw = self._raw[index]
            owned = self._order[self._bounds[index] : self._bounds[index + 1]]
            made = self._made[index] = OpRecord(
                index=index,
                line=raw.line,
                opcode=raw.opcode,
                subnet=raw.subnet_id,
                core=raw.core_id,
                is_local=raw.is_local is True,
                ordinals=tuple(owned.tolist()),
                raw=raw,
                geometry=self._geometry,
                marks=self._marks,
                tensors=self._tensors,
            )
        return made


def check_against(mlir: MlirFile | None, raw: Sequence[LocationRecord], path: Path) -> None:
    """Every record names an op; it has to be the one on its line."""
    if mlir is None:
        return
    for index, record in enumerate(raw):
        op = mlir.op_at(record.line)
        if op is None or op.name != record.opcode:
            present = f"holds {op.name}" if op else "holds no operation"
            raise BadInput(
                f"{path}: belongs to another model: record {index} is {record.opcode} at line "
                f"{record.line}, but that line of {mlir.path.name} {present}; use the files of one compilation"
            )


def complete(mlir: MlirFile | None, raw: Sequence[LocationRecord]) -> None:
    """Set ``is_local`` and ``buffers`` of the records of older releases, which have neither: the text says both."""
    if mlir is None:
        return
    for record in raw:
        op = mlir.op_at(record.line) if record.is_local is None else None
        if op is not None:
            group = mlir.op_at(op.group_line) if op.group_line is not None else None
            record.is_local = group is not None and group.name == "tpu.Group"
            record.buffers = msgspec.Raw(msgspec.json.encode(scratch_of(op) if record.is_local else []))


def owners_of(
    raw: Sequence[LocationRecord], columns: Columns, subnet_ids: Sequence[int], path: Path
) -> NDArray[np.int32]:
    """Index of the record that owns each command, or -1.

    A record owns the ids before+1 .. after of each engine; ids count the commands of one engine, core and subnet.
    """
    owners = np.full(columns.kind.size, -1, np.int32)
    streams: dict[tuple[int, int, int], NDArray[np.int64]] = {}
    for index, record in enumerate(raw):
        for position, engine in enumerate((ENGINES.index("tiu"), ENGINES.index("dma"))):
            first, last = record.before[position], record.after[position]
            if last <= first:
                continue
            key = (record.subnet_id, record.core_id, engine)
            if key not in streams:
                streams[key] = stream_of(columns, subnet_ids, *key)
            stream = streams[key]
            if first < 0 or last > stream.size:
                raise BadInput(
                    f"{path}: belongs to another model: record {index} ({record.opcode}) ends at "
                    f"{ENGINES[engine].upper()} command {last:,} of subnet {key[0]}, core {key[1]}, "
                    f"which has {stream.size:,}; use the files of one compilation"
                )
            owners[stream[first:last]] = index
    return owners


def stream_of(columns: Columns, subnet_ids: Sequence[int], subnet: int, core: int, engine: int) -> NDArray[np.int64]:
    """Ordinals of one engine's commands in stream order."""
    indices = [i for i, identity in enumerate(subnet_ids) if identity == subnet]
    if not indices:
        return np.zeros(0, np.int64)
    chosen = (columns.subnet == indices[0]) & (columns.core == core) & (columns.engine == engine)
    return np.flatnonzero(chosen)
