"""Which line of final.mlir a command belongs to, and the tensors of that line.

The compiler writes a record per emitted op instance (``tensor_location.json``): the line, the ranges of TIU and DMA
ids it emitted, and where its operands and results lie. An op cut into slices has one record per slice.
"""

from __future__ import annotations

import json
import lzma
import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.commands import ENGINES, Columns
from tdb_dap.engine.dtypes import BY_NAME
from tdb_dap.engine.geometry import Geometry, Space
from tdb_dap.engine.layouts import contiguous, strides_of
from tdb_dap.engine.mlir import MlirFile
from tdb_dap.engine.views import Layout, View
from tdb_dap.errors import BadInput

_UNIFORM = re.compile(r"!quant\.uniform<[^:]*:f\d+, ([-+.\deE]+)(?::(-?\d+))?>")
_REARRANGED = re.compile(r"use_3ic_optimize = [1-9]")
_SLICE = re.compile(r"(\d+):(\d+)")
_LOCAL_LAYOUTS = {"eu_align": Layout.ALIGN_EU, "compact": Layout.COMPACT}


def shape_of(text: str) -> tuple[int, ...]:
    """Dimensions of ``<1x16x32x32xf32>`` or ``<1x16x1x32x32>``."""
    parts = text.strip("<>").split("x")
    return tuple(int(part) for part in parts if part.isdigit())


