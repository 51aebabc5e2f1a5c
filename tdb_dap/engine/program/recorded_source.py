"""The source of a recorded program: the final.mlir of its models, and which op each command is of."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from msgspec import Struct, field

from tdb_dap.engine.bmodel import RunMode, Stage
from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.program.accesses import views_of
from tdb_dap.engine.source.dynamic_mapping import Boundary, map_commands
from tdb_dap.engine.source.dynamic_records import Argument, Relocation, records_of, relocated
from tdb_dap.engine.source.joined_text import JoinedText
from tdb_dap.engine.source.mapped_tensor import dtype_of
from tdb_dap.engine.source.marks import Marks
from tdb_dap.engine.source.mlir_file import MlirFile, SourceFile
from tdb_dap.engine.source.op_records import Records
from tdb_dap.engine.source.source_map import SourceMap
from tdb_dap.engine.source.tensor_location import LocationRecord, decode_records

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command, Commands
    from tdb_dap.engine.program.recorded_events import RecordedEvents, RecordedLaunch
    from tdb_dap.engine.program.recorded_models import RecordedModel, RecordedModels
    from tdb_dap.engine.recording.payloads import LaunchBegin

_BEGIN = "dynamic_context_set_io_tensors"
_END = "dynamic_context_assign_final_outputs"

_PLACES = re.compile(r"module\.(\w+_(?:addr|size)) = (\d+)")


class Part(Struct):
    """A piece of a launch, rows [start, stop): a dynamic subnet with the calls of its firmware, or what is around it.

    ``function``: its name in the source, ``subnet`` its number in ``model``; empty and None where it is not known.
    ``borders``: where the compiler has put the net's
    inputs and outputs -> the device addresses that the launch was given; ``queued``: see
    ``map_commands``; ``relocations``: where the run has put what the compiler placed, once the part is mapped;
    ``lengths``: core and engine -> commands that the bmodel has for it, of a static subnet; ``net``: folder of the net,
    where that was compiled apart from others of its model.
    """

    launch: int
    start: int
    stop: int
    function: str = ""
    is_dynamic: bool = False
    model: RecordedModel | None = None
    subnet: int | None = None
    boundaries: list[Boundary] = field(default_factory=list)
    queued: dict[int, int] = field(default_factory=dict)
    arguments: list[Argument] = field(default_factory=list)
    relocations: list[Relocation] = field(default_factory=list)
    borders: dict[tuple[int, str], int] = field(default_factory=dict)
    lengths: dict[tuple[int, str], int] = field(default_factory=dict)
    net: str = ""


def parts_of(events: RecordedEvents, models: RecordedModels, source: RecordedSource) -> list[Part]:
    """The launches cut where dynamic subnets begin and end."""
    parts: list[Part] = []
    for index, launch in enumerate(events.launches):
        pieces = list(_pieces(index, launch, events.queued))
        parts += pieces
        if launch.info is None or (stage := models.stage_of(launch.info)) is None:
            continue
        model = models.model_of(launch.info)
        for piece, number in _path(stage, launch, pieces, events):
            piece.model, piece.subnet = model, number
            piece.net = models.folder_of(launch.info)
            piece.function = f"{source.prefix_of(model, piece.net)}subfunc_{number}"
            piece.arguments = _arguments(launch.info, stage, number)
            piece.lengths = _lengths(stage, number)
    return parts


def _lengths(stage: Stage, number: int) -> dict[tuple[int, str], int]:
    """Core and engine -> commands of a subnet in the bmodel."""
    subnet = next((subnet for subnet in stage.subnets if subnet.id == number), None)
    lengths: dict[tuple[int, str], int] = {}
    for core, groups in enumerate(subnet.groups if subnet is not None else ()):
        lengths[core, "tiu"] = sum(group.tiu_count for group in groups)
        lengths[core, "dma"] = sum(group.dma_count for group in groups)
    return lengths


def _path(
    stage: Stage, launch: RecordedLaunch, pieces: Sequence[Part], events: RecordedEvents
) -> Iterator[tuple[Part, int]]:
    """The subnet of each piece that has commands: the way that the run took, with its branches and loops."""
    infos = {info.id: info for info in stage.subnets}
    current = stage.subnets[0].id if stage.subnets else -1
    row = launch.start
    for piece in pieces:
        if all(events.engine[ordinal] < 0 for ordinal in range(piece.start, piece.stop)):
            continue
        wanted = RunMode.TPU_DYNAMIC if piece.is_dynamic else RunMode.TPU_STATIC
        ahead = current
        for _ in range(len(infos) + 1):
            info = infos.get(ahead)
            # The firmware has commands of its own around dynamic subnets, which are of no static one.
            if info is None or (info.run_mode is RunMode.TPU_DYNAMIC and info.run_mode is not wanted):
                break
            next_ids = [id for id in info.next_ids if id in infos]
            if info.run_mode is RunMode.SWITCH and len(next_ids) > 1:
                ahead = next_ids[_condition(events, row, piece.start)]
                continue
            ahead = next_ids[0] if next_ids else -1
            if info.run_mode is wanted:
                yield piece, info.id
                current = ahead
                break
        row = piece.stop


def _condition(events: RecordedEvents, start: int, stop: int) -> bool:
    """The condition of a SWITCH, which the runtime reads from the device: whether its bytes are anything but zeros."""
    actions = (events.actions.get(row) for row in range(stop - 1, start - 1, -1))
    digests = (a.digest for a in actions if a is not None and a.place is not None and a.place.size == _CONDITION_BYTES)
    return next((bool(digest) for digest in digests if digest is not None), False)


_CONDITION_BYTES = 4


def _arguments(launch: LaunchBegin, stage: Stage, number: int) -> list[Argument]:
    """Arguments of a subnet's function; those that are inputs of the net have the shapes of the launch."""
    given = {info.name: tensor.shape for info, tensor in zip(stage.inputs, launch.inputs, strict=False)}
    subnet = next(info for info in stage.subnets if info.id == number)
    return [Argument(info.name, given.get(info.name, info.shape)) for info in subnet.inputs]


