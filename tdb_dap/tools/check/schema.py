"""The report of a check, as it is written to JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from tdb_dap.engine.compare.finding import Reason, Role, Verdict
from tdb_dap.tools.profile.schema import ProfileReport
from tdb_dap.tools.report_schema import Measured
from tdb_dap.tools.sanitize.schema import SanitizerReport

RULE = "mismatch"
"""Rule of a finding that is a tensor that differs."""

ROUNDED = "what differs was inherited, or is what the format costs"
"""Note of a tensor that is beyond its limits and passes."""

BlameKind = Literal["at fault", "overwritten", "race", "input", "inherits", "accumulates", "unclear"]

ORIGINS: tuple[BlameKind, ...] = ("at fault", "overwritten", "race", "input")
"""The kinds of blame that an error can begin with."""

Key = tuple[int, Role, int, str]
"""Line, role, index and name of a tensor: the same one in another run."""


class Numbers(Measured, frozen=True, kw_only=True):
    """Distance of a tensor from the reference; see ``Metrics`` of the engine for what each number means.

    ``sqnr``: dB; infinite where the tensors are equal; ``channel``: Euclidean similarity of the worst channel.
    """

    cosine: float
    euclidean: float
    sqnr: float
    max_abs: float
    max_rel: float
    max_ulp: float | None
    size: int
    bad_count: int
    bad_share: float
    first_bad: tuple[int, ...] | None
    first_bad_per_axis: tuple[int, ...] | None
    worst: tuple[int, ...] | None
    worst_actual: float | None
    worst_expected: float | None
    channel_axis: int | None
    worst_channel: int | None
    channel: float
    nan_count: int
    nan_expected: int
    inf_count: int
    inf_expected: int


class Picture(Measured, frozen=True, kw_only=True):
    """Picture and histogram of the error of a tensor that fails.

    ``heat``: largest error over the largest expected magnitude; rows: channels, columns: the rest; ``histogram``:
    elements by that ratio: 0, up to 1e-8, 1e-7, ... 1, and above.
    """

    heat: tuple[tuple[float, ...], ...]
    histogram: tuple[int, ...]


class Blame(Measured, frozen=True, kw_only=True):
    """Blame of a wrong result.

    ``kind``: ``at fault``: the op's own; ``overwritten``: an operand was right when it was computed and wrong when this
    op read it; ``race``: right, or nearly, if two commands that nothing orders change places; ``input``: what goes into
    the net is not what the reference was made with; ``inherits``: that of an op before it; ``accumulates``: no op is
    wrong by itself; ``unclear``: the reference, or a recording, does not say enough.
    ``line``: of the op at fault, 0 where it is not known; ``through``: lines that pass the error on, from this op
    backwards; ``suspects``: lines of ops before it whose results the reference does not hold.
    """

    kind: BlameKind
    line: int
    through: tuple[int, ...] = ()
    suspects: tuple[int, ...] = ()
    text: str


class Shadows(Measured, frozen=True, kw_only=True):
    """A result with its shadows. ``actual``, ``expected``, ``ideal``: the numbers at ``index``, the worst one.

    ``expected``: at this precision, None if unknown; ``here``, ``inherited``: error made by the op and by those before
    it, over the size of the numbers; ``verdict``: on the error made here: bug, quantisation, exact or unknown.
    """

    index: tuple[int, ...]
    actual: float
    expected: float | None
    ideal: float
    here: float
    inherited: float
    verdict: str
    reason: str = ""


class Row(Measured, frozen=True, kw_only=True):
    """One tensor of one op. ``first``, ``last``: ordinals of commands; ``covered``: share that was compared.

    ``reason``: why the verdict is unknown.
    """

    line: int
    opcode: str
    name: str
    role: Role
    index: int
    dtype: str
    first: int
    last: int
    pieces: int
    covered: float
    verdict: Verdict
    reason: Reason = ""
    note: str = ""
    complaints: tuple[str, ...] = ()
    numbers: Numbers | None = None
    picture: Picture | None = None
    shadow: Shadows | None = None
    blame: Blame | None = None

    @property
    def key(self) -> Key:
        """The same tensor in another run."""
        return self.line, self.role, self.index, self.name

    @property
    def is_own_fault(self) -> bool:
        """Whether it is its op that makes it wrong, as far as is known."""
        return bool(self.line) and (self.blame is None or self.blame.kind == "at fault")

    @property
    def title(self) -> str:
        """The op and its place: ``tpu.Conv2D at line 22``."""
        return f"{self.opcode} at line {self.line}" if self.line else self.opcode


def is_accumulated(failures: Iterable[Row]) -> bool:
    """Whether no op is at fault by itself in any of these rows; only known where blame was asked."""
    blames = [row.blame for row in failures if row.role != "operand" or row.blame is not None]
    return bool(blames) and all(blame is not None and blame.kind == "accumulates" for blame in blames)


class LayerRow(Measured, frozen=True, kw_only=True):
    """A layer of the original model: ``nodes`` of the ONNX graph, ``file`` and ``line`` of the top MLIR.

    ``lines``: of final.mlir, the ops made for it; ``verdict``: the worst of its results; ``cosine``, ``euclidean``: the
    least of them, None where none could be compared.
    """

    name: str
    opcode: str
    nodes: tuple[str, ...]
    file: str
    line: int
    lines: tuple[int, ...]
    verdict: Verdict
    cosine: float | None
    euclidean: float | None


class OtherWeight(Measured, frozen=True, kw_only=True):
    """A weight of the bmodel that is not the compiler's. ``line``: of final.mlir; the rest counts bytes."""

    name: str
    line: int
    size: int
    differing: int
    first: int


