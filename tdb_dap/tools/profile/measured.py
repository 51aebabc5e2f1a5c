"""Times that a board took, from the records of its performance monitors.

Every engine has a separate counter. How far they are apart follows from what waits for what: a command begins no
earlier than what it depends on has ended, and some begin at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tdb_dap.engine.commands.commands import ENGINES
from tdb_dap.engine.program.compiled_program import CompiledProgram
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.registry import target_for
from tdb_dap.tools.profile.monitor_files import MonitorFiles, SubnetRun, read_monitor_files
from tdb_dap.tools.profile.schedule import Span, waits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tdb_dap.engine.bmodel import SubnetInfo
    from tdb_dap.engine.program.program import Program
    from tdb_dap.targets.timing import Monitor, MonitorRecord

_WRAP = 1 << 32
_ID_MASK = 0xFFFF

Engine = tuple[int, str]
"""A core and one of its engines."""


class Measured(Struct, frozen=True):
    """A measured run of a program.

    ``spans``: ordinal -> cycles of the chip's clock since the begin of the first command, of the commands that the
    monitors have recorded; ``notices``: remarks for the reader.
    """

    folder: Path
    spans: Mapping[int, Span]
    notices: tuple[str, ...] = ()


class _Times(Struct, frozen=True):
    """Microseconds of an engine's own counter at which its commands began and ended."""

    ordinals: NDArray[np.int64]
    start: NDArray[np.float64]
    stop: NDArray[np.float64]


def measured_times(program: Program, folder: Path) -> Measured:
    """The times in a ``bmprofile_data-N`` for the commands of a program.

    BadInput where the folder cannot be read, was measured on another model, or holds no times.
    """
    monitor, clock = _monitor_of(program)
    if not isinstance(program, CompiledProgram):
        raise BadInput(f"{program.context.bmodel}: measured times belong to a compiled model, this is a recording")
    files = read_monitor_files(folder, 3 if program.target.has_engine("sdma") else 2)
    _require_same_model(files, program)
    notices: list[str] = []
    spans: dict[int, Span] = {}
    begin = 0.0
    pairs = waits(program)
    for index, info in enumerate(program.stage.subnets):
        run = next((run for run in files.last_iteration if run.subnet == info.id), None)
        if run is None or not run.records:
            continue
        engines = _engines(program, index, info, run, monitor, files.frequency)
        if not engines:
            continue
        offsets = dict.fromkeys(engines, 0.0) if monitor.synchronising else _offsets(engines, pairs, program, notices)
        first = min(float(times.start[0]) + offsets[engine] for engine, times in engines.items())
        last = begin
        for engine, times in engines.items():
            moved = offsets[engine] - first
            for ordinal, start, stop in zip(times.ordinals, times.start + moved, times.stop + moved, strict=True):
                spans[int(ordinal)] = Span((begin + float(start)) * clock, (begin + float(stop)) * clock)
                last = max(last, begin + float(stop))
        begin = last
    if not spans:
        raise BadInput(
            f"{files.folder}: holds no times of commands; the emulator measures nothing, a board does, with "
            "BMRUNTIME_ENABLE_PROFILE=1"
        )
    missing = sum(command.has_descriptor for command in program.commands) - len(spans)
    if missing:
        notices.append(f"{missing:,} of the commands were not measured; they count as none")
    return Measured(files.folder, spans, tuple(notices))


def _monitor_of(program: Program) -> tuple[Monitor, float]:
    """The monitors of the program's chip, and its clock in MHz."""
    timing = target_for(program.chip, str(program.context.bmodel)).timing
    if timing is None or timing.monitor is None:
        raise BadInput(f"{program.context.bmodel}: what the monitors of {program.chip} record is not known")
    return timing.monitor, timing.clock


def _require_same_model(files: MonitorFiles, program: CompiledProgram) -> None:
    if files.chip.upper() != program.chip.upper():
        raise BadInput(
            f"{files.folder}: was measured on {files.chip or 'an unknown chip'}, the model is for {program.chip}"
        )
    if files.net and files.net != program.net.name:
        raise BadInput(f"{files.folder}: was measured on the net {files.net}, not on {program.net.name} (--net)")
    subnets = {info.id: info for info in program.stage.subnets}
    for run in files.runs:
        info = subnets.get(run.subnet)
        if info is None:
            raise BadInput(
                f"{run.path}: is about subnet {run.subnet}, which the model does not have; is it another one?"
            )
        for core, (expected, groups) in enumerate(zip(run.groups, info.groups, strict=False)):
            own = tuple((group.dma_count, group.tiu_count) for group in groups)
            if expected and expected != own:
                raise BadInput(
                    f"{run.path}: core {core} had {_counts(expected)} commands, the model has {_counts(own)}; it was "
                    "measured on another model"
                )


def _counts(groups: tuple[tuple[int, int], ...]) -> str:
    return f"{sum(dma for dma, _ in groups):,} DMA and {sum(tiu for _, tiu in groups):,} TIU"