class NamedValue:
    """A tensor that the source map names. ``scale`` and ``zero_point`` turn stored integers into numbers.

    ``rearranged``: the load spread the channels of the image for the convolution that follows, so that the bytes are
    not those of the layout that the record names.
    """

    def __init__(self, record: Mapping[str, Any], geometry: Geometry, core: int, rearranged: bool = False) -> None:
        self.rearranged = rearranged
        self._geometry = geometry
        self.core = core
        try:
            self.name: str = record["name"]
            self.layout: str = record["layout"]
            self.memory_type: str = record["memory_type"]
            self.type_text: str = record["type"]
            self.address = int(record["address"])
            self.reshape: tuple[int, ...] = shape_of(record["reshape"])
            self.slice_text: str = record["slice"]
        except (KeyError, TypeError, ValueError) as trouble:
            raise BadInput(f"tensor_location.json: a value has no usable {trouble}; compile the model again") from None
        # Compilers before 1.15 do not write the shape; it is that of the memory type.
        self.shape: tuple[int, ...] = tuple(record.get("shape") or shape_of(self.memory_type))

    @cached_property
    def _quantisation(self) -> tuple[float, int]:
        found = _UNIFORM.search(self.type_text)
        return (float(found.group(1)), int(found.group(2) or 0)) if found else (1.0, 0)

    @property
    def scale(self) -> float:
        return self._quantisation[0]

    @property
    def zero_point(self) -> int:
        return self._quantisation[1]

    @property
    def slices(self) -> tuple[slice, ...] | None:
        """The part of the whole tensor that this value is; None for all of it."""
        found = [slice(int(a), int(b)) for a, b in _SLICE.findall(self.slice_text)]
        return tuple(found) or None

    @property
    def is_3d_group(self) -> bool:
        """Depth is folded into the batch, (n, c, d, h, w) stored as (d*n, c, h, w)."""
        return self.layout.endswith("group3d")

    @cached_property
    def view(self) -> View | None:
        """Where it lies; None for a layout that is not known."""
        dtype = BY_NAME.get(self.memory_type.strip("<>").split("x")[-1])
        if dtype is None:
            return None
        shape = shape_of(self.memory_type)
        address = self.address
        plain = self.layout.removesuffix("_group3d")
        local = _LOCAL_LAYOUTS.get(plain)
        if local is not None:
            n, c, h, w = (*shape, 1, 1, 1, 1)[:4] if len(shape) <= 4 else shape[:4]
            strides = strides_of(self._geometry, local, address, (n, c, h, w), dtype)
            space, offset = self._geometry.locate_tiu(address)
            return View(space, offset, (n, c, h, w), dtype, local, strides, self._geometry, core=self.core)
        if plain != "continuous":
            return None
        space, offset = self._geometry.locate(address)
        return View(space, offset, shape, dtype, Layout.CONTIGUOUS, self._dense(shape), self._geometry, core=self.core)

    def _dense(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A slice of a tensor in DDR has the strides of the whole tensor (n, c, d, h, w)."""
        if len(self.reshape) != 5 or len(shape) != 4:
            return contiguous(shape)
        _, c, d, h, w = self.reshape
        return (h * w, d * h * w, w, 1) if self.is_3d_group else (c * d * h * w, d * h * w, w, 1)

    def expected(self, whole: NDArray[Any]) -> NDArray[Any]:
        """The part of reference data for the whole tensor that this value should hold; ValueError if it cannot fit."""
        part = whole.reshape(self.reshape) if self.reshape else whole
        if self.slices is not None:
            part = part[self.slices]
        return part.transpose(2, 0, 1, 3, 4) if self.is_3d_group else part


@dataclass(frozen=True)
class OpRecord:
    """One emitted instance of an op. ``ordinals``: the commands it owns, ascending (they need not be adjacent)."""

    index: int
    line: int
    opcode: str
    subnet: int
    core: int
    is_local: bool
    ordinals: tuple[int, ...]
    raw: Mapping[str, Any]
    geometry: Geometry
    rearranged: frozenset[str] = frozenset()

    @property
    def first(self) -> int:
        return self.ordinals[0]

    @property
    def last(self) -> int:
        return self.ordinals[-1]

    def _values(self, key: str) -> tuple[NamedValue, ...]:
        return tuple(
            NamedValue(value, self.geometry, self.core, value["name"] in self.rearranged)
            for value in self.raw[key]
            if value
        )

    @cached_property
    def operands(self) -> tuple[NamedValue, ...]:
        return self._values("operands")

    @cached_property
    def results(self) -> tuple[NamedValue, ...]:
        return self._values("results")

    @cached_property
    def buffers(self) -> tuple[View, ...]:
        """Scratch space of the op: bytes per lane."""
        found: list[View] = []
        for buffer in self.raw.get("buffers") or ():
            space, offset = self.geometry.locate_tiu(int(buffer["address"]))
            if space is Space.LOCAL and int(buffer["size"]):
                shape = (1, self.geometry.lanes, 1, int(buffer["size"]))
                strides = (0, 0, shape[3], 1)
                found.append(
                    View(space, offset, shape, BY_NAME["ui8"], Layout.STRIDE, strides, self.geometry, core=self.core)
                )
        return tuple(found)

    @cached_property
    def slice_text(self) -> str:
        """Which part of its results this instance computes: ``h[0:16]``; empty if all of them."""
        for result in self.results:
            if result.slices and result.reshape:
                parts = [
                    f"{axis}[{part.start}:{part.stop}]"
                    for axis, part, extent in zip("ncdhw", result.slices, result.reshape, strict=False)
                    if (part.start, part.stop) != (0, extent)
                ]
                return " ".join(parts)
        return ""


class SourceMap:
    """Commands, records and lines of one program."""

    def __init__(
        self, mlir: MlirFile | None, records: Sequence[OpRecord], owners: NDArray[np.int32], lines: NDArray[np.int64]
    ) -> None:
        self.mlir = mlir
        self.records = records
        self._owners = owners
        self._lines = lines

    @classmethod
    def empty(cls, mlir: MlirFile | None, count: int) -> SourceMap:
        """Without records no command has a line."""
        return cls(mlir, (), np.full(count, -1, np.int32), np.zeros(0, np.int64))

    @classmethod
    def build(
        cls,
        mlir: MlirFile | None,
        path: Path,
        columns: Columns,
        subnet_ids: Sequence[int],
        geometry: Geometry,
    ) -> SourceMap:
        """Read ``tensor_location.json``; BadInput if it is damaged or of another model."""
        raw = _read_records(path)
        _check_against(mlir, raw, path)
        owners = _owners(raw, columns, subnet_ids, path)
        order = np.argsort(owners, kind="stable")
        bounds = np.searchsorted(owners[order], np.arange(len(raw) + 1))
        records = _Records(raw, order, bounds, geometry, _rearranged(mlir))
        lines = np.array([record["file-line"] for record in raw], np.int64)
        return cls(mlir, records, owners, lines)

    def records_of(self, ordinal: int) -> tuple[OpRecord, ...]:
        """The op instance that owns a command; empty for system commands and unmapped ones."""
        if not 0 <= ordinal < self._owners.size or self._owners[ordinal] < 0:
            return ()
        return (self.records[int(self._owners[ordinal])],)

    def lines_of(self, ordinal: int) -> tuple[int, ...]:
        """Lines of final.mlir that own a command."""
        if not 0 <= ordinal < self._owners.size or self._owners[ordinal] < 0:
            return ()
        return (int(self._lines[self._owners[ordinal]]),)

    @cached_property
    def _by_line(self) -> dict[int, tuple[int, ...]]:
        found: dict[int, list[int]] = {}
        for index in np.unique(self._owners[self._owners >= 0]).tolist():
            found.setdefault(int(self._lines[index]), []).append(index)
        return {line: tuple(indices) for line, indices in found.items()}

    def records_at(self, line: int) -> tuple[OpRecord, ...]:
        """Instances of the op on a line that own commands: several if it is cut into slices or cores."""
        return tuple(self.records[index] for index in self._by_line.get(line, ()))

    @cached_property
    def lines_with_commands(self) -> tuple[int, ...]:
        """Lines that own commands, ascending."""
        return tuple(sorted(self._by_line))

    def next_line_with_commands(self, line: int) -> int | None:
        """The first line from ``line`` on that owns commands."""
        position = bisect_left(self.lines_with_commands, line)
        return self.lines_with_commands[position] if position < len(self.lines_with_commands) else None


class _Records(Sequence[OpRecord]):
    """Records made when asked for."""

    def __init__(
        self,
        raw: list[dict[str, Any]],
        order: NDArray[np.int64],
        bounds: NDArray[np.int64],
        geometry: Geometry,
        rearranged: frozenset[str],
    ) -> None:
        self._rearranged = rearranged
        self._raw = raw
        self._order = order
        self._bounds = bounds
        self._geometry = geometry
        self._made: dict[int, OpRecord] = {}

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
                line=raw["file-line"],
                opcode=raw["opcode"],
                subnet=raw["subnet_id"],
                core=raw["core_id"],
                is_local=bool(raw.get("is_local")),
                ordinals=tuple(owned.tolist()),
                raw=raw,
                geometry=self._geometry,
                rearranged=self._rearranged,
            )
        return made


def _rearranged(mlir: MlirFile | None) -> frozenset[str]:
    """Names of loads that spread channels (``use_3ic_optimize``)."""
    if mlir is None:
        return frozenset()
    marked = (mlir.op_at(number) for number, line in enumerate(mlir.lines, 1) if _REARRANGED.search(line))
    # The convolution behind the load carries the mark, too, but its result is plain.
    return frozenset(name for op in marked if op and op.name == "tpu.Load" for name in op.locations)


_KEYS: dict[str, Callable[[Any], bool]] = {
    "file-line": lambda v: isinstance(v, int),
    "opcode": lambda v: isinstance(v, str),
    "subnet_id": lambda v: isinstance(v, int),
    "core_id": lambda v: isinstance(v, int),
    "tiu_dma_id(before)": lambda v: _is_pair(v),
    "tiu_dma_id(after)": lambda v: _is_pair(v),
    "operands": lambda v: isinstance(v, list),
    "results": lambda v: isinstance(v, list),
}


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(isinstance(v, int) for v in value)


def _read_records(path: Path) -> list[dict[str, Any]]:
    try:
        data = path.read_bytes()
        raw = json.loads(lzma.decompress(data) if path.suffix == ".xz" else data)
    except (OSError, lzma.LZMAError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: not valid JSON ({error}); compile the model again with --debug") from None
    if not isinstance(raw, list):
        raise BadInput(f"{path}: not a tensor_location.json: a list of records is expected")
    for index, record in enumerate(raw):
        for key, is_good in _KEYS.items():
            if not isinstance(record, dict) or key not in record or not is_good(record[key]):
                raise BadInput(f"{path}: record {index} has no usable {key!r}; compile the model again with --debug")
    return raw


def _check_against(mlir: MlirFile | None, raw: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Every record names an op; it has to be the one on its line."""
    if mlir is None:
        return
    for index, record in enumerate(raw):
        op = mlir.op_at(record["file-line"])
        if op is None or op.name != record["opcode"]:
            found = f"holds {op.name}" if op else "holds no operation"
            raise BadInput(
                f"{path}: belongs to another model: record {index} is {record['opcode']} at line "
                f"{record['file-line']}, but that line of {mlir.path.name} {found}; use the files of one compilation"
            )


def _owners(
    raw: Sequence[Mapping[str, Any]], columns: Columns, subnet_ids: Sequence[int], path: Path
) -> NDArray[np.int32]:
    """Index of the record that owns each command, or -1.

    A record owns the ids before+1 .. after of each engine; ids count the commands of one engine, core and subnet.
    """
    owners = np.full(columns.kind.size, -1, np.int32)
    streams: dict[tuple[int, int, int], NDArray[np.int64]] = {}
    for index, record in enumerate(raw):
        for position, engine in enumerate((ENGINES.index("tiu"), ENGINES.index("dma"))):
            first = record["tiu_dma_id(before)"][position]
            last = record["tiu_dma_id(after)"][position]
            if last <= first:
                continue
            key = (record["subnet_id"], record["core_id"], engine)
            if key not in streams:
                streams[key] = _stream(columns, subnet_ids, *key)
            stream = streams[key]
            if first < 0 or last > stream.size:
                raise BadInput(
                    f"{path}: belongs to another model: record {index} ({record['opcode']}) ends at "
                    f"{ENGINES[engine].upper()} command {last:,} of subnet {key[0]}, core {key[1]}, "
                    f"which has {stream.size:,}; use the files of one compilation"
                )
            owners[stream[first:last]] = index
    return owners


def _stream(columns: Columns, subnet_ids: Sequence[int], subnet: int, core: int, engine: int) -> NDArray[np.int64]:
    """Ordinals of one engine's commands in stream order."""
    indices = [i for i, identity in enumerate(subnet_ids) if identity == subnet]
    if not indices:
        return np.zeros(0, np.int64)
    chosen = (columns.subnet == indices[0]) & (columns.core == core) & (columns.engine == engine)
    return np.flatnonzero(chosen)