def _pieces(index: int, launch: RecordedLaunch, queued: Mapping[int, int]) -> Iterator[Part]:
    """Never empty but where the launch is."""
    at = launch.start
    for part in _dynamic_parts(index, launch):
        numbers = [boundary.number for boundary in part.boundaries]
        part.queued = {
            row: queued[row]
            for row in range(at, launch.stop)  # what came before is of the part before, in a file that is in order
            if row in queued and numbers[0] <= queued[row] < numbers[-1]
        }
        if not part.queued:
            continue
        part.start, part.stop = max(at, min(part.queued)), max(part.queued) + 1
        if part.start > at:
            yield Part(index, at, part.start)
        yield part
        at = part.stop
    if launch.stop > at or at == launch.start:
        yield Part(index, at, launch.stop)


def _dynamic_parts(index: int, launch: RecordedLaunch) -> Iterator[Part]:
    """One for each dynamic subnet that the firmware went through, without its rows."""
    current: Part | None = None
    for number, name, mark in launch.marks:
        if name == _BEGIN:
            current = Part(index, 0, 0, is_dynamic=True)
        if current is not None:
            current.boundaries.append(Boundary(name, number, mark.shape))
            if name == _END:
                yield current
                current = None
    if current is not None:
        yield current


class RecordedSource:
    """One text for all models of a recording, in which functions and locations of several do not meet.

    ``path_of``: where a text is kept for editors to open, with the name of its net's folder; ``launched``: nets whose
    text is wanted, of models that were made of nets that were compiled apart. ``mlir``: None where there is no
    final.mlir.
    """

    def __init__(
        self, models: RecordedModels, path_of: Callable[[bytes, str], Path], launched: Container[str] = ()
    ) -> None:
        static_models = {model.source: model for model in models.models if model.source is not None and not model.nets}
        others = [
            ((model.number, net), source)
            for model in models.models
            for net, (source, _) in model.nets.items()
            if net in launched
        ]
        self._prefixes = {
            (model.number, ""): f"{_module(model, number)}." if len(static_models) + len(others) > 1 else ""
            for number, model in enumerate(models.models)
        }
        self._prefixes |= {
            key: f"model{key[0]}.{key[1]}." if len(models.models) > 1 else f"{key[1]}." for key, _ in others
        }
        self.mlir: MlirFile | None = None
        self._locations: dict[tuple[int, str], list[LocationRecord]] = {}
        self._first_lines: dict[tuple[int, str], int] = {}
        if not static_models and not others:
            return
        parts = [(self._prefixes[model.number, ""], source) for source, model in static_models.items()]
        parts += [(self._prefixes[key], source) for key, source in others]
        joined = JoinedText(parts)
        first = dict(zip(static_models, joined.before, strict=False))
        self._first_lines = {(one.number, ""): first[one.source] for one in models.models if one.source in first}
        self._first_lines |= dict(zip((key for key, _ in others), joined.before[len(static_models) :], strict=True))
        text = joined.text.decode("utf-8", "replace")
        if not others:
            own = [model.own_file() for model in static_models.values()]
            path = own[0] if len(own) == 1 else None
            origins = [
                SourceFile(there or Path(), hashlib.sha256(source).hexdigest(), before)
                for source, there, before in zip(static_models, own, joined.before, strict=True)
            ]
            sha256, several = (origins[0].sha256, ()) if len(origins) == 1 else ("", tuple(origins))
            self.mlir = MlirFile(text, path or path_of(joined.text, ""), sha256, parts=several)
            return
        names = [*("" for _ in static_models), *(net for (_, net), _ in others)]
        files = [
            SourceFile(path_of(source, net), hashlib.sha256(source).hexdigest(), before)
            for (_, source), net, before in zip(parts, names, joined.before, strict=True)
        ]
        self.mlir = MlirFile(text, files[0].path, files=files)

    def prefix_of(self, model: RecordedModel | None, net: str = "") -> str:
        """The prefix of the names of the functions of a model, or of one of its nets."""
        return self._prefixes.get((model.number, net), "") if model is not None else ""

    def map(self, commands: Commands, parts: Sequence[Part], geometry: Geometry) -> SourceMap:
        """Records for the commands of all parts whose function is known. The subnet of a record is its part."""
        count = len(commands)
        if self.mlir is None:
            return SourceMap.empty(None, count)
        raw: list[LocationRecord] = []
        owners = np.full(count, -1, np.int32)
        for number, part in enumerate(parts):
            if self.mlir.function_named(part.function) is None:
                continue
            own = [commands[ordinal] for ordinal in range(part.start, part.stop)]
            source_map = self._dynamic(part, own) if part.is_dynamic else self._static(part, own)
            ordinals = [instance for _, instance in source_map]
            records = [record for record, _ in source_map]
            key = (part.model.number, part.net) if part.model is not None else (0, "")
            regions = _regions(self.mlir, part.function, self._first_lines.get(key, 0))
            part.relocations = _relocations(source_map, own, geometry, regions, part)
            for index, instance in enumerate(ordinals, len(raw)):
                owners[instance] = index
            raw += [relocated(record, number, part.relocations) for record in records]
        records_ = Records(raw, owners, geometry, Marks(self.mlir))
        return SourceMap(self.mlir, records_, owners, np.array([record.line for record in raw], np.int64))

    def _dynamic(self, part: Part, commands: Sequence[Command]) -> list[tuple[LocationRecord, list[int]]]:
        """The ops of a dynamic function, from the firmware's report."""
        assert self.mlir is not None
        mapped = map_commands(self.mlir, part.function, commands, part.boundaries, part.queued)
        records = records_of(mapped, part.arguments)
        return [(record, instance.ordinals) for record, instance in zip(records, mapped, strict=True)]

    def _static(self, part: Part, commands: Sequence[Command]) -> list[tuple[LocationRecord, list[int]]]:
        """The ops of a static subnet, whose commands the compiler has counted; none where they are not all there."""
        streams: dict[tuple[int, str], list[int]] = {}
        for command in commands:
            if command.has_descriptor:
                streams.setdefault((command.core, command.engine), []).append(command.ordinal)
        by_ordinal = {command.ordinal: command for command in commands}
        records = self._records_of(part)
        for (core, engine), stream in streams.items():
            own = [record for record in records if record.core_id == core and engine in _COUNTED]
            counted = [(r.before[_COUNTED.index(engine)], r.after[_COUNTED.index(engine)]) for r in own]
            # The runtime's own commands come first: it waits for the cores, and copies inputs to where they are read.
            while len(stream) > part.lengths.get((core, engine), len(stream)) and (
                by_ordinal[stream[0]].name == _COPY or _are_waits(stream, counted, by_ordinal)
            ):
                del stream[0]
        mapped: list[tuple[LocationRecord, list[int]]] = []
        for record in records:
            ordinals: list[int] = []
            for engine, first, last in zip(_COUNTED, record.before, record.after, strict=True):
                stream = streams.get((record.core_id, engine), [])
                if not 0 <= first <= last <= len(stream):
                    return []
                ordinals += stream[first:last]
            mapped.append((record, sorted(ordinals)))
        return mapped

    def _records_of(self, part: Part) -> list[LocationRecord]:
        """The compiler's records of the subnet of a part, with the lines of the one text."""
        if part.model is None or part.subnet is None:
            return []
        key = part.model.number, part.net
        _, locations = part.model.nets.get(part.net, (b"", None)) if part.net else (b"", part.model.locations)
        if locations is None:
            return []
        if key not in self._locations:
            self._locations[key] = decode_records(locations, Path(part.model.path))
        first = self._first_lines.get(key, 0)
        chosen = [record for record in self._locations[key] if record.subnet_id == part.subnet]
        return [msgspec.structs.replace(record, line=record.line + first) for record in chosen] if first else chosen


