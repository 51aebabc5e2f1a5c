"""Bodies of ``tdb/moment``, ``tdb/time`` and ``tdb/marks``: a moment of the run, and those that stand out."""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import NotRequired, TypedDict

from tdb_dap.adapter.protocol.model_responses import exact


@exact
class MlirPart(TypedDict):
    """A file of the text that lines of final.mlir count through."""

    name: str
    """With its folder, which is the net's: ``block_0/final.mlir``."""
    before: int
    """Lines before its first."""


@exact
class Moment(TypedDict):
    """Body of `tdb/moment`."""

    ordinal: int
    """Commands executed."""
    commands: int
    """Commands of the program."""
    lines: list[int]
    """Lines of final.mlir whose op the stop is about."""
    source: NotRequired[dict[str, Any]]
    """The final.mlir of the line as a Source of the Debug Adapter Protocol; missing where the model has none."""
    line: NotRequired[int]
    """The number of the line in that file."""
    files: list[MlirPart]
    """The files that lines count through, where there are several."""


@exact
class TimePoint(TypedDict):
    """Body of `tdb/time`."""

    ordinal: int
    """Commands executed."""
    commands: int
    """Commands of the program."""
    at: int
    """The moment that was asked about."""
    command: NotRequired[str]
    """The command that comes next then; missing at the end."""
    line: NotRequired[int]
    place: NotRequired[str]
    """The line with its file, where there are several."""
    op: NotRequired[str]
    location: NotRequired[str]
    launch: NotRequired[str]
    """The launch of a net that the moment is in, where there are several."""


@exact
class TimeMark(TypedDict):
    """A moment that stands out."""

    ordinal: int
    kind: Literal["breakpoint", "edit", "failing", "agent"]
    text: str


@exact
class TimeMarks(TypedDict):
    """Body of `tdb/marks`: in the order of time."""

    marks: list[TimeMark]
    isComplete: bool
    """Whether there are no more."""
