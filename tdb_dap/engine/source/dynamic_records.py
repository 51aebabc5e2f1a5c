"""The ops of a recorded dynamic subnet and their commands: records as the compiler writes them for static ones.

The firmware makes a dynamic subnet's commands op by op, in the order of the subnet's function, and says where it is: it
begins and ends groups (each is an op of the function, or a ``tpu.Group``), and at the end of each op it stores the
shape of its result. Inside of a ``tpu.Group`` the ops follow the attribute ``flow``, once for each slice, those of a
later pipeline stage a slice behind. Loads and stores are recognised by the local addresses that the compiler gave them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.source.local_info import LocalInfo, scratch_of
from tdb_dap.engine.source.mlir_attributes import integer, split_top
from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
from tdb_dap.engine.source.tensor_location import LocationRecord
from tdb_dap.errors import NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command

GROUP_BEGIN = "dynamic_context_group_begin"
GROUP_END = "dynamic_context_group_end"
LOCAL_RESULT = "dynamic_context_local_set_output_info"
GLOBAL_RESULT = "dynamic_context_global_set_output_info"

_WITHOUT_GROUP = ("top.", "func.", "tpu.Buffer", "return", "call")
_MOVES = ("tpu.Load", "tpu.Store")
_ON_PROCESSOR = ("tpu.Shape", "tpu.Device2Host")
"""Beginnings of the names of ops whose results the chip's processor keeps, whatever address they were given."""
_TYPE = re.compile(r"tensor<(.*?)(?:, (\d+) : i64)?>$")
"""Shape and element, and the address. An element may be a type with angle brackets and commas of its own."""
_NONE = "none"


class Boundary(Struct, frozen=True):
    """A call of the firmware: its name, its number among all calls, and the shape of a result where it is known."""

    name: str
    number: int
    shape: tuple[int, ...] | None = None


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


class MappedOp(Struct):
    """An instance of an op with its commands. ``is_certain``: nothing contradicts the mapping."""

    op: MlirOp
    ordinals: list[int]
    slice_index: int = 0
    shape: tuple[int, ...] | None = None
    is_certain: bool = True


class _Group(Struct):
    """The commands between two boundaries that begin and end a group; ``parts``: cut at the ends of ops."""

    parts: list[tuple[list[int], Boundary | None]] = field(default_factory=list)


def map_commands(
    mlir: MlirFile,
    function: str,
    commands: Sequence[Command],
    boundaries: Sequence[Boundary],
    queued: Mapping[int, int],
) -> list[MappedOp]:
    """The instances of a dynamic function's ops with their commands, in the order of execution.

    ``queued``: by ordinal the number of the last call before the firmware queued a command; the engines execute it
    later. Commands outside of all groups belong to no op.
    """
    groups = _groups(sorted(queued, key=lambda ordinal: (queued[ordinal], ordinal)), queued, boundaries)
    body = mlir.function_named(function)
    ops = [
        op
        for op in mlir.ops.values()
        if body is not None
        and body.line < op.line < body.end_line
        and op.region is not None
        and op.region.owner is None
        and not op.name.startswith(_WITHOUT_GROUP)
    ]
    fits = len(ops) == len(groups)
    by_ordinal = {command.ordinal: command for command in commands}
    mapped: list[MappedOp] = []
    for op, group in zip(ops, groups, strict=False):
        if op.bodies:
            mapped += _in_group(op, group, by_ordinal)
        else:
            ordinals = [ordinal for part, _ in group.parts for ordinal in part]
            shape = next((end.shape for _, end in reversed(group.parts) if end is not None), None)
            mapped.append(MappedOp(op, ordinals, shape=shape))
    if not fits:
        for entry in mapped:
            entry.is_certain = False
    return mapped


def _groups(ordinals: Sequence[int], queued: Mapping[int, int], boundaries: Sequence[Boundary]) -> list[_Group]:
    groups: list[_Group] = []
    current: _Group | None = None
    open_: list[int] = []
    position = 0
    for boundary in boundaries:
        while position < len(ordinals) and queued[ordinals[position]] < boundary.number:
            if current is not None:
                open_.append(ordinals[position])
            position += 1
        if boundary.name == GROUP_BEGIN:
            current = _Group()
            groups.append(current)
            open_ = []
        elif current is not None and boundary.name in (LOCAL_RESULT, GLOBAL_RESULT):
            current.parts.append((open_, boundary))
            open_ = []
        elif current is not None and boundary.name == GROUP_END:
            if open_:
                current.parts.append((open_, None))
            current, open_ = None, []
    return groups


