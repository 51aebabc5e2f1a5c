"""Location records from layer numbers, for compilers that write no tensor_location.json.

Commands carry the number of the layer that they are of; the compiler's table says which tensor that is, final.mlir
which op has that tensor as its result, and where its operands are: in local memory as the ``ginfo`` of the op that
makes them says, else in DDR at the address in their type.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.commands.commands import ENGINES, Columns
from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.source.element_types import element_type
from tdb_dap.engine.source.layer_table import Layer
from tdb_dap.engine.source.local_info import LocalInfo, scratch_of
from tdb_dap.engine.source.mapped_tensor import shape_of
from tdb_dap.engine.source.marks import Marks
from tdb_dap.engine.source.mlir_attributes import closing, integer, split_top
from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
from tdb_dap.engine.source.op_records import Records
from tdb_dap.engine.source.source_map import SourceMap
from tdb_dap.engine.source.tensor_location import LocationRecord
from tdb_dap.errors import BadInput
from tdb_dap.system.patterns import pattern

_HOST = ENGINES.index("cpu")
_ADDRESS = pattern(r", (\d+) : i64>$")
_MOVES = {"tpu.Load", "tpu.Store"}
_SILENT = {"tpu.Yield", "tpu.Group", "top.Weight", "top.None", "return", "func.return"}
"""Ops that have no commands of their own, though their location may be that of a tensor."""
_STORED = {"i8": "si8", "u8": "ui8", "i16": "si16", "u16": "ui16", "i32": "si32", "u32": "ui32"}
"""Formats in memory of quantised types, by their storage."""


class Slice(NamedTuple):
    """Number of a slice of a layer group along the batches and along the rows: the same for all ops of the group."""

    batches: int
    rows: int


class Segment(NamedTuple):
    """Commands of one layer: their ordinals, the index of their subnet, the layer's number."""

    ordinals: NDArray[np.int64]
    subnet: int
    layer: int


def segments_of(
    columns: Columns, layers: NDArray[np.int64], unnumbered: Mapping[int, Collection[int]] | None = None
) -> Iterator[Segment]:
    """The commands of each layer. ``layers``: of each command its number, 0 also for some that go on with a layer.

    ``unnumbered``: by subnet the layers whose commands have the number 0.
    """
    for subnet in distinct(columns.subnet):
        ordinals = np.flatnonzero(columns.subnet == subnet)
        if not ordinals.size:
            continue
        numbers = layers[ordinals]
        # A command with the number 0 after others is of the layer before it.
        last = np.maximum.accumulate(np.where(numbers > 0, np.arange(numbers.size), 0))
        hidden = sorted((unnumbered or {}).get(subnet, ()))
        numbers = _with_hidden(numbers, last, hidden) if hidden else numbers[last]
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), numbers.size], strict=True):
            yield Segment(ordinals[start:stop], subnet, int(numbers[start]))


def _with_hidden(numbers: NDArray[np.int64], last: NDArray[np.intp], hidden: Sequence[int]) -> NDArray[np.int64]:
    """Numbers of layers, with those of ``hidden`` layers for commands with the number 0 between their neighbours."""
    before = numbers[last]
    for start in np.flatnonzero((numbers == 0) & (before > 0) & (np.roll(numbers, 1) > 0)).tolist():
        later = np.flatnonzero(numbers[start:])
        stop = start + int(later[0]) if later.size else numbers.size
        following = int(numbers[stop]) if later.size else hidden[-1] + 1
        between = [number for number in hidden if before[start] < number < following]
        before[start:stop] = between[0] if between else before[start]
    return before


