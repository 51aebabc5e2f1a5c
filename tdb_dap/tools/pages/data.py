"""Types of the data that a page shows.

``scripts/generate_extension_types.py`` writes them for the program of the page, in TypeScript.
"""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

_exact = with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))
"""No field but those declared; texts below fields describe them."""

Measured = float | Literal["NaN", "Infinity", "-Infinity"] | None
"""A metric; JSON has no number that is not finite. None where nothing was measured."""


@_exact
class GraphNode(TypedDict):
    """An op, or an argument of a subnet."""

    id: str
    opcode: str
    name: str
    label: str
    """Its name without the path that most names of its subnet begin with."""
    line: int
    """Line of final.mlir."""
    shape: list[int]
    """Shape of its first result."""
    dtype: str
    """Type of its first result."""
    subnet: str
    group: int | None
    """Line of the layer group around it."""
    color: str
    """As in CSS."""
    note: str
    """What the color says."""


@_exact
class GraphEdge(TypedDict):
    """``tail`` computes what ``head`` reads."""

    tail: str
    head: str
    value: str


@_exact
class GraphPage(TypedDict):
    """Page of `tdb-dap graph`."""

    kind: Literal["graph"]
    title: str
    colouring: Literal["dtype", "time", "verdict"]
    nodes: list[GraphNode]
    edges: list[GraphEdge]


@_exact
class ComparedMetrics(TypedDict):
    """A list for each metric, with a number for each tensor."""

    cosine: list[Measured]
    euclidean: list[Measured]
    sqnr: list[Measured]
    max_abs: list[Measured]
    max_rel: list[Measured]
    max_ulp: list[Measured]
    bad_share: list[Measured]
    nan_count: list[Measured]


@_exact
class ComparedTensors(TypedDict):
    """A list for each field, with an item for each tensor; a number in place of a text is its place in `texts`."""

    texts: list[str]
    line: list[int]
    opcode: list[int]
    name: list[int]
    role: list[int]
    index: list[int]
    verdict: list[int]
    blame: list[int]
    """Why it is wrong, or why it was not compared."""
    metrics: ComparedMetrics
    faults: list[int]
    """Places in the lists of tensors that are wrong by their own op."""
    culprit: int | None
    """Place of the first op at fault."""


@_exact
class TextTable(TypedDict):
    """A table of texts."""

    columns: list[str]
    lines: int
    """Column that holds lines of final.mlir, separated by commas."""
    kind: int
    """Column that rows can be chosen by."""
    rows: list[list[str]]


@_exact
class ErrorPicture(TypedDict):
    """Picture and histogram of the error of a tensor."""

    heat: list[str]
    """Rows of letters: `.` no error, `!` no number, else a digit of base 36, a quarter of a power of ten from 1e-8."""
    histogram: list[int]
    """Elements by relative error: 0, up to 1e-8, 1e-7, ... 1, and above."""


@_exact
class DifferingTensor(TypedDict):
    """A tensor that is described in full."""

    text: str
    line: int
    isCulprit: bool
    picture: ErrorPicture | None


@_exact
class ProfileSection(TypedDict):
    """Time of the ops. ``above``, ``below``: lines around the table."""

    above: str
    table: TextTable
    below: str


@_exact
class MlirText(TypedDict):
    """Text of final.mlir. ``wrong``: lines of ops that differ; ``longest``: letters after which lines are cut, or 0."""

    text: str
    wrong: list[int]
    longest: int


@_exact
class CheckPage(TypedDict):
    """Page of `tdb-dap check`."""

    kind: Literal["check"]
    title: str
    outcome: Literal["pass", "fail", "drift"]
    headline: str
    about: str
    differing: list[DifferingTensor]
    more: int
    """Tensors that differ and are not described."""
    tensors: ComparedTensors
    sanitizers: str
    layers: TextTable | None
    profile: ProfileSection | None
    source: MlirText | None


@_exact
class ZooCases(TypedDict):
    """A list for each field, with an item for each case; a number in place of a text is its place in `texts`."""

    texts: list[str]
    key: list[int]
    model: list[int]
    column: list[int]
    """Chip and precision."""
    status: list[int]
    """Place in `statuses` of the page."""
    change: list[int]
    seconds: list[float]
    was: list[float | None]
    """Seconds in the run before."""
    counting: list[int]
    """Places of the cases that make the run fail."""
    detailed: list[int]
    """Place of the case of each of the page's `details`."""


@_exact
class ZooFinding(TypedDict):
    """A thing that is wrong with a case."""

    rule: str
    text: str
    isNew: bool
    isTolerated: bool


@_exact
class ZooOp(TypedDict):
    """An op of a case."""

    name: str
    opcode: str
    line: int
    verdict: str
    cosine: Measured
    error: Measured
    """Largest difference."""
    was: str


@_exact
class ZooPicture(TypedDict):
    """Errors of a tensor; ``heat``: as in `ErrorPicture`."""

    name: str
    heat: list[str]


@_exact
class ZooDetail(TypedDict):
    """A case of the report. ``was``: its status in the previous run; ``more``: number of omitted findings."""

    text: str
    command: str
    was: str
    findings: list[ZooFinding]
    more: int
    ops: list[ZooOp]
    pictures: list[ZooPicture]


@_exact
class ZooRun(TypedDict):
    """A run. ``counts``: cases by status, in the order of `statuses`."""

    run: int
    started: str
    counts: list[int]


@_exact
class ZooExcuse(TypedDict):
    """A thing that is tolerated."""

    case: str
    what: str
    owner: str
    until: str


@_exact
class ZooPage(TypedDict):
    """Page of `tdb-dap zoo report`."""

    kind: Literal["zoo"]
    name: str
    run: int
    started: str
    tool: str
    complete: bool
    expected: int
    """Cases of a complete run."""
    before: ZooRun | None
    statuses: list[str]
    """The best first."""
    failures: int
    cases: ZooCases
    details: list[ZooDetail]
    columns: int
    """Most columns of the matrix."""
    gone: list[str]
    """Cases of the run before that this one has not."""
    tolerated: list[ZooExcuse]
    expired: list[ZooExcuse]
    flaky: list[tuple[str, str]]
    """Cases, and their statuses in the last runs."""
    trend: list[ZooRun]
    slowest: list[int]
    """Places in `cases`."""


@_exact
class ViewPage(TypedDict):
    """A page that asks the host of MCP Apps around it for the data. ``uri``: of the resource with that page."""

    kind: Literal["view"]
    uri: str
