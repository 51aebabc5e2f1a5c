"""Everything that a place in memory ever held: who wrote each version, who read it, and what it changed."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.expressions.values import Statistics
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.edits import MemoryEdit
from tdb_dap.engine.questions.passes import Pass, Progress, ignore
from tdb_dap.engine.questions.tracing import Place
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.expressions.assignment import Part

MOST_VERSIONS = 10_000

THUMBNAIL = 32
"""Rows and columns of a picture at most."""


class Version(Struct, frozen=True):
    """Content of a place from one moment on.

    ``writers``: the first and the last command that wrote it, one after the other of the same op instance, None for
    what was there at the start and for edits; ``edit``: what the user has set there, empty if it is none; ``place``: of
    the last of them; ``tenant``: the tensor whose bytes they are, empty
    where nobody names them. ``readers``: the commands that read a byte of it before the next version.
    ``changed``: elements that differ from the version before, by at most ``largest`` (None where that is no number).
    ``covers``: whether the op writes every byte of the place.
    """

    place: Place
    writers: tuple[int, int] | None
    tenant: str
    covers: bool
    statistics: Statistics | None
    changed: int
    largest: float | None
    readers: tuple[int, ...]
    thumbnail: Array
    edit: str = ""


class History(Struct, frozen=True):
    """``size``: elements of the place; ``is_cut``: there are more versions than were asked for; ``stopped``: why the
    run ended early.
    """

    title: str
    size: int
    versions: tuple[Version, ...]
    is_cut: bool
    stopped: str


def history(inspector: Inspector, part: Part, progress: Progress = ignore, most: int = MOST_VERSIONS) -> History:
    """All versions of a part of memory over the whole run, in their order; the first is what was there at the start."""
    if not 1 <= most <= MOST_VERSIONS:
        raise BadExpression(f"ask for 1 to {MOST_VERSIONS:,} versions")
    accesses = inspector.machine.accesses
    ranges = part.ranges
    events, is_cut = _events(inspector, ranges, most)
    going = Pass(inspector, progress)
    versions: list[Version] = []
    before: Array | None = None
    index = 0
    with going.beside():
        for moment in going.moments(sorted({event.moment for event in events})):
            while index < len(events) and events[index].moment == moment:
                event = events[index]
                index += 1
                if event.last is not None and inspector.machine.passes_over(event.last):
                    continue
                with going.as_left() if not event.edit else nullcontext():
                    numbers = np.array(_numbers(inspector, part))
                stop = next((later.begin for later in events[index:]), None)
                readers = tuple(accesses.touching(ranges, reads=True, writes=False, start=moment, stop=stop))
                versions.append(_version(inspector, ranges, event, numbers, before, readers))
                before = numbers
    size = int(before.size) if before is not None else 0
    return History(part.title, size, tuple(versions), is_cut, going.stopped)


class _Event(Struct, frozen=True):
    """A change of a place: commands ``first`` to ``last`` have written it, or an edit; neither at the start."""

    moment: int
    first: int | None = None
    last: int | None = None
    edit: str = ""

    @property
    def begin(self) -> int:
        """The first command that does not read what was there before any more."""
        return self.moment if self.first is None else self.first + 1


def _events(inspector: Inspector, ranges: ByteRanges, most: int) -> tuple[list[_Event], bool]:
    """The start, what writes there and the edits, in order, and whether there are more than ``most``."""
    machine, source = inspector.machine, inspector.program.source
    edits: dict[int, list[str]] = {}
    for edit in machine.edits:
        if isinstance(edit, MemoryEdit) and edit.touches(ranges):
            edits.setdefault(edit.moment, []).append(edit.text)
    events = [_Event(moment, edit="; ".join(texts)) for moment, texts in edits.items()]
    writers = machine.accesses.touching(ranges, reads=False, writes=True)
    is_cut = False
    for _, group in groupby(writers, key=lambda ordinal: (source.records_of(ordinal) or (ordinal,))[0]):
        ordinals = list(group)
        if len(events) >= most:
            is_cut = True
            break
        events.append(_Event(ordinals[-1] + 1, ordinals[0], ordinals[-1]))
    return [_Event(0), *sorted(events, key=lambda event: (event.moment, bool(event.edit)))], is_cut


def _numbers(inspector: Inspector, part: Part) -> Array:
    numbers = np.asarray(inspector.machine.read(part.view))
    for step in part.index:
        numbers = np.asarray(numbers[step])
    return numbers


def _version(
    inspector: Inspector,
    ranges: ByteRanges,
    event: _Event,
    numbers: Array,
    before: Array | None,
    readers: tuple[int, ...],
) -> Version:
    changed, largest = _difference(before, numbers)
    writers = None if event.first is None or event.last is None else (event.first, event.last)
    tenant, covers = ("", True) if writers is None else _tenant(inspector, ranges, writers[1])
    if writers is None and not event.edit:
        tenant = _given(inspector, ranges)
    place = Place.of(inspector.program, event.moment, max(0, event.moment - 1))
    if writers is None:
        place = replace(place, command="", line=0, op="", name="", slice="")
    return Version(
        place,
        writers,
        tenant,
        covers,
        Statistics.of(numbers) if numbers.size else None,
        changed,
        largest,
        readers,
        thumbnail(numbers),
        event.edit,
    )


def _tenant(inspector: Inspector, ranges: ByteRanges, ordinal: int) -> tuple[str, bool]:
    """Name of the result whose bytes an op writes there, and whether it has all of them."""
    for record in inspector.program.source.records_of(ordinal):
        for value in record.results:
            if value.view is not None:
                own = ByteRanges.of(value.view)
                if own.overlaps(ranges):
                    return value.name, ranges.without(own) is None
    return "", False


def _given(inspector: Inspector, ranges: ByteRanges) -> str:
    """Name of the input or weight that is there from the start."""
    program = inspector.program
    views = [
        *((tensor.name, tensor.view) for tensor in program.inputs),
        *((name, value.view) for name, value in program.source.weights.items()),
    ]
    return next((name for name, view in views if view is not None and ByteRanges.of(view).overlaps(ranges)), "")


def _difference(before: Array | None, now: Array) -> tuple[int, float | None]:
    if before is None or before.shape != now.shape:
        return 0, 0.0
    differs = (before != now) & ~((before != before) & (now != now))
    count = int(np.count_nonzero(differs))
    if not count:
        return 0, 0.0
    with np.errstate(all="ignore"):
        largest = float(np.abs(now[differs].astype(np.float64) - before[differs].astype(np.float64)).max())
    return count, largest if np.isfinite(largest) else None


def thumbnail(numbers: Array) -> Array:
    """The first plane, float64, at most 32 by 32: where it is larger, evenly chosen rows and columns of it."""
    plane = np.atleast_2d(numbers)
    while plane.ndim > 2:
        plane = plane[0]
    rows, columns = (np.unique(np.linspace(0, n - 1, min(n, THUMBNAIL)).astype(int)) for n in plane.shape)
    return plane[np.ix_(rows, columns)].astype(np.float64)
