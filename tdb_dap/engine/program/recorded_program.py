"""A recorded run of the vendor's runtime as a program: every command that it executed, and what the host did between.

A launch of a net is what a subnet is in a compiled model. DDR is one space whose offsets are absolute addresses: where
addresses have tags, the base registers that were recorded say where a tag is, and they may change from launch to
launch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from tdb_dap.engine.bmodel import ModelFile, Net, Span, Stage
from tdb_dap.engine.commands.commands import ENGINES, Columns, Command
from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.context import Context
from tdb_dap.engine.hardware.dtypes import UI8, Array
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.memory import Bytes, Memory, Region
from tdb_dap.engine.hardware.strides import contiguous
from tdb_dap.engine.hardware.target import Description, Message, Target
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.engine.program.accesses import hull, views_of
from tdb_dap.engine.program.program import Launch, Program, Subnet
from tdb_dap.engine.program.recorded_events import (
    Expected,
    Piece,
    RecordedEvents,
    merged_extents,
    read_events,
)
from tdb_dap.engine.program.recorded_launches import Borders, launches_of
from tdb_dap.engine.program.recorded_models import RecordedModels, model_in
from tdb_dap.engine.program.recorded_source import Part, RecordedSource, parts_of
from tdb_dap.engine.recording.format import STREAMS, Event, hash_of
from tdb_dap.engine.recording.recording import Recording
from tdb_dap.engine.rendering.printable import visible
from tdb_dap.engine.source.dynamic_records import moved
from tdb_dap.errors import BadInput

GRAIN = 1 << 16
"""Bytes of a piece of DDR; only pieces that were used exist."""

_ENGINES = {0: "tiu", 1: "dma", 2: "hau", 3: "sdma"}
"""Engine by the number that the vendor's library is called with.

