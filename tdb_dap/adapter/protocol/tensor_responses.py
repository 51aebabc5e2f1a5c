"""Bodies of ``tdb/tensor...`` and ``tdb/inlineValues``: the numbers of a tensor, and who writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from typing_extensions import NotRequired, TypedDict

from tdb_dap.adapter.protocol.model_responses import exact
from tdb_dap.engine.expressions.lexer import Level

NumberFormat = Literal["f32", "f64"]


@exact
class TensorDescription(TypedDict):
    """Body of `tdb/tensor`."""

    title: str
    shape: list[int]
    dtype: str
    scale: float
    zeroPoint: int
    hasReference: bool
    pending: bool
    """What computes it has not run."""
    focus: int
    """Command whose names the expression uses."""
    level: Level
    ordinal: int
    commands: int
    type: NotRequired[str]
    """As a memref; missing where the tensor is not in memory."""
    layout: NotRequired[str]
    memory: NotRequired[str]
    """Memory reference."""


@exact
class TensorNumbers(TypedDict):
    """Body of `tdb/tensorTile` and `tdb/tensorData`."""

    shape: list[int]
    format: NumberFormat
    data: str
    """Little-endian numbers in base64."""


@exact
class LargestElement(TypedDict):
    """One of the elements of largest magnitude."""

    index: list[int]
    value: str


@exact
class TensorStatistics(TypedDict):
    """Body of `tdb/tensorStatistics`; null: no element is finite."""

    minimum: float | None
    maximum: float | None
    mean: float | None
    deviation: float | None
    nan: int
    inf: int
    zeros: int
    saturated: int
    """Stored integers at the ends of their range."""
    histogram: Sequence[int]
    largest: list[LargestElement]


@exact
class TensorElement(TypedDict):
    """Body of `tdb/tensorElement`; numbers as text."""

    stored: str
    bits: str
    binary: NotRequired[str]
    actual: str
    reference: NotRequired[str]
    error: NotRequired[str]


@exact
class InlineValue(TypedDict):
    """A value next to a line."""

    line: int
    name: str
    """The word in the line that it belongs to: a value id, or an address of the listing."""
    text: str
    """The verdict, if there is a reference, and the extremes."""


@exact
class InlineValues(TypedDict):
    """Body of `tdb/inlineValues`."""

    values: list[InlineValue]


@exact
class TensorWriter(TypedDict):
    """An op instance, or a command of no op, that writes to a tensor's memory."""

    first: int
    """Ordinal of its first command that does."""
    last: int
    commands: int
    line: int
    """0 for none."""
    opcode: str
    name: str


@exact
class TensorWriters(TypedDict):
    """Body of `tdb/tensorWriters`."""

    writers: list[TensorWriter]
    isComplete: bool
    """Whether there are no more."""