def _in_group(group_op: MlirOp, group: _Group, commands: Mapping[int, Command]) -> Iterator[MappedOp]:
    """Instances of the ops of a ``tpu.Group``."""
    members = [
        op
        for op in group_op.file.ops.values()
        if op.group_line == group_op.line and op.name.startswith("tpu.") and op.name != "tpu.Yield"
    ]
    infos = {op.line: LocalInfo.of(op) for op in members}
    schedule = _schedule(group_op, members, infos)
    computing = [step for step in schedule if step[0].name not in _MOVES]
    ends = [index for index, (_, end) in enumerate(group.parts) if end is not None and end.name == LOCAL_RESULT]
    fits = len(computing) == len(ends)
    loads = [step for step in schedule if step[0].name == "tpu.Load"]
    stores = [step for step in schedule if step[0].name == "tpu.Store"]
    moved: dict[tuple[int, int], MappedOp] = {}
    turn = 0
    for ordinals, end in group.parts:
        is_result = end is not None and end.name == LOCAL_RESULT
        step = computing[turn] if turn < len(computing) else None
        own: list[int] = []
        for ordinal in ordinals:
            taken = _move_of(commands[ordinal], loads, stores, infos, moved)
            if taken is not None:
                if not taken.ordinals:
                    yield taken
                taken.ordinals.append(ordinal)
            else:
                own.append(ordinal)
        if step is not None and (is_result or own):
            op, index = step
            certain = fits and (not own or _ends_at(commands, own, infos[op.line]))
            yield MappedOp(op, own, index, end.shape if end is not None else None, certain)
        turn += is_result


def _schedule(group: MlirOp, members: Sequence[MlirOp], infos: Mapping[int, LocalInfo]) -> list[tuple[MlirOp, int]]:
    """Ops and slices of a group in the order of execution."""
    by_id = {infos[op.line].get("id"): op for op in members}
    flow = group.attributes.get("flow")
    order = (
        [by_id[id] for id in flow if isinstance(id, int) and id >= 0 and id in by_id] if isinstance(flow, list) else []
    )
    if not order:
        order = list(members)
    slices = 1
    for axis in ("nsecs", "csecs", "dsecs", "hsecs", "wsecs"):
        count = group.attributes.get(axis, 1)
        slices *= count if isinstance(count, int) and 0 < count < _MOST_SLICES else 1
    slices = min(slices, _MOST_SLICES)
    stages = [infos[op.line].get("stage") for op in order]
    last = max(stages, default=0) if slices > 1 else 0
    schedule: list[tuple[MlirOp, int]] = []
    for iteration in range(slices + last):
        for op, stage in zip(order, stages, strict=True):
            index = iteration - stage if slices > 1 else 0
            if 0 <= index < slices:
                schedule.append((op, index))
    return schedule


_MOST_SLICES = 1 << 16


def _move_of(
    command: Command,
    loads: list[tuple[MlirOp, int]],
    stores: list[tuple[MlirOp, int]],
    infos: Mapping[int, LocalInfo],
    moved: dict[tuple[int, int], MappedOp],
) -> MappedOp | None:
    """The load or store that a command carries out; None if it does something else."""
    if command.engine != "dma":
        return None
    source, target = _views(command)
    for steps, inside, outside in ((loads, target, source), (stores, source, target)):
        if inside is None or outside is None or inside.space is not Space.LOCAL or outside.space is Space.LOCAL:
            continue
        lane_bytes = inside.geometry.lane_bytes
        for position, (op, index) in enumerate(steps):
            info = infos[op.line]
            start = inside.address % lane_bytes
            size = max(1, info.get("out_size"))
            if not info.get("out_addr") <= start < info.get("out_addr") + size:
                continue
            key = (op.line, index)
            mapped = moved.get(key)
            if mapped is None:
                mapped = moved[key] = MappedOp(op, [], index)
                # A load that moves in parts keeps its step; one for the next slice comes only after this one.
                if position:
                    steps.insert(0, steps.pop(position))
            elif _begins_anew(command, mapped, start, info):
                steps.pop(position)
                return _move_of(command, loads, stores, infos, moved)
            return mapped
    return None


