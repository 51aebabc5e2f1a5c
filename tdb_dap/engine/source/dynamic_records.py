"""Records of the ops of a recorded dynamic subnet, as the compiler writes them for static ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from tdb_dap.engine.source.dynamic_mapping import MOVES, TENSOR, MappedOp, element_of, extents_of, types_of
from tdb_dap.engine.source.local_info import LocalInfo, scratch_of
from tdb_dap.engine.source.mlir_attributes import integer
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.engine.source.tensor_location import LocationRecord

_ON_PROCESSOR = ("tpu.Shape", "tpu.Device2Host")
"""Beginnings of the names of ops whose results the chip's processor keeps, whatever address they were given."""
_NONE = "none"


class Relocation(Struct, frozen=True):
    """A move of what the compiler placed: [start, stop) of its addresses, and what to add for those of the run.

    ``name``: the one tensor that it is about, where others may have been placed there before or after; empty: all.
    """

    start: int
    stop: int
    offset: int
    name: str = ""


class Argument(Struct, frozen=True):
    """An argument of a function in a run, or a value in it, with its shape; ``name``: empty for values."""

    name: str
    shape: tuple[int, ...]


def records_of(mapped: Sequence[MappedOp], arguments: Sequence[Argument]) -> list[LocationRecord]:
    """The instances as records of the compiler, with the compiler's addresses and the shapes of the run."""
    known: Known = {(None, f"%arg{index}"): argument for index, argument in enumerate(arguments)}
    records: list[LocationRecord] = []
    for instance in mapped:
        records.append(_record_of(instance, known))
        op, shape = instance.op, instance.shape
        if op.name in MOVES and op.operands and (here := known.get(_scoped(op, op.operands[0]))) is not None:
            shape = here.shape
        if shape is not None and op.results:
            known[op.group_line, op.results[0]] = Argument("", shape)
            known.update(((None, name), Argument("", shape)) for name in _yielded(op))
    return records


Known = dict[tuple["int | None", str], Argument]
"""Values with their shapes in a run, by the line of the group that makes them: each group counts from anew."""


def _scoped(op: MlirOp, value: str) -> tuple[int | None, str]:
    """The key of an operand."""
    maker = op.file.op_defining(value, op.line)
    return (maker.group_line if maker is not None else None), value


def _yielded(op: MlirOp) -> Iterator[str]:
    """The results of the group around an op that its result becomes."""
    group = op.file.op_at(op.group_line) if op.group_line is not None else None
    if group is None or not group.results:
        return
    last = next((o for o in op.file.ops.values() if o.group_line == group.line and o.name == "tpu.Yield"), None)
    for index, value in enumerate(last.operands if last is not None else ()):
        if value == op.results[0]:
            yield f"{group.results[0]}#{index}" if group.result_count > 1 else group.results[0]


def _record_of(instance: MappedOp, known: Known) -> LocationRecord:
    op = instance.op
    operands = [_value(op, value, position, instance, False, known) for position, value in enumerate(op.operands)]
    results = [_value(op, value, position, instance, True, known) for position, value in enumerate(_result_ids(op))]
    return LocationRecord(
        line=op.line,
        opcode=op.name,
        subnet_id=0,
        core_id=0,
        before=(0, 0),
        after=(0, 0),
        operands=msgspec.Raw(msgspec.json.encode(operands)),
        results=msgspec.Raw(msgspec.json.encode(results)),
        buffers=msgspec.Raw(msgspec.json.encode(scratch_of(op))),
        is_local=op.group_line is not None,
        is_certain=instance.is_certain,
    )


def relocated(record: LocationRecord, subnet: int, relocations: Sequence[Relocation]) -> LocationRecord:
    """A record with the addresses of a run, in a subnet of that number."""

    def placed(key: str) -> msgspec.Raw:
        entries = [
            {**entry, "address": moved(entry["address"], relocations, entry["name"])}
            if entry.get("layout") in _DENSE
            else entry
            for entry in record.list_of(key)
        ]
        return msgspec.Raw(msgspec.json.encode(entries))

    if not relocations:
        return msgspec.structs.replace(record, subnet_id=subnet)
    return msgspec.structs.replace(record, subnet_id=subnet, operands=placed("operands"), results=placed("results"))


_DENSE = ("continuous", "continuous_xn", "continuous_group3d")
"""Layouts of tensors outside of local memory."""


