"""Bodies of the responses to the ``tdb/...`` requests (docs/requests.md).

A handler names the body it returns; mypy compares the dictionary with it. The types of the VS Code extension are
generated from these (``scripts/generate_extension_types.py``). Nothing here is needed while the adapter runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema
from typing_extensions import NotRequired, TypedDict

from tdb_dap.adapter.protocol.model_responses import exact
from tdb_dap.system.twins import twin
from tdb_dap.tools.check.schema import Row
from tdb_dap.tools.pages.data import GraphEdge, GraphNode
from tdb_dap.tools.profile.schema import ProfileReport
from tdb_dap.tools.sanitize.schema import SanitizerFinding


def _may_be_missing(schema: dict[str, Any]) -> None:
    """Of a field that is not always written."""
    del schema["default"]


class _Dumped:
    """Annotation of a dictionary: the JSON form of a type that is declared elsewhere."""

    def __init__(self, declared: Any) -> None:
        self.declared = declared

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(self.declared)


@exact
class TraceEvent(TypedDict):
    """One event of Chrome's Trace Event Format."""

    ph: Literal["M", "X", "C"]
    """M: name of a track; X: an op or a command; C: bytes in use."""
    name: str
    pid: int
    """Core."""
    tid: NotRequired[int]
    """Engine."""
    ts: NotRequired[float]
    """Start, in the unit of the trace."""
    dur: NotRequired[float]
    """Duration, in the unit of the trace."""
    cat: NotRequired[Literal["op", "command"]]
    args: dict[str, Any]


@exact
class TraceSource(TypedDict):
    """Traced program, and source of the times."""

    model: str
    chip: str
    clockMHz: float | None
    timeUnit: Literal["microseconds", "cycles"]
    source: str
    compilerFigures: bool


@exact
class Trace(TypedDict):
    """A profile in Chrome's Trace Event Format."""

    traceEvents: list[TraceEvent]
    displayTimeUnit: Literal["ns", "ms"]
    otherData: TraceSource


@exact
class ProfileBody(TypedDict):
    """Body of `tdb/profile`."""

    report: Annotated[dict[str, Any], _Dumped(ProfileReport)]
    trace: NotRequired[Annotated[dict[str, Any], _Dumped(Trace)]]
    """Present if it was asked for."""


@exact
class Graph(TypedDict):
    """Body of `tdb/graph`."""

    nodes: list[GraphNode]
    edges: list[GraphEdge]
    currentLines: list[int]
    """Lines of final.mlir whose op the stop is about."""


@exact
class OpTensor(TypedDict):
    """An operand or result of an op."""

    role: Literal["operand", "result"]
    name: str
    type: str
    layout: str
    address: str
    """Of its first byte, as in a listing; empty where it is not in memory."""
    expression: str
    """It, at the op's first command."""
    line: int
    """Of the op that computes it; 0 for none."""


@exact
class OpDetails(TypedDict):
    """Body of `tdb/op`."""

    line: int
    opcode: str
    name: str
    types: str
    attributes: list[tuple[str, str]]
    tensors: list[OpTensor]
    """Of its first instance."""
    instances: int
    """Slices, on all cores."""
    commands: int
    first: int | None
    """Ordinal of its first command, if it has any."""


@exact
class OpInstance(TypedDict):
    """An op that reads a tensor."""

    ordinal: int
    """Of its first command."""
    line: int
    opcode: str


@exact
class Resident(TypedDict):
    """A tensor in memory: bytes [start, stop), alive from command `born` to command `died`."""

    name: str
    space: str
    core: int
    start: int
    """In local memory a byte of a lane."""
    stop: int
    born: int
    died: int
    line: int
    """Line of final.mlir of the op that writes it."""
    opcode: str
    shape: list[int]
    dtype: str
    readers: list[OpInstance]
    lanes: list[tuple[int, int]]
    """In local memory, as [first, last + 1) of adjacent ones."""
    alive: bool


@exact
class Memory(TypedDict):
    """A memory and all tensors that are ever in it."""

    title: str
    space: str
    core: int
    size: int
    """Bytes (of a lane, for local memory); 0 without limit."""
    used: int
    """Bytes in use."""
    fragmentation: float
    """Share of the free bytes that is not in the largest gap."""
    residents: list[Annotated[dict[str, Any], _Dumped(Resident)]]


@exact
class Region(TypedDict):
    """A stretch of a memory that exists: bytes [start, stop)."""

    title: str
    space: str
    core: int
    start: int
    stop: int
    reference: str
    """Memory reference of its first byte."""


@exact
class MemoryMap(TypedDict):
    """Body of `tdb/memoryMap`."""

    ordinal: int
    commands: int
    lanes: int
    laneBytes: int
    bankBytes: int
    memories: list[Memory]
    regions: list[Region]


@exact
class Explanation(TypedDict):
    """Body of `tdb/explain`."""

    lines: list[str]


class ResultRow(twin(Row)):  # type: ignore[misc]
    """A tensor of an op that has been compared with the reference."""

    picture: None = Field(None, exclude=True)


@exact
class Results(TypedDict):
    """Body of `tdb/results`."""

    rows: list[Annotated[dict[str, Any], _Dumped(ResultRow)]]
    first: Annotated[dict[str, Any], _Dumped(ResultRow)] | None
    """The first that differs."""
    path: str | None
    """Of final.mlir; null where it is no file on disk."""
    withheld: str
    """Why nothing is compared although there is a reference: the run has other inputs. Else empty."""


class Finding(twin(SanitizerFinding)):  # type: ignore[misc]
    """A finding of a sanitizer."""

    path: str = Field(
        "",
        description="Missing where the finding belongs to no line of a file on disk.",
        json_schema_extra=_may_be_missing,
    )


@exact
class Findings(TypedDict):
    """Body of `tdb/findings`."""

    findings: list[Annotated[dict[str, Any], _Dumped(Finding)]]


@exact
class RegionSpan(TypedDict):
    """The region that a window of memory is in: bytes [start, stop)."""

    title: str
    start: int
    stop: int


@exact
class MemoryWindow(TypedDict):
    """Body of `tdb/memory`."""

    reference: str
    """Memory reference of the first byte."""
    space: str
    core: int
    start: int
    region: RegionSpan
    data: str
    """The bytes in base64."""
    numbers: Sequence[str]
    """The bytes as numbers of the type."""
    rows: list[str]
    """Address of each `rowBytes`."""


@exact
class WrittenNumber(TypedDict):
    """Body of `tdb/setMemory`."""

    number: str
    """What is there now."""
