"""From the events of a recording to the rows of a program: commands, what the host did between them, and launches."""

from __future__ import annotations

import struct
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.recording.format import NO_COMMAND, NO_MARK, BlockFlag, CommandFlag, CopyFlag, Event
from tdb_dap.engine.recording.payloads import (
    Base,
    CopyIn,
    CopyOut,
    Hash,
    LaunchBegin,
    LaunchEnd,
    Mark,
    Name,
    Region,
)
from tdb_dap.errors import BadInput

if TYPE_CHECKING:
    from tdb_dap.engine.recording.recording import Recording


class Piece(Struct, frozen=True):
    """Bytes of one memory: [start, start + size) counted in the space.

    ``content``: their first byte in the events; None where they are the 8 bytes of ``word`` again and again.
    """

    space: Space
    core: int
    start: int
    size: int
    content: int | None = None
    word: int = 0


class HostAction(Struct, frozen=True):
    """An action of the host, or the firmware, on the memories between two commands.

    ``name``: ``host.copy_in``, ``host.copy_out``, ``host.set``, ``host.change``. ``pieces``: what is written; of a copy
    out ``place`` is read and has the hash ``digest``, None where the host read back its own bytes, which no command has
    touched; ``is_unknown``: no event tells of all of them, so the rest are zeros, or not in the recording. A copy in
    without pieces is of bytes that no command had touched before: they are part of what the memories hold at the start.
    """

    name: str
    pieces: tuple[Piece, ...] = ()
    place: Piece | None = None
    digest: int | None = None
    is_unknown: bool = False


class RecordedLaunch(Struct):
    """A launch of a net, and its rows [start, stop). ``info``: None for commands that belong to no launch.

    ``marks``: calls of the dynamic firmware: number, function, call.
    """

    info: LaunchBegin | None
    start: int
    stop: int = 0
    end: LaunchEnd | None = None
    marks: list[tuple[int, str, Mark]] = field(default_factory=list)

    @property
    def number(self) -> int:
        return self.info.number if self.info is not None else -1


class Expected(Struct, frozen=True):
    """The hash that a piece of memory has to have after a row."""

    piece: Piece
    digest: int


class RecordedEvents(Struct):
    """The rows of a recording. A row is a command (``descriptor``: its first byte in the events) or an action.

    ``initial``: bytes that memories hold before the first row; ``extents``: every piece of DDR and L2 that is known to
    be used; ``bases``: (row from which they hold, core, tag -> address), a whole table each time; ``queued``:
    for commands of the dynamic firmware the number of its last call before it queued them.
    """

    engine: list[int] = field(default_factory=list)
    core: list[int] = field(default_factory=list)
    descriptor: list[int] = field(default_factory=list)
    launch: list[int] = field(default_factory=list)
    actions: dict[int, HostAction] = field(default_factory=dict)
    launches: list[RecordedLaunch] = field(default_factory=list)
    expected: dict[int, list[Expected]] = field(default_factory=dict)
    initial: list[Piece] = field(default_factory=list)
    extents: list[Piece] = field(default_factory=list)
    bases: list[tuple[int, int, dict[int, int]]] = field(default_factory=list)
    queued: dict[int, int] = field(default_factory=dict)

    @property
    def row_count(self) -> int:
        return len(self.engine)

    def clip(self, sizes: Mapping[Space, int]) -> None:
        """Leave out what is beyond these sizes: an emulator's memories may be larger than the chip's."""

        def inside(piece: Piece) -> bool:
            return piece.start < sizes.get(piece.space, piece.start + 1)

        def clipped(pieces: Iterable[Piece]) -> Iterator[Piece]:
            for piece in filter(inside, pieces):
                yield replace(
                    piece, size=min(piece.size, sizes.get(piece.space, piece.start + piece.size) - piece.start)
                )

        self.initial = list(clipped(self.initial))
        for row, action in self.actions.items():
            self.actions[row] = replace(action, pieces=tuple(clipped(action.pieces)))
        for row, expected in self.expected.items():
            limits = [(one, sizes.get(one.piece.space)) for one in expected]
            self.expected[row] = [o for o, limit in limits if limit is None or o.piece.start + o.piece.size <= limit]


_HOST = -1
_MOST_CORES = 64
_BEFORE_DESCRIPTOR = 8
_BLOCK = struct.Struct("<B3xIQ")
_FILLED = struct.Struct("<QQ")
_PLACE = struct.Struct("<QQ")
_WORD = 4
_GAP = 64
"""Bytes of zeros between two changes, at least."""
_SPACES = {"G": Space.GLOBAL, "R": Space.L2, "L": Space.LOCAL, "S": Space.STATIC}


