"""The outcome of a triage, as it is written to JSON."""

from __future__ import annotations

from typing import Literal

from tdb_dap.tools.report_schema import Measured

Kind = Literal["nothing wrong", "quantisation", "bug", "range", "calibration", "input", "fault", "incomplete"]

WRONG: tuple[Kind, ...] = ("bug", "range", "calibration", "input", "fault", "incomplete")
"""Verdicts that give exit code 1."""


class Place(Measured, frozen=True, kw_only=True):
    """An op in one level: ``stage``, ``file`` and ``line``; ``opcode``, as it is called there."""

    stage: str
    file: str
    line: int
    opcode: str


class Cost(Measured, frozen=True, kw_only=True):
    """A tensor and what its format costs: ``share``: error made by its op over the size of its numbers.

    ``saturated``: share of the elements whose exact value the format cannot hold.
    """

    name: str
    opcode: str
    stage: str
    share: float
    saturated: float


class StageRow(Measured, frozen=True, kw_only=True):
    """A stage. ``tensors``: how many its ops compute; ``judged``: those with a verdict; ``known``: those in its file.

    ``borrowed``: those that its file lacks and that were taken from the bmodel's run; ``missing``: what it lacks;
    ``unknown``: ops without a golden; ``zeros``: tensors that are all zeros, which proves nothing.
    """

    stage: str
    file: str
    tensors: int
    known: int = 0
    borrowed: int = 0
    judged: int
    bugs: int
    missing: str
    unknown: tuple[str, ...]
    zeros: int = 0


class Triage(Measured, frozen=True, kw_only=True):
    """A whole triage. ``verdict`` in one word, ``sentence`` in one sentence; ``command`` shows it.

    ``stage``: where it went wrong first; ``places``: the op there and its counterparts; ``error``, ``cost``: roots of
    the mean squares of the error that this op makes itself and of what its format costs; ``cosine``: of the last
    stage's output with the imported model's; ``others``: what else is wrong than the first; ``keep``: ops of which
    numbers are beyond the range of their format; ``keep_in``: the format to keep them in, as of --quantize_table.
    """

    schema_version: Literal[1] = 1
    tool: str
    directory: str
    verdict: Kind
    sentence: str
    command: str
    stage: str = ""
    tensor: str = ""
    places: tuple[Place, ...] = ()
    error: float | None = None
    cost: float | None = None
    cosine: float | None = None
    stages: tuple[StageRow, ...]
    costs: tuple[Cost, ...] = ()
    sanitizers: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    keep_in: str = ""

    @property
    def is_wrong(self) -> bool:
        return self.verdict in WRONG

    @property
    def problem(self) -> str:
        """Why there is no verdict; empty if there is one."""
        if self.stage or any(stage.judged for stage in self.stages):
            return ""
        return (
            f"{self.directory}: no stage could be judged; compile with model_transform --test_input, --test_result "
            "and model_deploy --test_input, --test_reference, --debug"
        )