def map_layers(
    mlir: MlirFile | None,
    tables: Sequence[Mapping[int, Layer]],
    columns: Columns,
    layers: NDArray[np.int64],
    subnets: Sequence[tuple[int, Sequence[str]]],
    geometry: Geometry,
) -> SourceMap:
    """The map of a program; empty without final.mlir.

    ``tables``: see ``read_layers``; ``subnets``: of each its id and the names of its inputs.
    """
    streams = iter(tables)
    by_subnet = {
        index: {} if _HOST in columns.engine[columns.subnet == index] else next(streams, {})
        for index in range(len(subnets))
    }
    if mlir is None:
        return SourceMap.empty(None, columns.kind.size)
    owners = np.full(columns.kind.size, -1, np.int32)
    raw: list[LocationRecord] = []
    issued: Counter[tuple[int, int]] = Counter()
    functions = [_Function(mlir, f"subfunc_{subnet}", names) for subnet, names in subnets]
    unnumbered = {index: functions[index].unnumbered(table) for index, table in by_subnet.items()}
    for segment in segments_of(columns, layers, unnumbered):
        subnet, function = subnets[segment.subnet][0], functions[segment.subnet]
        is_host = columns.engine[segment.ordinals[0]] == _HOST
        layer = by_subnet[segment.subnet].get(segment.layer)
        op = function.host_op() if is_host else function.op_of(layer) if layer is not None else None
        before = tuple(issued[subnet, engine] for engine in (0, 1))
        for engine in columns.engine[segment.ordinals].tolist():
            issued[subnet, engine] += 1
        if op is None:
            continue
        owners[segment.ordinals] = len(raw)
        after = tuple(issued[subnet, engine] for engine in (0, 1))
        raw.append(function.record(op, subnet, layer, (before, after)))
    lines = np.array([record.line for record in raw], np.int64)
    return SourceMap(mlir, Records(raw, owners, geometry, Marks(mlir)), owners, lines)


class _Function:
    """One function of final.mlir. ``arguments``: names of its inputs."""

    def __init__(self, mlir: MlirFile, name: str, arguments: Sequence[str]) -> None:
        self._mlir = mlir
        self._name = name
        self._arguments = arguments

    def host_op(self) -> MlirOp | None:
        """The op of a function that the host carries out."""
        return next((op for op in self._ops() if op.name == "tpu.GenericCpu"), None)

    def _ops(self) -> Iterator[MlirOp]:
        return (op for op in self._mlir.ops.values() if op.function == self._name)

    def op_of(self, layer: Layer) -> MlirOp | None:
        """The op that a layer is: the one that its tensor is named after. A tensor that a group stores has two.

        One that a group loads twice has two as well; their addresses in local memory differ.
        """
        named = [op for op in self._mlir.by_location.get(layer.name, ()) if op.function == self._name]
        named = [op for op in named if op.name not in _SILENT]
        fitting = [op for op in named if (op.name in _MOVES) == layer.moves]
        there = [op for op in fitting if layer.address is not None and _address_of(op) == layer.address]
        return next(iter((*there, *fitting, *named)), None)

    def unnumbered(self, table: Mapping[int, Layer]) -> set[int]:
        """Numbers of the layers that the compiler writes no number for: transposed convolutions in a group."""
        ops = ((number, self.op_of(layer)) for number, layer in table.items() if not layer.moves)
        return {number for number, op in ops if op is not None and op.name == "tpu.Deconv" and _is_in_group(op)}

    def record(
        self, op: MlirOp, subnet: int, layer: Layer | None, issued: tuple[tuple[int, ...], tuple[int, ...]]
    ) -> LocationRecord:
        """The record of an op's instance."""
        part = _slice_of(op, layer)
        taken, given = _types(op)
        operands = [self._operand(op, value, text, part) for value, text in zip(op.operands, taken, strict=False)]
        result = _tensor(op, op.location, given[0], part) if given else {}
        (tiu_before, dma_before), (tiu_after, dma_after) = issued
        return LocationRecord(
            line=op.line,
            opcode=op.name,
            subnet_id=subnet,
            core_id=0,
            before=(tiu_before, dma_before),
            after=(tiu_after, dma_after),
            operands=_raw(operands),
            results=_raw([result]),
            buffers=_raw(scratch_of(op) if _is_in_group(op) else []),
            is_local=_is_in_group(op),
        )

    def _operand(self, op: MlirOp, value: str, text: str, part: Slice) -> dict[str, Any]:
        maker = self._mlir.op_visible_in(op.region, value)
        if maker is not None:
            return _tensor(maker, _name_of(maker, value), text, part)
        number = value.removeprefix("%arg")
        is_argument = number.isdecimal() and integer(number) < len(self._arguments)
        return _in_ddr(self._arguments[int(number)], text) if is_argument else {}


def _name_of(maker: MlirOp, value: str) -> str:
    """The name of one of several results, which a fused location has in their order."""
    index = maker.result_index(value)
    return maker.locations[index] if index < len(maker.locations) else maker.location


def _raw(entries: Sequence[object]) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(entries))