def _are_waits(stream: Sequence[int], counted: Sequence[tuple[int, int]], by_ordinal: Mapping[int, Command]) -> bool:
    """Whether all that an op would have of an engine were commands that compute and move nothing."""
    each = ([by_ordinal[ordinal].is_system for ordinal in stream[first:last]] for first, last in counted)
    return by_ordinal[stream[0]].is_system and any(own and all(own) for own in each)


_COUNTED = ("tiu", "dma")
"""The engines whose commands the compiler counts, in the order in which it does."""

_COPY = "dma.general"
"""Command with which the runtime moves bytes between places of DDR."""


def _module(model: RecordedModel, number: int) -> str:
    names = [net.name for net in model.metadata.nets]
    return names[0] if len(names) == 1 else f"model{number}"


def _relocations(
    mapped: Sequence[tuple[LocationRecord, Sequence[int]]],
    commands: Sequence[Command],
    geometry: Geometry,
    regions: Sequence[tuple[int, int]],
    part: Part,
) -> list[Relocation]:
    """Moves of the weights and the activations, and before them of inputs and outputs of their own.

    Found by counting: an op's commands read where final.mlir has its operands and write where it has its results, all
    of a region moved by the same distance. An address that a region before has explained counts no more. ``regions``:
    [start, stop) as the compiler placed them. The firmware of a dynamic subnet is given the net's inputs themselves,
    so that is what engines read whose commands are not decoded.
    """
    by_ordinal = {command.ordinal: command for command in commands}
    looked = [
        (
            {entry["address"] for entry in record.list_of(key) if entry},
            _touched(ordinals, by_ordinal, is_write, geometry),
        )
        for number, (record, ordinals) in enumerate(mapped)
        if number < _MOST_COUNTED or _is_at_border(record, part.borders)
        for is_write, key in ((False, "operands"), (True, "results"))
    ]
    everywhere = {address for _, touched in looked for address in touched}
    base = geometry.device_address(Space.GLOBAL, 0)
    # The runtime tells addresses without the tag that commands on some chips have.
    sizes = _sizes(mapped)
    found_moves: list[Relocation] = []
    explained: set[int] = set()
    for (old, name), new in part.borders.items():
        for candidate in (new, base + new):
            # An op may take a part of a tensor that does not begin with its first byte.
            inside = {at for at in everywhere if candidate <= at < candidate + sizes.get((old, name), 1)}
            if inside:
                found_moves.append(Relocation(old, old + 1, candidate - old, name))
                explained |= {candidate, *inside}
    placed = {move.start for move in found_moves}
    opaque = _opaque(mapped, by_ordinal) if part.is_dynamic else frozenset[str]()
    given = [
        Relocation(
            old, old + 1, next(candidate for candidate in (new, base + new) if _is_ddr(candidate, geometry)) - old, name
        )
        for (old, name), new in part.borders.items()
        if name in opaque and old not in placed and (_is_ddr(new, geometry) or _is_ddr(base + new, geometry))
    ]
    placed |= {move.start for move in given}
    waiting = list(regions)
    while waiting:
        # The clearest first: in a net of one op only what has been explained tells its weights from its inputs.
        counted = [(_counted(looked, region, placed, explained), region) for region in waiting]
        (_, offset), (start, stop) = max(counted, key=lambda one: one[0][0])
        waiting.remove((start, stop))
        if offset is not None:
            found_moves.append(Relocation(start, stop, offset))
            explained |= {
                address + offset for addresses, _ in looked for address in addresses if start <= address < stop
            }
    return [*given, *found_moves]


