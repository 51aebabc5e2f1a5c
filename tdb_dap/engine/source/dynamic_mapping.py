"""The ops of a recorded dynamic subnet and their commands.

The firmware makes a dynamic subnet's commands op by op, in the order of the subnet's function, and says where it is: it
begins and ends groups (each is an op of the function, or a ``tpu.Group``), and at the end of each op it stores the
shape of its result. Inside of a ``tpu.Group`` the ops follow the attribute ``flow``, once for each slice, those of a
later pipeline stage a slice behind. Loads and stores are recognised by the local addresses that the compiler gave them,
which ops share, and loads by where what they read is as well.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct, field

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.source.local_info import LocalInfo
from tdb_dap.engine.source.mapped_tensor import dtype_of
from tdb_dap.engine.source.mlir_attributes import integer, split_top
from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp
from tdb_dap.errors import NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command

GROUP_BEGIN = "dynamic_context_group_begin"
GROUP_END = "dynamic_context_group_end"
LOCAL_RESULT = "dynamic_context_local_set_output_info"
GLOBAL_RESULT = "dynamic_context_global_set_output_info"

_WITHOUT_GROUP = ("top.", "func.", "tpu.Buffer", "return", "call")
MOVES = ("tpu.Load", "tpu.Store")
TENSOR = re.compile(r"tensor<(.*?)(?:, (\d+) : i64)?>$")
"""Shape and element, and the address. An element may be a type with angle brackets and commas of its own."""


class Boundary(Struct, frozen=True):
    """A call of the firmware: its name, its number among all calls, and the shape of a result where it is known."""

    name: str
    number: int
    shape: tuple[int, ...] | None = None


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
    places = _Places.of([op for op in _members(mlir) if op.name == "tpu.Load"], commands)
    mapped: list[MappedOp] = []
    for op, group in zip(ops, groups, strict=False):
        if op.bodies:
            mapped += _checked(list(_in_group(op, group, by_ordinal, places)), by_ordinal)
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


_BEYOND = 1 << 64


class _Place(NamedTuple):
    """[``start``, ``stop``) of the compiler's addresses of what a load reads."""

    start: int
    stop: int
    is_weight: bool


class _Places(Struct, frozen=True, dict=True):
    """Places of what the loads of groups read, by the lines of the loads.

    ``offsets``: what to add to the addresses of weights (true) and of other tensors for those of the run; none where
    that is not known.
    """

    of_loads: Mapping[int, _Place]
    offsets: Mapping[bool, int]

    @classmethod
    def of(cls, loads: Sequence[MlirOp], commands: Sequence[Command]) -> _Places:
        """Those of a file; the run has put most of them equally far from where the compiler has them."""
        places = {op.line: place for op in loads if (place := _place_of(op)) is not None}
        into: dict[int, list[_Place]] = {}
        for op in loads:
            if op.line in places:
                into.setdefault(LocalInfo.of(op).get("out_addr"), []).append(places[op.line])
        votes: dict[bool, Counter[int]] = {True: Counter(), False: Counter()}
        for command in commands if places else ():
            source, target = _views(command) if command.engine == "dma" else (None, None)
            if source is None or target is None or target.space is not Space.LOCAL or source.space is Space.LOCAL:
                continue
            near = into.get(target.address % target.geometry.lane_bytes, ())
            for is_weight, start in {(place.is_weight, place.start) for place in near}:
                votes[is_weight][source.address - start] += 1
        best = {is_weight: counted.most_common(2) for is_weight, counted in votes.items()}
        clear = {kind: two for kind, two in best.items() if two and (len(two) == 1 or two[0][1] > two[1][1])}
        return cls(places, {is_weight: two[0][0] for is_weight, two in clear.items()})

    def fits(self, load: MlirOp, address: int) -> int:
        """Whether a load may read from an address of the run: 2: it has its operand there; 1: it may; 0: it cannot.

        Weights are where they are; another tensor may have been given memory of its own.
        """
        own = self.of_loads.get(load.line)
        offset = self.offsets.get(own.is_weight) if own is not None else None
        is_there = own is not None and offset is not None and own.start <= address - offset < own.stop
        if own is not None and own.is_weight:
            return 2 if is_there else int(offset is None)
        return 0 if self._is_weight(address) else 1 + is_there

    def _is_weight(self, address: int) -> bool:
        if True not in self.offsets:
            return False
        at = address - self.offsets[True]
        after = bisect_right(self._weights, (at, _BEYOND))
        return after > 0 and at < self._weights[after - 1][1]

    @cached_property
    def _weights(self) -> list[tuple[int, int]]:
        return sorted((place.start, place.stop) for place in self.of_loads.values() if place.is_weight)


