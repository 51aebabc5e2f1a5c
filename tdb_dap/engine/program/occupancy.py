"""Occupancy: the tensors of a program in its memories, from being written to being read last."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct, field

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.rectangles import rectangles

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.views import View
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.mapped_tensor import MappedTensor


class OpInstance(Struct, frozen=True):
    """An op at work."""

    ordinal: int
    """Its first command."""
    line: int
    """Line of final.mlir."""
    opcode: str


class Resident(Struct, frozen=True):
    """A tensor in memory."""

    name: str
    space: Space
    core: int
    start: int
    """First byte in its space; in local memory, of a lane."""
    stop: int
    """Byte after the last one."""
    born: int
    """Ordinal of the command that began to write it."""
    died: int
    """Ordinal of the command that read it last."""
    line: int
    """Line in final.mlir of the op that made it."""
    opcode: str = ""
    """Name of that op."""
    shape: tuple[int, ...] = ()
    dtype: str = ""
    readers: tuple[OpInstance, ...] = ()
    """In the order in which they read."""
    lanes: tuple[tuple[int, int], ...] = ()
    """In local memory those it takes part of, as [first, last + 1) of adjacent ones."""

    @property
    def size(self) -> int:
        return self.stop - self.start


class _Open(Struct):
    """A resident that may still be read."""

    value: MappedTensor
    core: int
    start: int
    stop: int
    born: int
    died: int
    line: int
    opcode: str
    readers: list[OpInstance] = field(default_factory=list)


def residents(program: Program) -> list[Resident]:
    """All tensors that ops write, in the order they are written; a tensor that is never read ends where it begins."""
    done: list[Resident] = []
    alive: dict[tuple[Space, int], list[_Open]] = {}
    for record in sorted((r for r in program.source.records if r.ordinals), key=lambda r: r.first):
        reader = OpInstance(record.first, record.line, record.opcode)
        for value in record.operands:
            for tenant in _touching(alive, value):
                tenant.died = max(tenant.died, record.last)
                tenant.readers.append(reader)
        for value in record.results:
            place = _place(value.view)
            if value.view is None or place is None:
                continue
            core, start, stop = place
            known = alive.setdefault((value.view.space, core), [])
            same = [entry for entry in known if (entry.start, entry.stop) == (start, stop) and _is_part(entry, value)]
            if same:
                same[0].died = max(same[0].died, record.last)
                continue
            for entry in [entry for entry in known if entry.start < stop and start < entry.stop]:
                known.remove(entry)
                done.append(_closed(entry, record.first))
            known.append(_Open(value, core, start, stop, record.first, record.last, record.line, record.opcode))
    done += [_closed(entry, None) for entries in alive.values() for entry in entries]
    return sorted(done, key=lambda resident: (resident.born, resident.start))


def _is_part(entry: _Open, value: MappedTensor) -> bool:
    """Another slice of a tensor at the same place counts as the same resident only if it is the same slice."""
    return entry.value.name == value.name and entry.value.slice_text == value.slice_text


def _closed(entry: _Open, before: int | None) -> Resident:
    view = entry.value.view
    assert view is not None
    return Resident(
        name=entry.value.name,
        space=view.space,
        core=entry.core,
        start=entry.start,
        stop=entry.stop,
        born=entry.born,
        died=entry.died if before is None else max(entry.born, min(entry.died, before)),
        line=entry.line,
        opcode=entry.opcode,
        shape=tuple(view.shape),
        dtype=str(view.dtype),
        readers=tuple(dict.fromkeys(entry.readers)),
        lanes=_lanes(view),
    )


def _lanes(view: View) -> tuple[tuple[int, int], ...]:
    if view.space is not Space.LOCAL:
        return ()
    lane_bytes = view.geometry.lane_bytes
    runs: list[tuple[int, int]] = []
    for start, stop in view.byte_ranges():
        first, last = start // lane_bytes, (stop - 1) // lane_bytes + 1
        if runs and first <= runs[-1][1]:
            first = runs.pop()[0]
        runs.append((first, last))
    return tuple(runs)


def _touching(alive: dict[tuple[Space, int], list[_Open]], value: MappedTensor) -> list[_Open]:
    place = _place(value.view)
    if value.view is None or place is None:
        return []
    core, start, stop = place
    return [entry for entry in alive.get((value.view.space, core), ()) if entry.start < stop and start < entry.stop]


def _place(view: View | None) -> tuple[int, int, int] | None:
    """Core (0 for memory that all share) and bytes; of local memory the bytes in a lane."""
    if view is None or view.space not in (Space.LOCAL, Space.GLOBAL, Space.L2):
        return None
    is_local, lane = view.space is Space.LOCAL, view.geometry.lane_bytes
    if view.dtype.per_byte == 1:
        enclosing = rectangles(view)
        start, stop = min((r[0] for r in enclosing), default=0), max((r[1] for r in enclosing), default=0)
        if not is_local or stop <= lane:
            return (view.core if is_local else 0, start, stop) if enclosing else None
    ranges = view.byte_ranges()
    if not ranges:
        return None
    if not is_local:
        return 0, ranges[0][0], ranges[-1][1]
    return view.core, min(start % lane for start, _ in ranges), max((stop - 1) % lane + 1 for _, stop in ranges)


class Use(Struct, frozen=True):
    """A memory at one moment: bytes in use, and the share of the free ones that is not in the largest gap."""

    used: int
    fragmentation: float


def use_at(alive: Iterable[Resident], size: int) -> Use:
    """``size``: bytes of the memory; 0 if it has no limit, then what is between the first and the last is it."""
    ranges = sorted((resident.start, resident.stop) for resident in alive)
    used, gaps, end = 0, [], 0 if size else (ranges[0][0] if ranges else 0)
    for start, stop in ranges:
        if start > end:
            gaps.append(start - end)
        used += max(0, stop - max(start, end))
        end = max(end, stop)
    if size > end:
        gaps.append(size - end)
    free = sum(gaps)
    return Use(used, 1 - max(gaps) / free if free else 0.0)


class Timeline:
    """Number of bytes of one memory in use over time."""

    def __init__(self, residents: Iterable[Resident]) -> None:
        self.residents = list(residents)
        changes: dict[int, int] = {}
        for resident in self.residents:
            changes[resident.born] = changes.get(resident.born, 0) + resident.size
            changes[resident.died + 1] = changes.get(resident.died + 1, 0) - resident.size
        self.ordinals = sorted(changes)
        self.bytes: list[int] = []
        level = 0
        for ordinal in self.ordinals:
            level += changes[ordinal]
            self.bytes.append(level)

    def at(self, ordinal: int) -> list[Resident]:
        """Tensors alive while a command runs."""
        return [resident for resident in self.residents if resident.born <= ordinal <= resident.died]

    def peak(self) -> tuple[int, int]:
        """The ordinal at which most is in use, and how much."""
        if not self.bytes:
            return 0, 0
        index = max(range(len(self.bytes)), key=self.bytes.__getitem__)
        return self.ordinals[index], self.bytes[index]

    def level(self, ordinal: int) -> int:
        """Bytes in use while a command runs."""
        index = bisect_left(self.ordinals, ordinal + 1) - 1
        return self.bytes[index] if index >= 0 else 0