def _begins_anew(command: Command, mapped: MappedOp, start: int, info: LocalInfo) -> bool:
    """Whether this is the first part of a load for the next slice."""
    return start == info.get("out_addr") and bool(mapped.ordinals) and command.ordinal != mapped.ordinals[-1] + 1


def _views(command: Command) -> tuple[View | None, View | None]:
    try:
        operands, results = command.operands, command.results
    except NotSimulated:
        return None, None
    views = [next((one for one in group if isinstance(one, View)), None) for group in (operands, results)]
    return views[0], views[1]


def _ends_at(commands: Mapping[int, Command], ordinals: Sequence[int], info: LocalInfo) -> bool:
    """Whether some command leaves its result where the compiler put that of the op."""
    start = info.get("out_addr")
    for ordinal in reversed(ordinals):
        _, target = _views(commands[ordinal])
        if target is not None and target.space is Space.LOCAL:
            where = target.address % target.geometry.lane_bytes
            if start <= where < start + max(1, info.get("out_size")):
                return True
    return False


# Records


def records_of(mapped: Sequence[MappedOp], arguments: Sequence[Argument]) -> list[LocationRecord]:
    """The instances as records of the compiler, with the compiler's addresses and the shapes of the run."""
    known = {f"%arg{index}": argument for index, argument in enumerate(arguments)}
    records: list[LocationRecord] = []
    for instance in mapped:
        records.append(_record_of(instance, known))
        op, shape = instance.op, instance.shape
        if op.name in _MOVES and op.operands and op.operands[0] in known:
            shape = known[op.operands[0]].shape
        if shape is not None and op.results:
            known[op.results[0]] = Argument("", shape)
            known.update((name, Argument("", shape)) for name in _yielded(op))
    return records


def _yielded(op: MlirOp) -> Iterator[str]:
    """The results of the group around an op that its result becomes."""
    group = op.file.op_at(op.group_line) if op.group_line is not None else None
    if group is None or not group.results:
        return
    last = next((o for o in op.file.ops.values() if o.group_line == group.line and o.name == "tpu.Yield"), None)
    for index, value in enumerate(last.operands if last is not None else ()):
        if value == op.results[0]:
            yield f"{group.results[0]}#{index}" if group.result_count > 1 else group.results[0]


def _record_of(instance: MappedOp, known: Mapping[str, Argument]) -> LocationRecord:
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


def _value(
    op: MlirOp, value: str, position: int, instance: MappedOp, is_result: bool, known: Mapping[str, Argument]
) -> dict[str, Any]:
    """An operand or result as the compiler's record has it; empty for ``none`` and what is not understood."""
    operand_types, _, result_types = op.types.partition(" -> ")
    types = _types(result_types if is_result else operand_types)
    text = types[position] if position < len(types) else _NONE
    match = _TYPE.match(text.strip())
    if match is None:
        return {}
    shape = [integer(part) for part in match[1].split(",")[0].split("x")[:-1] if part.isdigit()]
    element = _element(match[1])
    maker = op if is_result else op.file.op_defining(value, op.line)
    name = _name(op, value, maker, is_result, position)
    is_moved_out = op.name == "tpu.Store" and is_result
    local = maker is not None and maker.group_line is not None and maker.group_line == op.group_line
    if local and maker is not None and not is_moved_out and maker.attributes.get("ginfo"):
        known_shape = instance.shape if is_result and position == 0 else None
        here = known.get(op.operands[0] if is_result and op.name in _MOVES and op.operands else value)
        run = known_shape or (here.shape if here is not None else None)
        return _local(maker, instance.slice_index, name, text, run or shape, element, run is not None)
    if match[2] is None or (maker is not None and maker.name.startswith(_ON_PROCESSOR)):
        return {}
    there = known.get(value) if not is_result else None
    if there is not None and there.name:
        name = there.name
    if is_moved_out:
        there = known.get(op.operands[0])
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


def _types(text: str) -> list[str]:
    text = text.strip()
    return split_top(text[1:-1] if text.startswith("(") else text)


_STORAGE = re.compile(r"!quant\.\w+<(\w+)")


def _element(text: str) -> str:
    """``f32`` of ``1x16x3x9xf32``; of quantised and calibrated types the storage."""
    quantised = _STORAGE.search(text)
    last = quantised[1] if quantised is not None else text.rsplit("x", 1)[-1]
    return {"i8": "si8", "u8": "ui8", "i16": "si16", "u16": "ui16", "i32": "si32", "u32": "ui32"}.get(last, last)


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