def _engines(
    program: CompiledProgram, subnet: int, info: SubnetInfo, run: SubnetRun, monitor: Monitor, frequency: float | None
) -> dict[Engine, _Times]:
    """The times of a subnet by engine, as far as they were recorded."""
    engines: dict[Engine, _Times] = {}
    columns = program.commands.columns
    of_subnet = columns.subnet == subnet
    for name, cores in run.records.items():
        for core, data in enumerate(cores):
            of_engine = of_subnet & (columns.core == core) & (columns.engine == ENGINES.index(name))
            ordinals = np.flatnonzero(of_engine)
            ids = _ids(program, info, name, core, columns.offset[ordinals])
            record = monitor.record(name)
            if len(data) % record.size:
                raise BadInput(
                    f"{run.path}: the {name.upper()} records of core {core} have {len(data):,} bytes, no multiple of "
                    f"the {record.size} of one; it is damaged, or from another chip"
                )
            times = _matched(data, record, monitor, ordinals, ids, monitor.clock(name, frequency))
            if times.ordinals.size:
                engines[core, name] = times
    return engines


def _ids(
    program: CompiledProgram, info: SubnetInfo, engine: str, core: int, offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The ids of commands as they stand in their descriptors: each group counts from 1."""
    if engine == "sdma":
        return np.arange(1, offsets.size + 1)
    by_offset: dict[int, int] = {}
    for group in info.groups[core] if core < len(info.groups) else ():
        span, count = (group.tiu, group.tiu_count) if engine == "tiu" else (group.dma, group.dma_count)
        stream = program.target.decode_stream(engine, program.bmodel.bytes_of(span, "a stream"), count, "a stream")
        by_offset.update(zip((stream.offsets + span.start).tolist(), stream.ids.tolist(), strict=True))
    return np.array([by_offset[offset] for offset in offsets.tolist()], np.int64)


def _matched(
    data: bytes,
    record: MonitorRecord,
    monitor: Monitor,
    ordinals: NDArray[np.int64],
    ids: NDArray[np.int64],
    clock: float,
) -> _Times:
    """The records that are about these commands, each once, in order; others are of the firmware's own commands."""
    words = np.frombuffer(data, "<u4").reshape(-1, record.size // 4)
    numbers = words[:, record.id] & _ID_MASK
    start, stop = _unwrapped(words[:, record.start], words[:, record.start + 1])
    following = _Following(ids)
    pairs = [
        (row, index)
        for row in range(monitor.synchronising, len(words))
        if (index := following.next((int(numbers[row]) + 1) & _ID_MASK)) is not None
    ]
    rows, indices = np.array(pairs, np.int64).reshape(-1, 2).T
    met = float(stop[monitor.synchronising - 1]) if 0 < monitor.synchronising <= len(words) else 0.0
    return _Times(ordinals[indices], (start[rows] - met) / clock, (stop[rows] - met) / clock)


class _Following:
    """Finds commands by their ids, each behind the one found before."""

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self._places: dict[int, list[int]] = defaultdict(list)
        for index in range(len(ids) - 1, -1, -1):
            self._places[int(ids[index]) & _ID_MASK].append(index)
        self._last = -1

    def next(self, id: int) -> int | None:
        """Index of the next command with this id."""
        places = self._places.get(id, [])
        while places and places[-1] <= self._last:
            places.pop()
        if not places:
            return None
        self._last = places.pop()
        return self._last


def _unwrapped(start: NDArray[np.uint32], stop: NDArray[np.uint32]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Values of a counter of 32 bits that goes round, as ascending numbers."""
    turns = np.concatenate([[0], np.cumsum(np.diff(start.astype(np.int64)) < -_WRAP // 2)])
    begin = start.astype(np.int64) + turns * _WRAP
    length = (stop.astype(np.int64) - start.astype(np.int64)) % _WRAP
    return begin.astype(np.float64), (begin + length).astype(np.float64)


def _offsets(
    engines: Mapping[Engine, _Times], pairs: list[tuple[int, int]], program: Program, notices: list[str]
) -> dict[Engine, float]:
    """Microseconds to add to the times of each engine, so that nothing begins before what it waits for has ended."""
    places = {int(o): (engine, i) for engine, times in engines.items() for i, o in enumerate(times.ordinals)}
    least: dict[tuple[Engine, Engine], float] = {}
    for before, after in pairs:
        if before not in places or after not in places:
            continue
        (a, i), (b, j) = places[before], places[after]
        is_message = program.core_count > 1 and program.message_of(after) is not None
        met = engines[b].stop[j] if is_message else engines[b].start[j]
        least[a, b] = max(least.get((a, b), -np.inf), float(engines[a].stop[i] - met))
    offsets: dict[Engine, float] = {}
    for root in engines:
        if root in offsets:
            continue
        if offsets:
            notices.append(
                f"there is no record of when core {root[0]} {root[1].upper()} began: assumed at once with the others"
            )
        offsets[root] = 0.0
        waiting = [root]
        while waiting:
            known = waiting.pop()
            for other, difference in _neighbours(known, engines, least):
                if other not in offsets:
                    offsets[other] = offsets[known] + difference
                    waiting.append(other)
    return offsets


def _neighbours(
    known: Engine, engines: Mapping[Engine, _Times], least: Mapping[tuple[Engine, Engine], float]
) -> Iterator[tuple[Engine, float]]:
    """The engines that wait for a known one or it for them, and how much more is added to their times."""
    for other in engines:
        low, high = least.get((known, other)), least.get((other, known))
        if low is not None and high is not None:
            yield other, low if low <= -high else (low - high) / 2
        elif low is not None:
            yield other, low
        elif high is not None:
            yield other, -high