class OpWeights(Measured, frozen=True, kw_only=True):
    """Weights of the first op at fault compared with those of its layer.

    ``wrong``: a sentence for each wrong one; ``proven``, ``untraced``: how many are right, and not known; ``text``: the
    outcome, empty where it is not known.
    """

    wrong: tuple[str, ...]
    proven: int
    untraced: int
    text: str


class Weights(Measured, frozen=True, kw_only=True):
    """Weights of the bmodel compared with the compiler's ``file`` of them.

    ``unknown``: how many could not be compared; ``differ``: how many differ, of which ``others`` are the first.
    """

    file: str
    equal: int
    unknown: int
    differ: int
    others: tuple[OtherWeight, ...] = ()


class Report(Measured, frozen=True, kw_only=True):
    """A whole check. ``stopped``: why the run did not reach the end, if so; ``culprit``: the first op at fault.

    ``layers``: empty where the compiler's earlier files are not there; ``sanitized``: what sanitizers have found that
    looked on; ``profiled``: where the time of the chip goes, if that was asked; ``weights``: None where the compiler's
    file of them is not there; ``op_weights``: of the first op at fault, None where there is none, or its layer's
    weights are not in the compilation's files; ``other_sign``: the command of that op that computes integers with
    another sign than they are read with; ``unseen_outputs``: outputs of the net that were not compared.
    """

    schema_version: Literal[1] = 1
    tool: str
    model: str
    net: str
    chip: str
    mode: Literal["cascade", "standalone"]
    profile: Literal["default", "tdb"]
    references: tuple[str, ...]
    commands: int
    seconds: float
    stopped: str = ""
    culprit: Row | None = None
    rows: tuple[Row, ...]
    layers: tuple[LayerRow, ...] = ()
    sanitized: SanitizerReport | None = None
    profiled: ProfileReport | None = None
    weights: Weights | None = None
    op_weights: OpWeights | None = None
    other_sign: str = ""
    unseen_outputs: tuple[str, ...] = ()

    @property
    def failures(self) -> tuple[Row, ...]:
        """Tensors that are not what they should be, in the order of execution."""
        return tuple(row for row in self.rows if row.verdict == "fail")

    @property
    def is_accumulated(self) -> bool:
        """Whether all that differs does so although no op is at fault by itself; only known where blame was asked."""
        return is_accumulated(self.failures)

    @property
    def has_other_inputs(self) -> bool:
        """Whether the run had other inputs than the reference, so that nothing is known of any op."""
        return self.culprit is not None and self.culprit.blame is not None and self.culprit.blame.kind == "input"

    @property
    def judged(self) -> tuple[Row, ...]:
        """Results of ops and outputs of the net that were compared."""
        return tuple(row for row in self.rows if row.verdict in ("pass", "fail") and row.role != "operand")

    @property
    def uncomputed(self) -> tuple[str, ...]:
        """Outputs of subnets that could not be run: the reference's numbers stand for theirs."""
        mine = (row.name for row in self.rows if row.reason == "from the reference" and row.role != "operand")
        return tuple(dict.fromkeys(mine))

    def count(self, verdict: str) -> int:
        """Number of tensors with this verdict."""
        return sum(row.verdict == verdict for row in self.rows)