def read_events(recording: Recording, offset_of: Callable[[int], int]) -> RecordedEvents:
    """All rows of a recording, in order. ``offset_of``: the offset in DDR of an absolute address."""
    return _Reader(recording, offset_of).read()


class _Known:
    """Bytes of DDR of which something is known."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []

    def add(self, start: int, stop: int) -> None:
        """These are known from here on."""
        first = bisect_left(self._stops, start)
        last = bisect_right(self._starts, stop)
        if first < last:
            start, stop = min(start, self._starts[first]), max(stop, self._stops[last - 1])
        self._starts[first:last] = [start]
        self._stops[first:last] = [stop]

    def holds(self, start: int, stop: int) -> bool:
        """Whether all of them are known."""
        position = bisect_right(self._starts, start) - 1
        return position >= 0 and stop <= self._stops[position]

    def split(self, start: int, stop: int) -> Iterator[tuple[int, int, bool]]:
        """[start, stop) cut where knowledge begins and ends, and whether each piece is known."""
        for position in range(bisect_right(self._stops, start), bisect_left(self._starts, stop)):
            first, last = max(start, self._starts[position]), min(stop, self._stops[position])
            if start < first:
                yield start, first, False
            yield first, last, True
            start = last
        if start < stop:
            yield start, stop, False


class _Reader:
    def __init__(self, recording: Recording, offset_of: Callable[[int], int]) -> None:
        self._offset_of = offset_of
        self._ddr_start = 0
        self._sizes: dict[Space, int] = {}
        self._names: dict[int, str] = {}
        self._data = recording.data
        self._recording = recording
        self._found = RecordedEvents()
        self._changed_before: dict[int, list[Piece]] = {}
        self._changed_at: list[tuple[int, Piece]] = []
        self._command_count = 0
        self._mark_count = 0
        self._known = _Known()
        self._from_host = _Known()
        self._host_rows_from: int | None = None
        self._tables: dict[int, dict[int, int]] = {}

    def read(self) -> RecordedEvents:
        self._read_blocks()
        take = {
            Event.NAME: self._name,
            Event.COMMAND: self._command,
            Event.HASH: self._hash,
            Event.BLOCK: self._told_block,
            Event.BASE: self._base,
            Event.MARK: self._mark,
            Event.COPY_IN: self._copy_in,
            Event.COPY_OUT: self._copy_out,
            Event.LAUNCH_BEGIN: self._launch_begin,
            Event.LAUNCH_END: self._launch_end,
        }
        by_number = {int(kind): handler for kind, handler in take.items()}
        for index, (kind, flags, core, size, start) in enumerate(self._recording.events.tolist()):
            handler = by_number.get(kind)
            if handler is not None:
                handler(index, flags, core, start, size)
        events = self._found
        if not events.launches:
            events.launches.append(RecordedLaunch(None, 0))
        events.launches[0].start = 0
        for launch, following in zip(events.launches, events.launches[1:], strict=False):
            launch.stop = following.start
        events.launches[-1].stop = events.row_count
        return events

    def _region(self, index: int) -> None:
        region = self._recording.parsed(index, Region.parse)
        space = self._space(region.space)
        self._sizes[space] = max(self._sizes.get(space, 0), region.size)
        if space is Space.GLOBAL:
            self._ddr_start = region.start

    def _name(self, index: int, flags: int, core: int, start: int, size: int) -> None:
        name = self._recording.parsed(index, Name.parse)
        self._names[name.number] = name.text

    def _offset(self, space: Space, offset: int) -> int:
        """Offset in a space of a byte of its region."""
        return self._offset_of(self._ddr_start + offset) if space is Space.GLOBAL else offset

    def _row(self, engine: int, core: int, descriptor: int) -> int:
        events = self._found
        if core >= _MOST_CORES:
            raise BadInput(
                f"{self._recording.path}: command {events.row_count} is of core {core}; no chip has that many cores"
            )
        events.engine.append(engine)
        events.core.append(core)
        events.descriptor.append(descriptor)
        return events.row_count - 1

    def _command(self, index: int, flags: int, core: int, start: int, size: int) -> None:
        self._flush(index, self._changed_before.get(self._command_count, ()))
        if size <= _BEFORE_DESCRIPTOR:
            raise BadInput(f"{self._recording.path}: command {self._found.row_count} has no descriptor; record again")
        engine, mark = self._data[start : start + _BEFORE_DESCRIPTOR].view("<u4").tolist()
        row = self._row(engine, core, start + _BEFORE_DESCRIPTOR)
        if flags & CommandFlag.ISSUED and mark != NO_MARK:
            self._found.queued[row] = mark
        self._host_rows_from = None
        self._command_count += 1

    def _flush(self, index: int, more: Sequence[Piece] = ()) -> None:
        """Changes without a command that were told before an event, and those before its command, become one row."""
        position = bisect_left(self._changed_at, index, key=lambda change: change[0])
        pieces = [piece for _, piece in self._changed_at[:position]]
        del self._changed_at[:position]
        if pieces or more:
            self._action(HostAction("host.change", (*pieces, *more)))

    def _action(self, action: HostAction) -> None:
        row = self._row(_HOST, 0, 0)
        self._found.actions[row] = action
        if action.name == "host.copy_out":
            self._host_rows_from = None
        elif self._host_rows_from is None:
            self._host_rows_from = row

    def _read_blocks(self) -> None:
        """Contents of memory: at the start, and what changed before which command without one.

        A block of DDR or L2 is reported before the first command that touches it: its first report is its content at
        the start. Of a core's own memories only the reports before its commands count. Bytes of a launch that did not
        come from the host by then were written by the firmware.
        """
        known: defaultdict[tuple[Space, int], _Known] = defaultdict(_Known)
        busy: set[int] = set()
        from_host = _Known()
        commands = 0
        is_launched = False
        for index, (kind, flags, core, size, start) in enumerate(self._recording.events.tolist()):
            if kind == Event.COMMAND:
                commands += 1
                busy.add(core)
            elif kind == Event.HASH:
                hashed = self._recording.parsed(index, Hash.parse)
                known[self._space(hashed.space), core].add(hashed.offset, hashed.offset + hashed.size)
            elif kind == Event.REGION:
                self._region(index)
            elif kind == Event.LAUNCH_BEGIN:
                is_launched = True
            elif kind == Event.COPY_IN:
                address, length = self._data[start : start + _PLACE.size].view("<u8").tolist()
                from_host.add(self._offset_of(address), self._offset_of(address) + length)
            elif kind == Event.BLOCK:
                piece, command, offset = self._block(flags, core, start, size)
                self._found.extents.append(piece)
                made: list[Piece] = []
                told_before = known[piece.space, core]
                if told_before.holds(offset, offset + piece.size) or not (piece.space.is_shared or core not in busy):
                    made.append(piece)
                elif is_launched and piece.space is Space.GLOBAL and piece.content is not None:
                    for first, last, is_given in from_host.split(piece.start, piece.start + piece.size):
                        (self._found.initial if is_given else made).extend(self._used(piece, first, last))
                elif piece.content is not None or piece.word:
                    self._found.initial.append(piece)
                if command == NO_COMMAND:
                    self._changed_at += [(index, change) for change in made]
                elif made:
                    self._changed_before.setdefault(command, []).extend(made)
                told_before.add(offset, offset + piece.size)

    def _used(self, piece: Piece, start: int, stop: int) -> Iterator[Piece]:
        """Pieces of [start, stop) of a piece with content that are not zero, in words, with the short gaps in them."""
        assert piece.content is not None
        first = piece.content + start - piece.start
        used = np.flatnonzero(self._data[first : first + stop - start]) & -_WORD
        for run in np.split(used, np.flatnonzero(np.diff(used) > _GAP) + 1):
            if run.size:
                begin, end = start + int(run[0]), min(stop, start + int(run[-1]) + _WORD)
                yield replace(piece, start=begin, size=end - begin, content=first + begin - start)

    def _block(self, flags: int, core: int, start: int, size: int) -> tuple[Piece, int, int]:
        """A block, the command that it names, and its offset in the recorded region."""
        is_filled = bool(flags & BlockFlag.FILLED)
        if size < _BLOCK.size + (_FILLED.size if is_filled else 0):
            raise BadInput(f"{self._recording.path}: a block of {size} bytes is too short; record again")
        letter, command, offset = _BLOCK.unpack(self._data[start : start + _BLOCK.size].tobytes())
        space = self._space(chr(letter))
        after = start + _BLOCK.size
        content: int | None = after
        length, word = size - _BLOCK.size, 0
        if is_filled:
            length, word = _FILLED.unpack(self._data[after : after + _FILLED.size].tobytes())
            content = None
        if offset + length > self._sizes.get(space, 0):
            raise BadInput(
                f"{self._recording.path}: {length:,} bytes at {offset:,} of {space.title}, which has "
                f"{self._sizes.get(space, 0):,}; record again"
            )
        piece = Piece(space, core, self._offset(space, offset), length, content, word)
        return piece, command, offset

    def _tell(self, piece: Piece) -> None:
        if piece.space is Space.GLOBAL:
            self._known.add(piece.start, piece.start + piece.size)

    def _told_block(self, index: int, flags: int, core: int, start: int, size: int) -> None:
        self._tell(self._block(flags, core, start, size)[0])

    def _hash(self, index: int, flags: int, core: int, start: int, size: int) -> None:
        hashed = self._recording.parsed(index, Hash.parse)
        space = self._space(hashed.space)
        piece = Piece(space, core, self._offset(space, hashed.offset), hashed.size)
        self._tell(piece)
        self._found.extents.append(piece)
        if self._found.row_count:
            self._found.expected.setdefault(self._found.row_count - 1, []).append(Expected(piece, hashed.value))

    def _base(self, index: int, flags: int, core: int, start: int, size: int) -> None:
        base = self._recording.parsed(index, Base.parse)
        table = self._tables.setdefault(core, {})
        if table.get(base.tag) != base.base:
            self._tables[core] = {**table, base.tag: base.base}
            self._found.bases.append((self._found.row_count, core, self._tables[core]))

    def _mark(self, index: int, flags: int, core: int, start: int, size: int) -> None:
        if self._found.launches:
            mark = self._recording.parsed(index, Mark.parse)
            name = self._names.get(mark.name, "")
            self._found.launches[-1].marks.append((self._mark_count, name, mark))
        self._mark_count += 1

    def _copy_in(self, index: int, flags: int, core: int, start: int, size: int) -> None:
        self._flush(index)
        copy = self._recording.parsed(index, lambda data: CopyIn.parse(data, flags))
        content = start + size - copy.size if flags & CopyFlag.DATA else None
        piece = Piece(Space.GLOBAL, 0, self._offset_of(copy.address), copy.size, content)
        self._found.extents.append(piece)
        self._from_host.add(piece.start, piece.start + piece.size)
        name = "host.set" if flags & CopyFlag.SET else "host.copy_in"
        if content is not None:
            self._known.add(piece.start, piece.start + piece.size)
        self._action(HostAction(name, (piece,) if content is not None else (), piece))

    def _copy_out(self, index: int, flags: int, core: int, start: int, size: int) -> None:
        self._flush(index)
        copy = self._recording.parsed(index, CopyOut.parse)
        place = Piece(Space.GLOBAL, 0, self._offset_of(copy.address), copy.size)
        stop = place.start + place.size
        is_known = self._known.holds(place.start, stop)
        if is_known or not self._from_host.holds(place.start, stop):  # else what no event tells of is zero
            self._found.extents.append(place)
            self._action(HostAction("host.copy_out", (), place, copy.value, not is_known))
        else:
            self._action(HostAction("host.copy_out", (), place))

    def _launch_begin(self, index: int, flags: int, core: int, start: int, size: int) -> None:
        launch = self._recording.parsed(index, LaunchBegin.parse)
        first = self._found.row_count if self._host_rows_from is None else self._host_rows_from
        self._found.launches.append(RecordedLaunch(launch, first))

    def _launch_end(self, index: int, flags: int, core: int, start: int, size: int) -> None:
        end = self._recording.parsed(index, LaunchEnd.parse)
        for launch in reversed(self._found.launches):
            if launch.number == end.number:
                launch.end = end
                return

    def _space(self, letter: str) -> Space:
        if letter not in _SPACES:
            raise BadInput(f"{self._recording.path}: a memory {letter!r} is not known; record again")
        return _SPACES[letter]


def merged_extents(pieces: list[Piece], space: Space, grain: int) -> Iterator[tuple[int, int]]:
    """[start, stop) of the parts of a space that pieces are in, in steps of ``grain``, with no gap below it."""
    ends = sorted(
        (piece.start // grain * grain, -(-(piece.start + piece.size) // grain) * grain)
        for piece in pieces
        if piece.space is space
    )
    current: tuple[int, int] | None = None
    for start, stop in ends:
        if current is None:
            current = (start, stop)
        elif start <= current[1] + grain:
            current = (current[0], max(current[1], stop))
        else:
            yield current
            current = (start, stop)
    if current is not None:
        yield current
