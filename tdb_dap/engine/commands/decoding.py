"""From the streams of a model to its commands in execution order: per group the engines, then cores, then subnets."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tdb_dap.engine.bmodel import CommandGroup, ModelFile, RunMode, Span, Stage, SubnetInfo
from tdb_dap.engine.commands.commands import ENGINES, Columns
from tdb_dap.engine.commands.interleaving import interleave, merge
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import Message, Stream, Target

_COLUMNS = ("engine", "core", "subnet", "kind", "offset", "id", "dependency", "listed")


class Streams:
    """The command streams of one stage. ``where``: the file, for what is said about errors in it."""

    def __init__(self, bmodel: ModelFile, stage: Stage, target: Target, where: str) -> None:
        self._bmodel = bmodel
        self._stage = stage
        self._target = target
        self._where = where

    def decode(self) -> tuple[Columns, list[tuple[int, int]]]:
        """All commands, and for each subnet which of them are its own, [start, stop)."""
        parts: list[Columns] = []
        bounds: list[tuple[int, int]] = []
        count = 0
        for index, info in enumerate(self._stage.subnets):
            made = self._decode_subnet(index, info)
            parts.append(made)
            bounds.append((count, count + made.kind.size))
            count += made.kind.size
        return joined(parts), bounds

    def _decode_subnet(self, index: int, info: SubnetInfo) -> Columns:
        if info.run_mode is not RunMode.TPU_STATIC:
            engine = {RunMode.CPU: "cpu"}.get(info.run_mode, "dynamic")
            return stand_in_columns(ENGINES.index(engine), index, max(1, len(info.cpu_operations)))
        where = f"{self._where}: subnet {info.id}"
        cores = [
            self._decode_core(index, core, groups, f"{where}, core {core}") for core, groups in enumerate(info.groups)
        ]
        movers = [
            self._decode_system_dma(index, core, spans, f"{where}, core {core}")
            for core, spans in enumerate(info.system_dma)
        ]
        parts = [*cores, *movers] if any(self._moves(mover) for mover in movers) else cores
        return joined(
            [
                stand_in_columns(ENGINES.index("hau"), index, 1 if info.hau_bytes else 0),
                cores[0] if len(parts) == 1 else self._interleave(parts),
                *(
                    self._decode_chip_to_chip(index, core, span, f"{where}, core {core}")
                    for core, spans in enumerate(info.chip_to_chip)
                    for span in spans
                ),
            ]
        )

    def _decode_chip_to_chip(self, subnet: int, core: int, span: Span, what: str) -> Columns:
        """Moves between chips, listed after the subnet's own commands: when they run depends on the other chip."""
        data = self._bmodel.bytes_of(span, "the CDMA stream")
        stream = self._target.decode_stream("cdma", data, None, f"{what}, CDMA stream")
        made = stand_in_columns(ENGINES.index("cdma"), subnet, stream.offsets.size)
        return replace(
            made,
            core=np.full(stream.offsets.size, core, np.int16),
            kind=stream.kinds,
            offset=stream.offsets + span.start,
            id=stream.ids,
        )

    def _decode_system_dma(self, subnet: int, core: int, spans: tuple[Span, ...], what: str) -> Columns:
        """Commands of a core's system DMA; only messages tie it to the core's other engines."""
        parts = [stand_in_columns(ENGINES.index("sdma"), subnet, 0)]
        for span in spans:
            data = self._bmodel.bytes_of(span, "the SDMA stream")
            stream = self._target.decode_stream("sdma", data, None, f"{what}, SDMA stream")
            own = np.flatnonzero(~stream.is_end)
            parts.append(
                replace(
                    stand_in_columns(ENGINES.index("sdma"), subnet, own.size),
                    core=np.full(own.size, core, np.int16),
                    kind=stream.kinds[own],
                    offset=stream.offsets[own] + span.start,
                )
            )
        commands = joined(parts)
        return replace(commands, id=np.arange(1, commands.kind.size + 1, dtype=np.int64))

    def _moves(self, mover: Columns) -> bool:
        """Whether it does more than take part in barriers."""
        return not all(self._target.is_system(kind) for kind in distinct(mover.kind))

    def _decode_core(self, subnet: int, core: int, groups: tuple[CommandGroup, ...], what: str) -> Columns:
        """The groups of one core, one after another."""
        commands = joined([])
        for group in groups:
            commands = joined([commands, self._decode_group(subnet, core, group, what).continuing(commands)])
        return commands

    def _interleave(self, cores: list[Columns]) -> Columns:
        """The commands of all cores, and of their system DMAs, in one order: see ``order.interleave``."""
        engines = _engines_of(joined(cores))
        messages = [[self._message(columns, i, engines) for i in range(columns.kind.size)] for columns in cores]
        chosen = interleave(messages, self._where)
        merged = joined(cores)
        starts = np.cumsum([0, *(columns.kind.size for columns in cores[:-1])])
        order = np.array([starts[core] + index for core, index in chosen], np.int64)
        return Columns(**{name: getattr(merged, name)[order] for name in _COLUMNS})

    def message(self, columns: Columns, index: int) -> Message | None:
        """The message that a command sends to other cores or waits for; None if it does neither."""
        return self._message(columns, index, _engines_of(columns, int(columns.subnet[index])))

    def _message(self, columns: Columns, index: int, engines: int) -> Message | None:
        """``engines``: how many engines of a core take part."""
        kind = int(columns.kind[index])
        if not self._target.is_system(kind):
            return None
        start = int(columns.offset[index])
        descriptor = self._bmodel.payload[start : start + self._target.kind_size(kind)].tobytes()
        return self._target.message(kind, descriptor, engines)

    def _decode_group(self, subnet: int, core: int, group: CommandGroup, what: str) -> Columns:
        tiu, dma, is_dma, chosen, starts = self._streams_of(group, what)

        def pick(of_tiu: NDArray[np.int64], of_dma: NDArray[np.int64]) -> NDArray[np.int64]:
            values = np.empty(chosen.size, np.int64)
            values[is_dma] = of_dma[chosen[is_dma]]
            values[~is_dma] = of_tiu[chosen[~is_dma]]
            return values

        decoded = Columns(
            engine=np.where(is_dma, ENGINES.index("dma"), ENGINES.index("tiu")).astype(np.int8),
            core=np.full(chosen.size, core, np.int16),
            subnet=np.full(chosen.size, subnet, np.int32),
            kind=pick(tiu.kinds.astype(np.int64), dma.kinds.astype(np.int64)).astype(np.int32),
            offset=pick(tiu.offsets + starts[0], dma.offsets + starts[1]),
            id=pick(tiu.ids, dma.ids),
            dependency=pick(tiu.dependencies, dma.dependencies),
            listed=pick(tiu.listed, dma.listed),
        )
        return decoded if group.packets is None else counted_on(decoded)

    def _streams_of(
        self, group: CommandGroup, what: str
    ) -> tuple[Stream, Stream, NDArray[np.bool_], NDArray[np.int64], tuple[int, int]]:
        """Both streams, their order as ``merge`` gives it, and where they begin in the payload."""
        if group.packets is not None:
            data = self._bmodel.bytes_of(group.packets, "the command stream")
            tiu, dma, is_dma = self._target.decode_packets(data, f"{what}, command stream")
            chosen = np.where(is_dma, np.cumsum(is_dma), np.cumsum(~is_dma)) - 1
            return tiu, dma, is_dma, chosen, (group.packets.start, group.packets.start)
        tiu, dma = (
            self._target.decode_stream(
                engine, self._bmodel.bytes_of(span, f"the {engine.upper()} stream"), count, where
            )
            for engine, span, count, where in (
                ("tiu", group.tiu, group.tiu_count, f"{what}, TIU stream"),
                ("dma", group.dma, group.dma_count, f"{what}, DMA stream"),
            )
        )
        return tiu, dma, *merge(tiu, dma, what), (group.tiu.start, group.dma.start)