def _place_of(load: MlirOp) -> _Place | None:
    """The place of what a load reads; None for an argument, which is where the caller has it."""
    value = load.operands[0] if load.operands else ""
    maker = load.file.op_defining(value, load.line)
    types = types_of(load.types.partition(" -> ")[0])
    match = TENSOR.match(types[0].strip()) if types and maker is not None else None
    dtype = dtype_of(element_of(match[1])) if match is not None else None
    if maker is None or match is None or match[2] is None or dtype is None:
        return None
    size = math.prod(extents_of(match[1]))
    start = integer(match[2])
    return _Place(start, start + max(1, size * dtype.bits // 8), maker.name == "top.Weight")


def _members(file: MlirFile) -> list[MlirOp]:
    """The ops of all layer groups."""
    return [op for op in file.ops.values() if op.group_line is not None]


def _in_group(group_op: MlirOp, group: _Group, commands: Mapping[int, Command], places: _Places) -> Iterator[MappedOp]:
    """Instances of the ops of a ``tpu.Group``."""
    members = [
        op
        for op in _members(group_op.file)
        if op.group_line == group_op.line and op.name.startswith("tpu.") and op.name != "tpu.Yield"
    ]
    infos = {op.line: LocalInfo.of(op) for op in members}
    schedule = _schedule(group_op, members, infos)
    computing = [step for step in schedule if step[0].name not in MOVES]
    ends = [index for index, (_, end) in enumerate(group.parts) if end is not None and end.name == LOCAL_RESULT]
    fits = len(computing) == len(ends)
    moves = _Moves(schedule, infos, places)
    turn = 0
    for ordinals, end in group.parts:
        is_result = end is not None and end.name == LOCAL_RESULT
        step = computing[turn] if turn < len(computing) else None
        own: list[int] = []
        for ordinal in ordinals:
            taken = moves.taken(commands[ordinal])
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


def _checked(instances: list[MappedOp], commands: Mapping[int, Command]) -> list[MappedOp]:
    """The instances of a group; where firmware cuts tensors elsewhere than the compiler, no slice is certain."""
    cut = [instance for instance in instances if not LocalInfo.of(instance.op).is_whole]
    if any(_moves_other_slice(instance, commands) for instance in cut if instance.op.name in MOVES):
        for instance in cut:
            instance.is_certain = False
    return instances


def _moves_other_slice(instance: MappedOp, commands: Mapping[int, Command]) -> bool:
    """Whether a load or store moves more or fewer numbers than the slice that the compiler cut has."""
    if not instance.ordinals or instance.op.attributes.get(_SPREADS):
        return False
    info, is_load = LocalInfo.of(instance.op), instance.op.name == "tpu.Load"
    parts = [info.extent(axis, instance.slice_index) for axis in "ncdhw"]
    views = [_views(commands[ordinal])[is_load] for ordinal in instance.ordinals]
    return sum(view.size for view in views if view is not None) != math.prod(stop - start for start, stop in parts)


_SPREADS = "use_3ic_optimize"
"""Attribute of loads that spread the channels of an image for the convolution after them."""


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


class _Moves:
    """The loads and stores of a group that are still to come or under way, in the order of the schedule."""

    def __init__(self, schedule: Sequence[tuple[MlirOp, int]], infos: Mapping[int, LocalInfo], places: _Places) -> None:
        self._infos = infos
        self._places = places
        self._steps: dict[str, dict[int, list[tuple[MlirOp, int]]]] = {name: {} for name in MOVES}
        """By where they begin in local memory."""
        for op, index in schedule:
            if op.name in MOVES:
                self._steps[op.name].setdefault(infos[op.line].get("out_addr"), []).append((op, index))
        self._under_way: dict[tuple[int, int], tuple[MappedOp, int]] = {}
        """By line and slice, the latest last: an instance, and where its first command is in local memory."""

    def taken(self, command: Command) -> MappedOp | None:
        """The load or store that a command carries out; None if it does something else."""
        if command.engine != "dma":
            return None
        source, target = _views(command)
        for name, inside, outside in zip(MOVES, (target, source), (source, target), strict=True):
            if inside is None or outside is None or inside.space is not Space.LOCAL or outside.space is Space.LOCAL:
                continue
            if (step := self._step(name, inside, outside)) is None:
                continue
            (op, index), key = step, (step[0].line, step[1])
            if key not in self._under_way:
                self._under_way[key] = MappedOp(op, [], index), inside.address
            under_way = self._under_way[key] = self._under_way.pop(key)
            return under_way[0]
        return None

    def _step(self, name: str, inside: View, outside: View) -> tuple[MlirOp, int] | None:
        """The step that moves between these places: one that begins there, else the latest that may go on there."""
        start = inside.address % inside.geometry.lane_bytes
        beginning = self._steps[name].get(start, [])
        for step in sorted(beginning, key=lambda step: -self._fits(step[0], outside)):
            key = step[0].line, step[1]
            if not self._fits(step[0], outside):
                break
            if key not in self._under_way or self._under_way[key][1] != inside.address:
                return step
            beginning.remove(step)  # where it began: that is the next slice, or another op
            del self._under_way[key]
        for (_, index), (mapped, _) in reversed(self._under_way.items()):
            if mapped.op.name == name and self._goes_on(mapped.op, start, outside):
                return mapped.op, index
        waiting = (step for steps in self._steps[name].values() for step in steps)
        return next((step for step in waiting if self._goes_on(step[0], start, outside)), None)

    def _goes_on(self, op: MlirOp, start: int, outside: View) -> bool:
        """Whether a part of a load or store may be at ``start`` in a lane, behind where it begins."""
        info = self._infos[op.line]
        return 0 < start - info.get("out_addr") < max(1, info.get("out_size")) and self._fits(op, outside) > 0

    def _fits(self, op: MlirOp, outside: View) -> int:
        return self._places.fits(op, outside.address) if op.name == "tpu.Load" else 1


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


def types_of(text: str) -> list[str]:
    """The types in a list of them, in brackets or alone."""
    text = text.strip()
    return split_top(text[1:-1] if text.startswith("(") else text)


def extents_of(text: str) -> list[int]:
    """[1, 16, 3, 9] of ``1x16x3x9xf32``."""
    return [integer(part) for part in text.split(",")[0].split("x")[:-1] if part.isdigit()]


_STORAGE = re.compile(r"!quant\.\w+<(\w+)")


def element_of(text: str) -> str:
    """``f32`` of ``1x16x3x9xf32``; of quantised and calibrated types the storage."""
    quantised = _STORAGE.search(text)
    last = quantised[1] if quantised is not None else text.rsplit("x", 1)[-1]
    return {"i8": "si8", "u8": "ui8", "i16": "si16", "u16": "ui16", "i32": "si32", "u32": "ui32"}.get(last, last)