On chips without a system DMA 3 is the one that gathers and scatters (GDE).
"""

_STAND_INS = ("gde", "hau")
"""Engines whose commands are not decoded: what they wrote was recorded when another command touched it."""


if TYPE_CHECKING:
    from tdb_dap.engine.program.compiled_program import CompiledProgram


class RecordedTarget(Target, Protocol):
    """A chip whose addresses can be those of a run."""

    def with_bases(self, bases: Mapping[int, int]) -> RecordedTarget:
        """The chip with DDR as one space of absolute addresses. ``bases``: address of the first byte of each tag."""
        ...


class RecordedProgram(Program):
    """All launches of a recording.

    ``target_for(chip, file)`` finds the chip, ``chip_of`` the chip of an emulator's file; ``source_path``: where
    a final.mlir that came with the recording is kept for editors to open; ``compiled``: the model whose run it is,
    where that is at hand.
    """

    def __init__(
        self,
        path: Path,
        target_for: Callable[[str, str], RecordedTarget],
        chip_of: Callable[[str], str | None],
        source_path: Callable[[bytes, str], Path],
        compiled: CompiledProgram | None = None,
    ) -> None:
        self._compiled = compiled
        self.recording = Recording.read(path)
        self.models = RecordedModels(self.recording, chip_of, model_in(compiled) if compiled is not None else None)
        chip = self.models.chip
        plain = target_for(chip, str(path))
        flat = plain.with_bases({}).geometry
        self.events = read_events(self.recording, lambda address: flat.locate(address)[1])
        self.events.clip({Space.STATIC: flat.static_bytes, Space.L2: flat.l2_bytes, Space.LOCAL: flat.local_bytes})
        self._targets = _Targets(plain, self.events)
        target = self._targets.at(0, 0)
        launches = self.events.launches
        launched = {self.models.folder_of(launch.info) for launch in launches if launch.info is not None}
        source = RecordedSource(self.models, source_path, launched)
        parts = parts_of(self.events, self.models, source)
        columns = self._columns(target, parts)
        borders = Borders(self.events, self.models, target.geometry)
        infos = tuple(borders.of(index, part) for index, part in enumerate(parts))
        for info, part in zip(infos, parts, strict=True):
            part.borders = borders.places(info, part)
        first, last = infos[0], infos[-1]
        stage = Stage(first.inputs, last.outputs, 0, Span(0, 0), 0, 0, 0, 0, 1, infos)
        names = list(dict.fromkeys(launch.info.net for launch in launches if launch.info is not None))
        super().__init__(
            Context(path.parent, path, source.mlir.path if source.mlir else None, None, None, None)
            if compiled is None
            else compiled.context,
            target,
            chip,
            self.models.compiler,
            Net(names[0] if len(names) == 1 else path.stem, 0, (stage,)),
            0,
            columns,
            self.recording.data,
            _HostActions(self.events, target.geometry),
            self._targets.at,
        )
        self.launches = tuple(launches_of(launches))
        self.source = source.map(self.commands, parts, target.geometry)
        self._activations = _activations(compiled.stage, parts, target.geometry) if compiled is not None else None
        self.subnets = tuple(
            Subnet(
                info.id,
                info.run_mode.value,
                part.start,
                part.stop,
                part.function or f"launch_{part.launch}",
                tuple(Tensor.of(t, target.geometry) for t in info.inputs),
                tuple(Tensor.of(t, target.geometry) for t in info.outputs),
                self._title(part),
            )
            for info, part in zip(
                [borders.of_function(*known) for known in zip(infos, parts, strict=True)], parts, strict=True
            )
        )

    def borders_of(self, launch: Launch) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        subnets = zip(self.subnets, self.stage.subnets, strict=True)
        info = next(info for subnet, info in subnets if launch.start <= subnet.start < launch.stop)
        geometry = self.target.geometry
        return tuple(Tensor.of(t, geometry) for t in info.inputs), tuple(Tensor.of(t, geometry) for t in info.outputs)

    def _title(self, part: Part) -> str:
        """``launch 3 of toy (1×3×32×32), subfunc_0:``, a line of the listing."""
        launch = self.launch_at(part.start)
        if launch is None:
            return "commands that belong to no launch:"
        return f"{launch.title}, {part.function}:" if part.function else f"{launch.title}:"

    @property
    def notices(self) -> tuple[str, ...]:
        """Texts about what is not in the recording: it was interrupted, or the recorder could not see everything."""
        payloads = (self.recording.payload(index) for index in self.recording.of(Event.REMARK).tolist())
        texts = (self.recording.remark, *(text.decode("utf-8", "replace")[:_LONGEST_NOTICE] for text in payloads))
        return tuple(dict.fromkeys(visible(text) for text in texts if text))

    has_waits = False
    brings_inputs = True
    shares_l2 = True
    begins_at_op = True

    @property
    def of_firmware(self) -> Collection[int]:
        return self.events.queued

    @property
    def is_executable(self) -> bool:
        return self.recording.head.get("mode") != STREAMS

    @property
    def nets(self) -> tuple[Net, ...]:
        return tuple(net for model in self.models.models for net in model.metadata.nets)

    @property
    def bmodel(self) -> ModelFile:
        if self._compiled is None:
            raise BadInput(f"{self.context.bmodel}: is a recording; this needs the compiled model that was run")
        return self._compiled.bmodel

    def _columns(self, target: Target, parts: Sequence[Part]) -> Columns:
        events, data = self.events, self.recording.data
        count = events.row_count
        kinds = np.full(count, -1, np.int32)
        engines = np.empty(count, np.int8)
        ids = np.zeros(count, np.int64)
        counters: dict[tuple[int, int, int], int] = {}
        launches = np.zeros(count, np.int32)
        for index, part in enumerate(parts):
            launches[part.start : part.stop] = index
        rows = zip(events.engine, events.core, events.descriptor, launches.tolist(), strict=True)
        for row, (engine, core, start, launch) in enumerate(rows):
            is_action = row in events.actions
            key = (launch, core, engine) if not is_action else (0, 0, -1)
            counters[key] = ids[row] = counters.get(key, 0) + 1
            name = "host" if is_action else self._engine(target, engine, row)
            engines[row] = ENGINES.index(name)
            if name in (*_STAND_INS, "host"):
                events.expected.pop(row, None)
                continue
            kind = target.kind_of(name, data[start : start + _HEAD].tobytes())
            if kind is None:
                raise BadInput(
                    f"{self.recording.path}: command {row} has a descriptor that {target.name} does not know"
                )
            kinds[row] = kind
        nothing = np.zeros(count, np.int64)
        return Columns(
            engine=engines,
            core=np.array(events.core, np.int16),
            subnet=launches,
            kind=kinds,
            offset=np.array(events.descriptor, np.int64),
            id=ids,
            dependency=nothing,
            listed=nothing,
        )

    def _engine(self, target: Target, number: int, row: int) -> str:
        """An engine by the number that the vendor's library is called with."""
        name = _ENGINES.get(number)
        if name == "sdma" and not target.has_engine(name):
            return "gde"
        if name is None:
            raise BadInput(
                f"{self.recording.path}: command {row} is of engine {number}, which is not known; "
                "record again with this version of tdb-dap"
            )
        return name

    @cached_property
    def _extents(self) -> list[tuple[int, int]]:
        """[start, stop) of the parts of DDR that the run has used."""
        tensors = [
            Piece(Space.GLOBAL, 0, tensor.address, tensor.size, None)
            for launch in self.events.launches
            if launch.info is not None
            for tensor in (*launch.info.inputs, *launch.info.outputs)
            if tensor.size
        ]
        extents = list(merged_extents([*self.events.extents, *tensors, *self._copied_on], Space.GLOBAL, GRAIN))
        size = sum(stop - start for start, stop in extents)
        if size > limits.DEVICE_MEMORY:
            raise BadInput(
                f"{self.recording.path}: its commands use {size:,} bytes of DDR, more than the limit of "
                f"{limits.readable(limits.DEVICE_MEMORY)}; is the file damaged?"
            )
        return extents

    @property
    def _copied_on(self) -> Iterator[Piece]:
        """DDR that launches read which were given zeros: a runtime copies inputs on, and of zeros no event tells."""
        actions = self.events.actions
        for launch in self.events.launches:
            ordinals = range(launch.start, launch.stop)
            if any(o in actions and actions[o].place is not None and not actions[o].pieces for o in ordinals):
                for command in self.commands[launch.start : launch.stop]:
                    for view in views_of(command, False) if command.engine != "tiu" else ():
                        if view.space is Space.GLOBAL:
                            first, stop = hull(view)
                            yield Piece(Space.GLOBAL, 0, first, stop - first, None)

    def ddr_regions(self, to_write: bool = False) -> list[Region]:
        regions = [
            Region(start, np.zeros(stop - start, np.uint8), "DDR", True, self._activations_in(start, stop))
            for start, stop in self._extents
        ]
        for piece in self.events.initial:
            if piece.space is Space.GLOBAL:
                region = next(r for r in regions if r.start <= piece.start < r.stop)
                first = piece.start - region.start
                region.data[first : first + piece.size] = self._content(piece)
        return regions

    def _activations_in(self, start: int, stop: int) -> tuple[int, int] | None:
        """Place and size of the net's activations in an extent of DDR, as far as the run has touched them."""
        if self._activations is None or not start <= self._activations[0] < stop:
            return None
        first, size = self._activations
        return first - start, min(size, stop - first)

    def _content(self, piece: Piece) -> Bytes:
        if piece.content is None:
            words = np.full(-(-piece.size // 8), piece.word, "<u8").view(np.uint8)
            return words[: piece.size]
        return self.recording.data[piece.content : piece.content + piece.size]

    def fill_tables(self, memory: Memory, tables: str) -> None:
        """Write the recorded contents of the chip's own memories; the chip's tables where there are none."""
        recorded = [piece for piece in self.events.initial if piece.space is not Space.GLOBAL]
        super().fill_tables(memory, tables)
        if any(piece.space is Space.STATIC for piece in recorded):
            for core in range(memory.cores):
                memory.static(core).fill(0)
        for piece in recorded:
            if piece.core < memory.cores:
                memory.write_bytes(piece.space, piece.start, self._content(piece).tobytes(), piece.core)

    def message_of(self, ordinal: int) -> Message | None:
        """None: the order is the one in which the commands were executed."""
        return None

    def outside_writes(self, ordinal: int, memory: Memory) -> tuple[tuple[View, Array], ...] | None:
        action = self.events.actions.get(ordinal)
        if action is None:
            return () if self.commands[ordinal].engine in _STAND_INS else None
        return tuple((_view(piece, self.target.geometry), self._content(piece)) for piece in action.pieces)

    def may_keep(self, ordinal: int) -> bool:
        """Blocks that changed without a command are recorded as a whole."""
        action = self.events.actions.get(ordinal)
        return action is not None and action.name == "host.change"

    @property
    def verifies(self) -> bool:
        return True

    def mismatch(self, ordinal: int, memory: Memory) -> str | None:
        for expected in self.events.expected.get(ordinal, ()):
            piece = expected.piece
            if hash_of(memory.bytes_at(piece.space, piece.start, piece.size, piece.core)) != expected.digest:
                return self._says(expected)
        action = self.events.actions.get(ordinal)
        if action is not None and action.place is not None and action.digest is not None:
            place = action.place
            if hash_of(memory.bytes_at(place.space, place.start, place.size, place.core)) != action.digest:
                if not action.is_unknown:
                    return self._says(Expected(place, action.digest))
                name = self.target.geometry.name(place.space, place.start)
                return (
                    f"the recording does not hold the {place.size:,} bytes from %{name} that the host read; "
                    "record the program again with this version of tdb-dap"
                )
        return None

    def _says(self, expected: Expected) -> str:
        piece = expected.piece
        name = self.target.geometry.name(piece.space, piece.start)
        return f"the {piece.size:,} bytes from %{name} are not those of the recorded run"


_LONGEST_NOTICE = 200

_HEAD = 256
"""Bytes of a recorded descriptor, at most."""


class _Targets:
    """The chip as it is valid for each row: with the base registers of the core at that time."""

    def __init__(self, plain: RecordedTarget, events: RecordedEvents) -> None:
        self._plain = plain
        self._rows: dict[int, list[int]] = {}
        self._tables: dict[int, list[dict[int, int]]] = {}
        self._made: dict[tuple[tuple[int, int], ...], Target] = {}
        for row, core, table in events.bases:
            self._rows.setdefault(core, []).append(row)
            self._tables.setdefault(core, []).append(table)

    def at(self, core: int, row: int) -> Target:
        """The chip for a row of a core."""
        rows = self._rows.get(core, [])
        position = bisect_right(rows, row)
        table = self._tables[core][position - 1] if position else {}
        key = tuple(sorted(table.items()))
        if key not in self._made:
            self._made[key] = self._plain.with_bases(table)
        return self._made[key]


class _HostActions:
    """The actions of the host as stand-ins for commands."""

    def __init__(self, events: RecordedEvents, geometry: Geometry) -> None:
        self._events = events
        self._geometry = geometry

    def text(self, command: Command) -> tuple[str, str]:
        action = self._events.actions.get(command.ordinal)
        if action is None:
            return command.engine, f"{command.token}: {command.engine} (not decoded; its results are in the recording)"
        places = action.pieces or ((action.place,) if action.place is not None else ())
        parts = [
            f"%{self._geometry.name(piece.space, piece.start)} ui8[{piece.size}]" for piece in places[:_MOST_NAMED]
        ]
        more = f", and {len(places) - _MOST_NAMED} more" if len(places) > _MOST_NAMED else ""
        listed = ", ".join(parts) + more
        if action.name == "host.copy_out":
            return action.name, f"{command.token}: {action.name}(source = {listed})"
        return action.name, f"{command.token}: {listed} = {action.name}"

    def description(self, command: Command) -> Description:
        action = self._events.actions.get(command.ordinal)
        if action is None:
            return Description(command.engine, command.engine, "", (), (), (), (), {}, ())
        operands: tuple[View, ...] = ()
        results: tuple[View, ...] = ()
        if action.name == "host.copy_out" and action.place is not None:
            operands = (_view(action.place, self._geometry),)
        elif action.pieces:
            results = tuple(_view(piece, self._geometry) for piece in action.pieces)
        elif action.place is not None:
            results = (_view(action.place, self._geometry),)
        summary = _SUMMARIES[action.name]
        roles = ("source",) * len(operands), ("destination",) * len(results)
        return Description(action.name, "host", summary, operands, roles[0], results, roles[1], {}, operands)


_MOST_NAMED = 4

_SUMMARIES = {
    "host.copy_in": "The host copies bytes into DDR.",
    "host.copy_out": "The host copies bytes out of DDR.",
    "host.set": "The host sets bytes of DDR.",
    "host.change": "Bytes that were changed without a command, by the host or the firmware.",
}


def _view(piece: Piece, geometry: Geometry) -> View:
    """The bytes as a flat tensor."""
    shape = (piece.size,)
    return View(piece.space, piece.start, shape, UI8, Layout.CONTIGUOUS, contiguous(shape), geometry, core=piece.core)


def _activations(stage: Stage, parts: Sequence[Part], geometry: Geometry) -> tuple[int, int] | None:
    """First byte in DDR and number of bytes of the net's activations in a run; None if no op tells."""
    compiled = stage.activations_address
    for part in parts:
        if any(not move.name and move.start <= compiled < move.stop for move in part.relocations):
            space, start = geometry.locate(moved(compiled, part.relocations, ""))
            if space is Space.GLOBAL:
                return start, stage.activations_size
    return None
