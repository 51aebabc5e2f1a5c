"""The folder ``bmprofile_data-N`` that the vendor's runtime leaves of a run on a board.

``global.profile`` is text: chip, net, frequency. ``iterN.profile`` is one run of one subnet, in blocks: a type and a
size (u32 each, little endian) before the content. Those of several cores follow each other in their order.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path

from msgspec import Struct, field

from tdb_dap.engine.files import limits
from tdb_dap.engine.files.bounded_files import read_file
from tdb_dap.errors import BadInput

GLOBAL = "global.profile"

_HEADER = struct.Struct("<II")
_SUMMARY = struct.Struct("<III")
_ADDRESS = 8
_RUN = re.compile(r"iter(\d+)\.profile")
_SETTING = re.compile(r"\[bmprofile\] (arch|net_name|tpu_freq)=(\S+)")


class Block(IntEnum):
    """Type of a block; there are more, which are not needed here."""

    SUMMARY = 1
    """Iteration, id of the subnet, its kind, and times of the host."""
    TIU = 3
    """Records of the TIU's monitor."""
    DMA = 4
    """Records of the DMA's monitor."""
    COMMANDS = 8
    """Address and offset of each stream, number of groups, and for each the commands of DMA and TIU."""
    SDMA = 11
    """Records of the SDMA's monitor."""


MONITORED = {Block.TIU: "tiu", Block.DMA: "dma", Block.SDMA: "sdma"}
"""Block -> the engine that it is about."""


class SubnetRun(Struct):
    """One run of one subnet.

    ``records``: by engine the monitor's records of each core; ``groups``: of each core (DMA commands, TIU commands) of
    each command group.
    """

    path: Path
    iteration: int = 0
    subnet: int = 0
    records: dict[str, list[bytes]] = field(default_factory=dict)
    groups: list[tuple[tuple[int, int], ...]] = field(default_factory=list)


class MonitorFiles(Struct):
    """A whole folder. ``frequency``: MHz that the chip was set to, None if that is not told."""

    folder: Path
    chip: str = ""
    net: str = ""
    frequency: float | None = None
    runs: list[SubnetRun] = field(default_factory=list)

    @property
    def last_iteration(self) -> list[SubnetRun]:
        """The runs of the subnets in the last iteration: the ones before it warm up."""
        last = max(run.iteration for run in self.runs)
        return [run for run in self.runs if run.iteration == last]


def read_monitor_files(folder: Path, streams: int) -> MonitorFiles:
    """Read such a folder, or the only one in a folder; BadInput says what is wrong.

    ``streams``: command streams of a core that a block of commands is about.
    """
    folder = _place(folder)
    files = MonitorFiles(folder)
    for key, value in _SETTING.findall(read_file(folder / GLOBAL, limits.REPORT).decode("utf-8", "replace")):
        if key == "arch":
            files.chip = value
        elif key == "net_name":
            files.net = value
        elif value.isdecimal() and len(value) < 8:
            files.frequency = float(value) or None
    numbers = sorted((int(match[1]), path) for path in folder.iterdir() if (match := _RUN.fullmatch(path.name)))
    files.runs = [_run(path, streams) for _, path in numbers]
    if not files.runs:
        raise BadInput(f"{folder}: holds no iter0.profile; was the run ended before it was written?")
    return files


def _place(folder: Path) -> Path:
    if not folder.is_dir():
        raise BadInput(f"{folder}: no folder; give the bmprofile_data-N that the runtime has written")
    if (folder / GLOBAL).is_file():
        return folder
    inner = sorted(path.parent for path in folder.glob(f"*profile_data-*/{GLOBAL}"))
    if len(inner) == 1:
        return inner[0]
    several = ", ".join(path.name for path in inner[:5])
    if inner:
        raise BadInput(f"{folder}: holds {several}; name one of them")
    raise BadInput(
        f"{folder}: holds no {GLOBAL}; give the bmprofile_data-N that a run with BMRUNTIME_ENABLE_PROFILE=1 leaves"
    )


def _run(path: Path, streams: int) -> SubnetRun:
    run = SubnetRun(path)
    for kind, content in _blocks(path):
        if kind == Block.SUMMARY:
            if len(content) < _SUMMARY.size:
                raise BadInput(f"{path}: damaged: the summary has {len(content)} bytes")
            run.iteration, run.subnet, _ = _SUMMARY.unpack_from(content)
        elif kind == Block.COMMANDS:
            run.groups.append(_groups(content, streams, path))
        elif kind in MONITORED:
            run.records.setdefault(MONITORED[Block(kind)], []).append(content)
    return run


def _blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    data = bytes(read_file(path, limits.TEXT))
    at = 0
    while at < len(data):
        if at + _HEADER.size > len(data):
            raise BadInput(f"{path}: cut off at byte {at:,}; copy it again")
        kind, size = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        if size > len(data) - at:
            raise BadInput(f"{path}: cut off at byte {len(data):,}: a block of {size:,} bytes begins at {at:,}")
        yield kind, data[at : at + size]
        at += size


def _groups(content: bytes, streams: int, path: Path) -> tuple[tuple[int, int], ...]:
    start = streams * 2 * _ADDRESS
    if len(content) < start + 4:
        raise BadInput(f"{path}: damaged: the commands of a core have {len(content)} bytes")
    count = int.from_bytes(content[start : start + 4], "little")
    if len(content) < start + 4 + 8 * count:
        return ()  # BM1690's runtime tells the number of groups, and nothing of them
    return tuple(_HEADER.unpack_from(content, start + 4 + 8 * index) for index in range(count))
