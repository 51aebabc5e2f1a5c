"""Bodies of ``tdb/trace`` and ``tdb/tensorHistory``: answers about the whole run."""

from __future__ import annotations

from typing_extensions import TypedDict

from tdb_dap.adapter.protocol.model_responses import exact


@exact
class TraceRow(TypedDict):
    """A hit. A value is null where there is not a single finite number; `texts` says what there is instead."""

    moment: int
    command: str
    line: int
    """0 for a command of no op."""
    op: str
    name: str
    core: int
    slice: str
    launch: int | None
    token: int | None
    isAfter: bool
    """Whether the values are those of the moment after the place, and not before it."""
    values: list[float | None]
    texts: list[str]


@exact
class TraceBody(TypedDict):
    """Body of `tdb/trace`."""

    text: str
    """The trace point in one line."""
    expressions: list[str]
    place: str
    """Empty for every op."""
    condition: str
    """Empty for always."""
    rows: list[TraceRow]
    """In the order of the run."""
    hits: int
    """All hits; more than `rows` where `most` is less."""
    places: int
    remarks: list[str]


@exact
class TensorReader(TypedDict):
    """A command that reads a version; ``opcode`` and ``name`` of its op, of the command where it has none."""

    ordinal: int
    opcode: str
    name: str


@exact
class TensorVersion(TypedDict):
    """Content of memory from one moment on."""

    moment: int
    first: int | None
    """The first and the last command that wrote it; null for what was there at the start, and for an edit."""
    last: int | None
    line: int
    opcode: str
    tensor: str
    """Name of the tensor whose bytes they are; empty where no tensor is named for them."""
    covers: bool
    """Whether the op writes all of it."""
    edit: str
    """What the user has set there; empty if it is no edit."""
    numbers: str
    changed: int
    """Elements that differ from the version before."""
    largest: float | None
    """By how much at most; null where that is no finite number."""
    readers: int
    readBy: list[TensorReader]
    """The first of them."""
    thumbnail: list[list[float | None]]
    """The first plane, at most 32 by 32; null where a number is not finite."""


@exact
class TensorHistory(TypedDict):
    """Body of `tdb/tensorHistory`."""

    title: str
    elements: int
    versions: list[TensorVersion]
    isComplete: bool
    remark: str
    """Why the run ends early; empty if it does not."""
