"""From a profile to its report."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.program.occupancy import Resident, Timeline, residents, use_at
from tdb_dap.engine.source.op_records import name_of
from tdb_dap.errors import BadInput
from tdb_dap.system.progress import SILENT, Progress
from tdb_dap.tools.model_options import ModelOptions
from tdb_dap.tools.profile.comparing import compare, compare_with_measured
from tdb_dap.tools.profile.measured import measured_times
from tdb_dap.tools.profile.profiling import Costs, Profile
from tdb_dap.tools.profile.schema import EngineUse, MemoryUse, OpTime, ProfileReport
from tdb_dap.version import __version__

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Program
    from tdb_dap.tools.profile.profiling import Timed

_RESPONSIBLE = 12


def profiled(
    program: Program,
    is_estimated: bool = False,
    measured: Path | None = None,
    simulated: ModelOptions | None = None,
    progress: Progress = SILENT,
) -> tuple[Profile, ProfileReport]:
    """The profile of a program and its report.

    ``is_estimated``: without the compiler's own figures; ``measured``: folder with the times of a run on a board;
    ``simulated``: the program with inputs, to also measure how long this machine takes to simulate it.
    """
    times = measured_times(program, measured) if measured is not None else None
    progress.start(len(program.commands))
    profile = Profile(program, not is_estimated, progress.update, Costs(program, times))
    host = _host_times(simulated, progress) if simulated is not None else None
    progress.clear()
    return profile, report_of(profile, host)


def _host_times(model: ModelOptions, progress: Progress) -> dict[int, float]:
    """Milliseconds that this machine takes to simulate each command."""
    debugger = model.open()
    times: dict[int, float] = {}
    while not debugger.at_end:
        ordinal = debugger.ordinal
        start = time.perf_counter()
        stop = debugger.step()
        if stop.finding is not None or debugger.ordinal == ordinal:
            raise BadInput(f"{model.context}: {stop.text}; leave out --inputs to see the estimates")
        times[ordinal] = (time.perf_counter() - start) * 1e3
        progress.update(ordinal)
    return times


def report_of(profile: Profile, host: Mapping[int, float] | None = None) -> ProfileReport:
    """Sums of a profile. ``host``: milliseconds that this machine took to simulate each command, by ordinal."""
    program = profile.program
    reasons = [f"command {ordinal}: {why}" for ordinal, why in profile.unknown[:3]]
    if len(profile.unknown) > len(reasons):
        reasons.append(f"... of {len(profile.unknown) - len(reasons):,} more commands")
    return ProfileReport(
        tool=f"tdb-dap {__version__}",
        model=str(program.context.bmodel),
        chip=program.chip,
        net=program.net.name,
        clock=profile.clock,
        source=program.target.timing_source,
        cycles=profile.total,
        milliseconds=profile.milliseconds(profile.total),
        operations=sum(t.cost.operations for t in profile.commands),
        read=sum(t.cost.read for t in profile.commands),
        written=sum(t.cost.written for t in profile.commands),
        commands=len(profile.commands),
        given=sum(t.origin == "compiler" for t in profile.commands),
        overlap=tuple(profile.overlap(core) for core in range(program.core_count)),
        engines=tuple(_engines(profile)),
        ops=tuple(sorted(_ops(profile, host), key=lambda op: -op.tiu - op.dma)),
        memories=tuple(_memories(program)),
        unknown=tuple(reasons),
        comparison=compare(profile),
        measured=sum(t.origin == "measured" for t in profile.commands),
        measured_in=str(profile.measured.folder) if profile.measured else "",
        remarks=profile.measured.notices if profile.measured else (),
        expectation=compare_with_measured(profile),
    )


def _engines(profile: Profile) -> Iterator[EngineUse]:
    for core in range(profile.program.core_count):
        for engine in ("tiu", "dma", "sdma", "cdma"):
            commands = [t for t in profile.commands if (t.command.core, t.command.engine) == (core, engine)]
            if commands:
                busy = sum(t.cycles for t in commands)
                yield EngineUse(
                    core=core,
                    engine=engine,
                    commands=len(commands),
                    busy=busy,
                    utilisation=busy / profile.total if profile.total else 0.0,
                )


def _ops(profile: Profile, host: Mapping[int, float] | None) -> Iterator[OpTime]:
    groups: dict[int, list[Timed]] = {}
    for timed in profile.commands:
        groups.setdefault(timed.record.line if timed.record else 0, []).append(timed)
    everything = sum(t.cycles for t in profile.commands) or 1.0
    for line, group in groups.items():
        record = group[0].record
        tiu = sum(t.cycles for t in group if t.command.engine == "tiu")
        dma = sum(t.cycles for t in group if t.command.engine != "tiu")
        operations = sum(t.cost.operations for t in group)
        moved = sum(t.cost.read + t.cost.written for t in group)
        yield OpTime(
            line=line,
            opcode=record.opcode if record else "",
            name=name_of(record) if record else "(no op)",
            commands=len(group),
            cores=tuple(sorted({t.command.core for t in group})),
            tiu=tiu,
            dma=dma,
            share=(tiu + dma) / everything,
            operations=operations,
            read=sum(t.cost.read for t in group),
            written=sum(t.cost.written for t in group),
            operations_rate=_rate(operations, tiu, profile.clock),
            bandwidth=_rate(moved, dma, profile.clock),
            host=sum(host.get(t.command.ordinal, 0.0) for t in group) if host is not None else None,
            expected=sum(t.expected for t in group) if profile.measured else None,
        )


def _rate(amount: int, cycles: float, clock: float | None) -> float | None:
    """Per second, while the engine works."""
    return amount * clock * 1e6 / cycles if clock and cycles else None


def timelines(program: Program) -> dict[str, tuple[int, Timeline]]:
    """Memory by name -> its size (of a lane, for local memory; 0 without limit) and what is in it over time."""
    by_memory: dict[str, list[Resident]] = {}
    for resident in residents(program):
        by_memory.setdefault(_title(resident, program), []).append(resident)
    sizes = {Space.LOCAL: program.target.geometry.lane_bytes, Space.L2: program.target.geometry.l2_bytes}
    return {name: (sizes.get(tenants[0].space, 0), Timeline(tenants)) for name, tenants in sorted(by_memory.items())}


def _title(resident: Resident, program: Program) -> str:
    if resident.space is Space.LOCAL:
        return "local memory of a lane" + (f", core {resident.core}" if program.core_count > 1 else "")
    return "L2" if resident.space is Space.L2 else "DDR, activations"


def _memories(program: Program) -> Iterator[MemoryUse]:
    for name, (size, timeline) in timelines(program).items():
        ordinal, _ = timeline.peak()
        alive = timeline.at(ordinal)
        use = use_at(alive, size)
        largest = sorted(alive, key=lambda resident: -resident.size)[:_RESPONSIBLE]
        yield MemoryUse(
            memory=name,
            size=size,
            peak=use.used,
            peak_ordinal=ordinal,
            fragmentation=use.fragmentation,
            responsible=tuple((resident.name, resident.size) for resident in largest),
        )
