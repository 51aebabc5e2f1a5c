"""Bodies of ``tdb/timeline`` and ``tdb/times``: the commands of a program over time."""

from __future__ import annotations

from typing import Literal

from typing_extensions import NotRequired, TypedDict

from tdb_dap.adapter.protocol.model_responses import exact


@exact
class EngineTrack(TypedDict):
    """An engine of a core."""

    core: int
    engine: str


@exact
class TimelineOp(TypedDict):
    """An op instance: one slice of an op, on one core."""

    line: int
    opcode: str
    name: str
    slice: str


@exact
class CommandOrder(TypedDict):
    """Body of `tdb/timeline`: the lists without a plural have an entry for each command."""

    chip: str
    clockMHz: float | None
    timeUnit: Literal["microseconds", "cycles"]
    tracks: list[EngineTrack]
    track: list[int]
    """Index in `tracks`."""
    names: list[str]
    name: list[int]
    """Index in `names`."""
    ops: list[TimelineOp]
    op: list[int]
    """Index in `ops`, -1 for none."""
    waits: list[tuple[int, int]]
    """The second command, of another engine or core, waits for the first."""


@exact
class MemoryLevels(TypedDict):
    """Bytes in use in a memory: `bytes` from each of the `ordinals` on."""

    title: str
    core: int
    ordinals: list[int]
    bytes: list[int]


@exact
class CommandTimes(TypedDict):
    """Body of `tdb/times`, in the unit of `tdb/timeline`."""

    estimated: int
    """Commands whose time is known; of the others it is that of their kind."""
    commands: int
    start: list[float]
    duration: list[float]
    bytes: list[int]
    """Read and written by the estimated ones."""
    cyclesPerUnit: float
    expected: NotRequired[list[float]]
    """Durations before anything was measured; present where `start` and `duration` are those of a board."""
    memories: NotRequired[list[MemoryLevels]]
    """Present when all commands are estimated."""