def _is_at_border(record: LocationRecord, borders: Container[tuple[int, str]]) -> bool:
    """Whether an op takes an input or leaves an output."""
    entries = filter(None, (*record.list_of("operands"), *record.list_of("results")))
    return any((entry["address"], entry["name"]) in borders for entry in entries)


def _sizes(mapped: Sequence[tuple[LocationRecord, Sequence[int]]]) -> dict[tuple[int, str], int]:
    """Bytes of operands and results by the compiler's address and name."""
    sizes: dict[tuple[int, str], int] = {}
    for record, _ in mapped:
        for entry in filter(None, (*record.list_of("operands"), *record.list_of("results"))):
            dtype = dtype_of(entry["memory_type"])
            sizes[entry["address"], entry["name"]] = math.prod(entry["shape"]) * (dtype.itemsize if dtype else 1)
    return sizes


def _is_ddr(address: int, geometry: Geometry) -> bool:
    return geometry.locate(address)[0] is Space.GLOBAL


def _opaque(
    mapped: Sequence[tuple[LocationRecord, Sequence[int]]], by_ordinal: Mapping[int, Command]
) -> frozenset[str]:
    """Names of operands of ops some of whose commands are not decoded: what those read is not seen."""
    return frozenset(
        entry["name"]
        for record, ordinals in mapped
        if any(not by_ordinal[ordinal].has_descriptor for ordinal in ordinals)
        for entry in record.list_of("operands")
        if entry
    )