def _result_ids(op: MlirOp) -> list[str]:
    if op.result_count == 1:
        return list(op.results)
    name = op.results[0] if op.results else ""
    return [f"{name}#{index}" for index in range(op.result_count)]


def _value(op: MlirOp, value: str, position: int, instance: MappedOp, is_result: bool, known: Known) -> dict[str, Any]:
    """An operand or result as the compiler's record has it; empty for ``none`` and what is not understood."""
    operand_types, _, result_types = op.types.partition(" -> ")
    types = types_of(result_types if is_result else operand_types)
    text = types[position] if position < len(types) else _NONE
    match = TENSOR.match(text.strip())
    if match is None:
        return {}
    shape = extents_of(match[1])
    element = element_of(match[1])
    maker = op if is_result else op.file.op_defining(value, op.line)
    name = _name(op, value, maker, is_result, position)
    is_moved_out = op.name == "tpu.Store" and is_result
    local = maker is not None and maker.group_line is not None and maker.group_line == op.group_line
    if local and maker is not None and not is_moved_out and maker.attributes.get("ginfo"):
        known_shape = instance.shape if is_result and position == 0 else None
        is_moved = is_result and op.name in MOVES and op.operands
        here = known.get(_scoped(op, op.operands[0]) if is_moved else (maker.group_line, value))
        run = known_shape or (here.shape if here is not None else None)
        return _local(maker, instance.slice_index, name, text, run or shape, element, run is not None)
    if match[2] is None or (maker is not None and maker.name.startswith(_ON_PROCESSOR)):
        return {}
    there = known.get(_scoped(op, value)) if not is_result else None
    if there is not None and there.name:
        name = there.name
    if is_moved_out:
        there = known.get(_scoped(op, op.operands[0]))
    run_shape = list(there.shape) if there is not None and there.shape else shape
    if is_result and instance.shape and position == 0 and not is_moved_out:
        run_shape = list(instance.shape)
    return {
        "address": integer(match[2]),
        "layout": "continuous",
        "memory_type": f"<{'x'.join(map(str, run_shape))}x{element}>" if run_shape else f"<1x{element}>",
        "name": name,
        "reshape": f"<{'x'.join(map(str, run_shape or [1]))}>",
        "shape": run_shape or [1],
        "slice": f"[{', '.join(f'0:{extent}' for extent in (run_shape or [1]))}]",
        "type": text,
    }


def _local(
    maker: MlirOp, slice_index: int, name: str, text: str, shape: Sequence[int], element: str, is_of_run: bool
) -> dict[str, Any]:
    """A tensor in local memory. Of one that is not cut into slices the shape of the run counts, if it is known."""
    info = LocalInfo.of(maker)
    parts = [info.extent(axis, slice_index) for axis in "ncdhw"]
    if is_of_run and info.is_whole:
        parts = [(0, extent) for extent in _five(shape)]
    n, c, d, h, w = (stop - start for start, stop in parts)
    sizes = [n * d, c, h, w]
    return {
        "address": info.get("out_addr"),
        "layout": "eu_align" if info.get("eu_align") else "compact",
        "memory_type": f"<{'x'.join(map(str, sizes))}x{element}>",
        "name": name,
        "reshape": f"<{'x'.join(map(str, _five(shape)))}>",
        "shape": sizes,
        "slice": f"[{', '.join(f'{start}:{stop}' for start, stop in parts)}]",
        "type": text,
    }


def _five(shape: Sequence[int]) -> list[int]:
    """(n, c, d, h, w) of a shape, as the compiler counts in groups."""
    padded = [*shape, *[1] * (4 - len(shape))]
    return [padded[0], padded[1], 1, padded[2], padded[3]] if len(padded) == 4 else list(padded[:5])


def _name(op: MlirOp, value: str, maker: MlirOp | None, is_result: bool, position: int) -> str:
    if maker is None:
        return value
    names = maker.locations
    index = position if is_result else maker.result_index(value)
    return names[index] if index < len(names) else names[0] if names else value


def moved(address: int, relocations: Sequence[Relocation], name: str) -> int:
    """The address of the run for one of the compiler's, of the tensor of that name."""
    fitting = (r.offset for r in relocations if r.start <= address < r.stop and r.name in ("", name))
    return address + next(fitting, 0)
