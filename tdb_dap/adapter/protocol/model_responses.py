"""Body of the response to `tdb/model`: what a compiled model consists of."""

from __future__ import annotations

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict

exact = with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))
"""No field but those declared; texts below fields describe them."""


@exact
class BorderTensor(TypedDict):
    """An input or output of a net."""

    name: str
    dtype: str
    shape: list[int]
    address: str
    """As a listing names it."""
    size: int
    """Bytes, padding included."""
    scale: float
    zeroPoint: int


@exact
class ModelStage(TypedDict):
    """A net compiled for one set of input shapes."""

    inputs: list[BorderTensor]
    outputs: list[BorderTensor]
    cores: int
    subnets: int
    commandBytes: int
    weightBytes: int
    activationBytes: int
    ioBytes: int
    """Of inputs and outputs, where they have memory that is not the activations'."""


@exact
class ModelNet(TypedDict):
    """A net of a compiled model."""

    name: str
    stages: list[ModelStage]


@exact
class ModelSubnet(TypedDict):
    """A part of a net that runs in one way: as commands of the chip, made at run time, or on the host."""

    id: int
    kind: str
    function: str
    """Its name in final.mlir."""
    line: int
    """Of its function in final.mlir; 0 without."""
    first: int
    """Ordinal of its first command."""
    listingLine: int
    """Line of the listing of its first command."""
    commands: int
    engines: list[tuple[str, int]]
    """Commands by engine."""
    inputs: list[str]
    outputs: list[str]


@exact
class ModelOp(TypedDict):
    """An op that has commands."""

    line: int
    """Line of final.mlir."""
    opcode: str
    name: str
    dtype: str
    """Of its first result; empty where that is no tensor."""
    shape: list[int]
    subnet: int
    first: int
    """Ordinal of its first command."""
    listingLine: int
    """Line of the listing of its first command."""
    commands: int


@exact
class ModelWeight(TypedDict):
    """A weight, as the first op that loads it sees it; the expression `weight("NAME")` is its value."""

    name: str
    dtype: str
    shape: list[int]
    address: str
    size: int
    """Bytes."""
    line: int
    """Line of final.mlir; 0 without."""


@exact
class ModelLaunch(TypedDict):
    """A launch of a net in a recorded run, or in one of a language model."""

    number: int
    """As `goto launch N` and the breakpoint `launch:N` name it."""
    net: str
    shapes: str
    """Of its inputs in this run, `4×12`."""
    first: int
    """Ordinal of its first command."""
    entry: int
    """Ordinal of the first command of the net, after what the host does before it."""
    listingLine: int
    """Line of the listing of its first command."""
    commands: int
    token: int | None
    """Number of the token that it is for, in a run of a language model."""


@exact
class ModelRecording(TypedDict):
    """A recorded run, next to its commands."""

    arguments: list[str]
    """The program that was run, and its arguments."""
    time: str
    """When, in ISO 8601; empty where the file does not say."""
    exit: int | None
    """Its exit code; null where the recording was interrupted."""
    remark: str
    """What is missing at the end, or empty."""
    models: list[str]
    """Files of the models that it loaded."""


@exact
class ModelContents(TypedDict):
    """Body of `tdb/model`."""

    file: str
    size: int
    """Bytes of the file; 0 of a recording that is gone."""
    chip: str
    cores: int
    compiler: str
    net: str
    """The net that is loaded; subnets, ops and weights are its."""
    stage: int
    hasSource: bool
    """Whether there is a final.mlir."""
    commands: int
    nets: list[ModelNet]
    subnets: list[ModelSubnet]
    ops: list[ModelOp]
    weights: list[ModelWeight]
    launches: list[ModelLaunch]
    """Of a recorded run, in order; empty of a model that was not run."""
    recording: ModelRecording | None
    """Of a file that is a recording; null of a compiled model."""
