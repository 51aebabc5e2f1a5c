"""Time of a completion by token, by net and by kind of op, with the share of loading weights."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated
from tdb_dap.tools.profile.schema import KindTime, NetTime, TokensProfile, TokenTime

if TYPE_CHECKING:
    from tdb_dap.engine.program.program import Launch, Program
    from tdb_dap.tools.profile.profiling import Profile, Timed

_WEIGHTS = "weights"
_BLOCK = "block"


def tokens_of(profile: Profile, passes: Sequence[Sequence[Launch]], seconds: Sequence[float]) -> TokensProfile:
    """Sums of a profile. ``passes``: launches of each token; ``seconds``: that this machine took for each token."""
    weights = _Weights(profile.program)
    tokens: list[TokenTime] = []
    nets: dict[str, list[list[Timed]]] = {}
    kinds: dict[str, list[Timed]] = {}
    stopped = 0.0
    for number, own in enumerate(passes):
        own_nets: dict[str, list[Timed]] = {}
        own_kinds: dict[str, list[Timed]] = {}
        for launch in own:
            of_launch = profile.commands[launch.start : launch.stop]
            own_nets.setdefault(_kind_of(launch.net), []).extend(of_launch)
            nets.setdefault(_kind_of(launch.net), []).append(of_launch)
        commands = [timed for group in own_nets.values() for timed in group]
        for timed in commands:
            own_kinds.setdefault(timed.record.opcode if timed.record is not None else "", []).append(timed)
        for opcode, group in own_kinds.items():
            kinds.setdefault(opcode, []).extend(group)
        loads = [(timed, size) for timed in commands if (size := weights.read_by(timed))]
        # What the host does between two tokens takes no time of the chip.
        end = max((timed.span.stop for timed in commands), default=stopped)
        cycles, stopped = end - stopped, end
        dma = sum(timed.cycles for timed in commands if timed.command.engine != "tiu")
        tokens.append(
            TokenTime(
                token=number,
                launches=len(own),
                commands=len(commands),
                cycles=cycles,
                milliseconds=profile.milliseconds(cycles),
                weights_read=sum(size for _, size in loads),
                weights_share=sum(timed.cycles for timed, _ in loads) / dma if dma else 0.0,
                nets=_shares(own_nets),
                kinds=_shares(own_kinds),
                seconds=seconds[number] if number < len(seconds) else None,
            )
        )
    everything = sum(timed.cycles for group in kinds.values() for timed in group) or 1.0
    decoded = tokens[1:]
    times = [one.milliseconds for one in decoded if one.milliseconds]
    simulated = [one.seconds for one in decoded if one.seconds]
    return TokensProfile(
        tokens=tuple(tokens),
        nets=tuple(sorted(_nets(nets, everything), key=lambda net: -net.share)),
        kinds=tuple(sorted(_kinds(kinds, everything), key=lambda kind: -kind.share)),
        rate=1e3 * len(times) / sum(times) if times else None,
        simulated_rate=len(simulated) / sum(simulated) if simulated else None,
    )


def _shares(groups: dict[str, list[Timed]]) -> dict[str, float]:
    """Of the cycles of all groups, those of each."""
    cycles = {name: sum(timed.cycles for timed in group) for name, group in groups.items()}
    everything = sum(cycles.values()) or 1.0
    return {name: own / everything for name, own in cycles.items()}


def _kind_of(net: str) -> str:
    """Blocks of all layers are one: ``block_cache_3`` is ``block_cache_*``."""
    name, _, number = net.rpartition("_")
    return f"{name}_*" if number.isdecimal() and name.startswith(_BLOCK) else net


def _nets(nets: dict[str, list[list[Timed]]], everything: float) -> Iterator[NetTime]:
    for net, launches in nets.items():
        cycles = sum(timed.cycles for commands in launches for timed in commands)
        yield NetTime(net=net, launches=len(launches), cycles=cycles, share=cycles / everything)


def _kinds(kinds: dict[str, list[Timed]], everything: float) -> Iterator[KindTime]:
    for opcode, commands in kinds.items():
        tiu = sum(timed.cycles for timed in commands if timed.command.engine == "tiu")
        dma = sum(timed.cycles for timed in commands if timed.command.engine != "tiu")
        yield KindTime(opcode=opcode, commands=len(commands), tiu=tiu, dma=dma, share=(tiu + dma) / everything)


class _Weights:
    """Bytes of weights that commands load; equal commands are looked at once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        regions = sorted(
            (region.start, region.start + len(region.data))
            for region in program.ddr_regions()
            if region.title.startswith(_WEIGHTS)
        )
        self._starts = [start for start, _ in regions]
        self._stops = [stop for _, stop in regions]
        self._known: dict[Hashable, int] = {}

    def read_by(self, timed: Timed) -> int:
        """Bytes of weights that a command of the DMA reads; of a table only the rows that it takes."""
        command = timed.command
        if command.engine == "tiu" or not command.has_descriptor or not timed.cycles:
            return 0
        key = command.core, command.kind, bytes(command.descriptor)
        if key not in self._known:
            try:
                reads, writes = command.description.reads, command.description.results
            except NotSimulated:
                reads, writes = (), ()
            is_weight = any(
                isinstance(view, View) and view.space is Space.GLOBAL and self._is_weight(view.address)
                for view in reads
            )
            written = sum(view.nbytes for view in writes if isinstance(view, View))
            self._known[key] = min(timed.cost.read, written) if is_weight else 0
        return self._known[key]

    def _is_weight(self, address: int) -> bool:
        place = bisect_right(self._starts, address) - 1
        return place >= 0 and address < self._stops[place]