def _counted(
    looked: Sequence[tuple[set[int], set[int]]], region: tuple[int, int], placed: set[int], explained: set[int]
) -> tuple[int, int | None]:
    """By how many a region's most frequent distance leads, and the distance; None where nothing was touched."""
    start, stop = region
    votes = Counter[int]()
    for addresses, touched in looked:
        own = {address for address in addresses - placed if start <= address < stop}
        votes.update(there - address for address in own for there in touched - explained)
    best = votes.most_common(2)
    if not best:
        return -1, None
    return best[0][1] - (best[1][1] if len(best) > 1 else 0), best[0][0]


def _touched(
    ordinals: Sequence[int], by_ordinal: Mapping[int, Command], is_write: bool, geometry: Geometry
) -> set[int]:
    """Device addresses at which commands begin to read, or to write, in DDR."""
    return {
        geometry.device_address(Space.GLOBAL, view.address)
        for ordinal in ordinals
        for view in views_of(by_ordinal[ordinal], is_write)
        if view.space is Space.GLOBAL
    }


_MOST_COUNTED = 400
"""Ops that are looked at to find out how far the addresses have moved, and all that take inputs or leave outputs."""


def _regions(mlir: MlirFile, function: str, first: int) -> list[tuple[int, int]]:
    """[start, stop) of the weights, activations, inputs and outputs of the module that a function is in.

    ``first``: lines before those of its own file.
    """
    at = mlir.function_named(function)
    regions: dict[str, int] = {}
    for line in mlir.lines[first : at.line if at is not None else first]:
        if line.lstrip().startswith("module"):
            regions.update({name: int(number) for name, number in _PLACES.findall(line)})
    pairs = ((regions.get(f"{name}_addr"), regions.get(f"{name}_size", 0)) for name in ("coeff", "neuron", "io"))
    return [(start, start + size) for start, size in pairs if start is not None and size]
