"""From the files that the vendor's library writes with ``FILE_DUMP_CMD=PREFIX`` to a recording.

One file holds the commands of one engine of a core, as its firmware has issued them: ``PREFIX.BD.0`` of the TIU,
``PREFIX.GDMA.0`` of the DMA, ``PREFIX.SDMA.0``; BM1690 adds numbers to the prefix. They hold no memory, so there is
nothing to compute with.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.commands.interleaving import merge
from tdb_dap.engine.files import limits
from tdb_dap.engine.files.atomic_files import cannot_write, refuse_unwritable
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.engine.hardware.target import Stream
from tdb_dap.engine.recording import format as form
from tdb_dap.engine.recording.payloads import CommandStart, Region
from tdb_dap.engine.recording.writer import Writer
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.version import __version__

_ENGINES = {"BD": "tiu", "GDMA": "dma", "SDMA": "sdma"}
_NUMBERS = {"tiu": 0, "dma": 1, "sdma": 3}
_NAME = re.compile(r"(?P<part>(-\d+)*)\.(?P<engine>BD|GDMA|SDMA|HAU)\.(?P<core>\d{1,2})(\.xz)?")


class _Commands(Struct, frozen=True):
    """The commands of one engine between two points at which it meets the others."""

    stream: Stream
    descriptors: list[bytes]

    @property
    def own(self) -> list[bytes]:
        """Without those that end a stream."""
        return [data for data, is_end in zip(self.descriptors, self.stream.is_end, strict=True) if not is_end]


def import_streams(prefix: Path, chip: Chip, path: Path) -> int:
    """Write the streams whose files begin with ``prefix`` to ``path``; how many commands there are.

    BadInput where there are none, or one cannot be decoded.
    """
    refuse_unwritable(path)
    if chip.vendor_library is None:
        raise BadInput(f"--chip {chip.name}: no emulator of it is known, so nothing can be from it")
    files = _files(prefix)
    notices: list[str] = []
    events = bytearray()
    region = Region("L", 0, 0, chip.vendor_library.file)
    events += form.event(form.Event.REGION, region.pack())
    count = 0
    for part in sorted({part for part, _, _ in files}):
        for core in sorted({core for of, core, _ in files if of == part}):
            for engine, descriptor in _core(files, part, core, chip, notices):
                payload = CommandStart(_NUMBERS[engine], form.NO_MARK, descriptor).pack()
                events += form.event(form.Event.COMMAND, payload, flags=form.CommandFlag.ISSUED, core=core)
                count += 1
    notices.insert(0, "imported from command streams, which hold no memory")
    head = {"arguments": [str(prefix)], "tdb_dap": __version__, "mode": form.STREAMS}
    try:
        with Writer(path, head) as writer:
            writer.events(events)
            for text in dict.fromkeys(notices[1:]):
                writer.events(form.event(form.Event.REMARK, text.encode()))
            writer.done({"remark": notices[0]})
    except OSError as error:
        raise cannot_write(path, error) from None
    return count


Files = dict[tuple[tuple[int, ...], int, str], Path]
"""Numbers after the prefix, core and engine -> file."""


def _files(prefix: Path) -> Files:
    files: Files = {}
    if prefix.parent.is_dir():
        for path in prefix.parent.iterdir():
            match = path.name.startswith(prefix.name) and _NAME.fullmatch(path.name[len(prefix.name) :])
            if match:
                part = tuple(map(int, match["part"].split("-")[1:]))
                files[part, int(match["core"]), match["engine"]] = path
    if not files:
        raise BadInput(
            f"{prefix}: no file begins so and ends in .BD.0 or .GDMA.0; the libraries for BM1688 and BM1690 write them "
            "with FILE_DUMP_CMD=PREFIX in the environment"
        )
    return files


def _core(
    files: Files, part: tuple[int, ...], core: int, chip: Chip, notices: list[str]
) -> Iterator[tuple[str, bytes]]:
    """The commands of one core in the order in which they can have been executed."""
    parts: dict[str, list[_Commands]] = {}
    for suffix, engine in _ENGINES.items():
        path = files.get((part, core, suffix))
        parts[engine] = list(_between_meetings(path, engine, chip)) if path is not None else []
    sorting = files.get((part, core, "HAU"))
    if sorting is not None and sorting.stat().st_size:
        notices.append(f"{sorting.name}: commands of HAU are not read")
    if parts["tiu"] and parts["dma"] and len(parts["tiu"]) != len(parts["dma"]):
        notices.append(f"core {core}: in which order its engines worked is not certain: they do not meet as often")
    for index in range(max(map(len, parts.values()))):
        tiu, dma, sdma = (paths[index] if index < len(paths) else None for paths in parts.values())
        if tiu is None or dma is None:
            alone = [(e, c) for e, c in (("tiu", tiu), ("dma", dma)) if c is not None]
            yield from ((engine, data) for engine, commands in alone for data in commands.own)
        else:
            yield from _merged(tiu, dma, core, notices)
        if sdma is not None:
            yield from (("sdma", data) for data in sdma.own)


def _merged(tiu: _Commands, dma: _Commands, core: int, notices: list[str]) -> Iterator[tuple[str, bytes]]:
    if any(_goes_back(commands.stream) for commands in (tiu, dma)):
        notices.append(f"core {core}: in which order its engines worked is not certain: a file holds several runs")
    try:
        is_dma, chosen = merge(tiu.stream, dma.stream, f"core {core}")
    except BadInput:
        notices.append(f"core {core}: in which order its engines worked is not certain: each waits for the other")
        yield from (("dma", data) for data in dma.own)
        yield from (("tiu", data) for data in tiu.own)
        return
    for of_dma, index in zip(is_dma.tolist(), chosen.tolist(), strict=True):
        yield ("dma", dma.descriptors[index]) if of_dma else ("tiu", tiu.descriptors[index])


def _goes_back(stream: Stream) -> bool:
    """Whether a command waits for less than one before it: its engine counts from 1 again, and nothing tells where."""
    waits = stream.dependencies[stream.dependencies > 0]
    return bool((np.diff(waits) < 0).any())


def _between_meetings(path: Path, engine: str, chip: Chip) -> Iterator[_Commands]:
    """The stream in pieces: engines count anew after they have waited for each other, and where ids begin again."""
    data = np.frombuffer(read_file(path, limits.TEXT), np.uint8)
    stream = chip.decode_stream(engine, data, None, str(path))
    if not stream.ids.size:  # an engine that has done nothing
        return
    waits = np.array([_is_wait(chip, int(k), data, int(o)) for k, o in zip(stream.kinds, stream.offsets, strict=True)])
    begins = np.zeros(stream.ids.size, np.bool_)
    begins[:1] = True
    begins[1:] = (np.diff(stream.ids) <= 0) | waits[:-1]
    starts = np.flatnonzero(begins)
    for start, stop in zip(starts, [*starts[1:], stream.ids.size], strict=True):
        piece = slice(int(start), int(stop))
        offsets, kinds = stream.offsets[piece], stream.kinds[piece]
        descriptors = [
            data[offset : offset + chip.kind_size(kind)].tobytes()
            for offset, kind in zip(offsets.tolist(), kinds.tolist(), strict=True)
        ]
        ids = stream.ids[piece]
        counted = replace(
            stream,
            kinds=kinds,
            offsets=offsets,
            ids=ids - (ids[0] - 1),
            dependencies=stream.dependencies[piece],
            listed=stream.listed[piece],
            is_end=stream.is_end[piece],
        )
        yield _Commands(counted, descriptors)


def _is_wait(chip: Chip, kind: int, data: np.ndarray[tuple[int], np.dtype[np.uint8]], offset: int) -> bool:
    if not chip.is_system(kind):
        return False
    message = chip.message(kind, data[offset : offset + chip.kind_size(kind)].tobytes(), 3)
    return message is not None and not message.is_send