def _is_in_group(op: MlirOp) -> bool:
    return "ginfo" in op.attributes


def _is_local(op: MlirOp) -> bool:
    """Whether its result is in local memory."""
    return _is_in_group(op) and op.name != "tpu.Store"


def _address_of(op: MlirOp) -> object:
    """Address of the result of an op in local memory; None for one that is in no group."""
    return LocalInfo.of(op).get("out_addr") if _is_local(op) else None


def _types(op: MlirOp) -> tuple[list[str], list[str]]:
    """Types of the operands and of the results."""
    taken, _, given = op.types.partition(" -> ")
    results = given[1 : closing(given, 0)] if given.startswith("(") else given
    return split_top(taken[1 : closing(taken, 0)]), split_top(results)


def _slice_of(op: MlirOp, layer: Layer | None) -> Slice:
    """The slice of an op that a layer computes, loads or stores."""
    if layer is None or not _is_in_group(op):
        return Slice(0, 0)
    info = LocalInfo.of(op)
    batches, rows = (info.numbers.get(f"{axis}_idx") for axis in ("n", "h"))
    if not isinstance(batches, list) or not isinstance(rows, list) or not batches or not rows:
        return Slice(0, 0)
    if layer.first is not None and layer.first[0] in batches and layer.first[1] in rows:
        return Slice(batches.index(layer.first[0]), rows.index(layer.first[1]))
    return Slice(layer.turn // len(rows), layer.turn % len(rows))


def _tensor(op: MlirOp, name: str, text: str, part: Slice) -> dict[str, Any]:
    """Record of the result of an op; empty where its place is not known."""
    if not _is_local(op):
        return _in_ddr(name, text, "compressed" if op.attributes.get("do_compress") is True else "continuous")
    shape, dtype = _shape_and_format(text)
    if not dtype or len(shape) > 4:
        return {}
    info = LocalInfo.of(op)
    n, c, h, w = (*shape, 1, 1, 1, 1)[:4]
    batches, rows = _extent(info, "n", n, part.batches), _extent(info, "h", h, part.rows)
    extents = (batches[1] - batches[0], c, rows[1] - rows[0], w)
    slices = (f"{batches[0]}:{batches[1]}", f"0:{c}", "0:1", f"{rows[0]}:{rows[1]}", f"0:{w}")
    return {
        "name": name,
        "address": info.get("out_addr"),
        "layout": "eu_align" if info.numbers.get("eu_align") else "compact",
        "memory_type": f"<{_times(extents)}{dtype}>",
        "type": text,
        "reshape": f"<{_times((n, c, 1, h, w))}>",
        "shape": list(extents),
        "slice": f"[{', '.join(slices)}]",
    }


def _extent(info: LocalInfo, axis: str, size: int, number: int) -> tuple[int, int]:
    """The slice of that number, or the only one; all of the tensor if the op does not tell."""
    starts = info.numbers.get(f"{axis}_idx")
    if not isinstance(starts, list) or not starts:
        return 0, size
    start, stop = info.extent(axis, number if number < len(starts) else 0)
    return (start, stop) if stop <= size else (0, size)


def _in_ddr(name: str, text: str, layout: str = "continuous") -> dict[str, Any]:
    shape, dtype = _shape_and_format(text)
    address = _ADDRESS.search(text)
    if not dtype or address is None:
        return {}
    return {
        "name": name,
        "address": integer(address[1]),
        "layout": layout,
        "memory_type": f"<{_times(shape)}{dtype}>",
        "type": text,
        "reshape": f"<{_times(shape)}>",
        "shape": list(shape),
        "slice": "",
    }


def _shape_and_format(text: str) -> tuple[tuple[int, ...], str]:
    """Shape and format in memory of ``tensor<1x3x!quant.uniform<i8:f32, 0.1>, 64 : i64>``; none for another type."""
    if not text.startswith("tensor<"):
        return (), ""
    inside = text[7 : closing(text, 6)]
    dimensions = re.match(r"(?:\d+x)*", inside)
    assert dimensions is not None
    try:
        kind = element_type(text)
    except BadInput:
        return (), ""
    return shape_of(dimensions[0]), _STORED.get(kind.storage, kind.storage) if kind.is_quantised else kind.storage


def _times(shape: Sequence[int]) -> str:
    return "".join(f"{extent}x" for extent in shape)