def counted_on(columns: Columns) -> Columns:
    """Commands of one stream with ids that go on where both engines start again at 1, after 65,535 of either.

    There both engines have ended: the first command of each then waits for the last one of the other.
    """
    engines = [np.flatnonzero(columns.engine == number) for number in range(2)]
    restarts = sorted(
        (int(own[index + 1]), int(own[index]))
        for own in engines
        for index in np.flatnonzero((np.diff(columns.id[own]) <= 0) & (columns.id[own[1:]] == 1)).tolist()
    )
    cuts: list[int] = []
    for ordinal, last in restarts:
        if not cuts or last >= cuts[-1]:
            cuts.append(ordinal)
    if not cuts:
        return columns
    part = np.searchsorted(cuts, np.arange(columns.id.size), side="right")
    before = np.zeros((2, len(cuts) + 1), np.int64)
    for number, own in enumerate(engines):
        np.maximum.at(before[number], part[own], columns.id[own])
    before = np.cumsum(before, axis=1) - before
    own_before, other_before = before[columns.engine, part], before[1 - columns.engine, part]
    dependency = columns.dependency + np.where(columns.dependency > 0, other_before, 0)
    for own in engines:
        first = own[np.diff(part[own], prepend=0) > 0]
        dependency[first] = np.maximum(dependency[first], other_before[first])
    listed = columns.listed + np.where(columns.listed > 0, other_before, 0)
    return replace(columns, id=columns.id + own_before, dependency=dependency, listed=listed)


def _engines_of(columns: Columns, subnet: int | None = None) -> int:
    """Number of engines of a core that send and wait among these commands; the system DMA only where it moves."""
    is_mover = columns.engine == ENGINES.index("sdma")
    return 3 if bool((is_mover if subnet is None else is_mover & (columns.subnet == subnet)).any()) else 2


def stand_in_columns(engine: int, subnet: int, count: int) -> Columns:
    """Rows without descriptors. ``engine``: index in ENGINES; ``subnet``: index in the stage."""
    zeros = np.zeros(count, np.int64)
    return Columns(
        engine=np.full(count, engine, np.int8),
        core=np.zeros(count, np.int16),
        subnet=np.full(count, subnet, np.int32),
        kind=np.full(count, -1, np.int32),
        offset=zeros,
        id=zeros,
        dependency=zeros,
        listed=zeros,
    )


def joined(parts: list[Columns]) -> Columns:
    """The commands of all parts, one after another."""
    if len(parts) == 1:
        return parts[0]
    empty = stand_in_columns(0, 0, 0)
    return Columns(**{name: np.concatenate([getattr(part, name) for part in [empty, *parts]]) for name in _COLUMNS})


def sliced(columns: Columns, start: int, stop: int) -> Columns:
    """The commands [start, stop)."""
    return Columns(**{name: getattr(columns, name)[start:stop] for name in _COLUMNS})
