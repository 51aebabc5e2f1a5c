"""The outcome of perturbing the inputs of a model, as it is written to JSON."""

from __future__ import annotations

from typing import Literal

from tdb_dap.tools.report_schema import Measured

Verdict = Literal["beyond", "within", "unknown"]


class Amplified(Measured, frozen=True, kw_only=True):
    """One tensor. ``moved_in``, ``moved_out``: relative differences of operands and result between the runs.

    ``must``: that of the exact result, from the same two operands; None where there is no golden. ``gain``: how
    much of the exact movement the result has, 1 where the op does what it must; ``excess``: root of the mean square of
    what it has moved otherwise; ``rounding``: what the roundings of its format explain.
    ``reason``: why it is ``unknown``.
    """

    name: str
    opcode: str
    line: int
    verdict: Verdict
    moved_in: float
    moved_out: float
    must: float | None = None
    gain: float | None = None
    excess: float = 0.0
    rounding: float = 0.0
    reason: str = ""

    @property
    def amplification(self) -> float:
        """Relative difference of the result over that of the operands."""
        return self.moved_out / self.moved_in if self.moved_in else 0.0

    @property
    def condition(self) -> float | None:
        """The same of the exact result: the condition number along this perturbation."""
        return None if self.must is None else self.must / self.moved_in if self.moved_in else 0.0

    @property
    def ratio(self) -> float:
        """Excess over what rounding explains."""
        return self.excess / self.rounding if self.rounding else (float("inf") if self.excess else 0.0)


class Perturbed(Measured, frozen=True, kw_only=True):
    """All tensors that moved, the worst first. ``runs``: perturbations; ``still``: tensors that none of them moved."""

    schema_version: Literal[1] = 1
    tool: str
    model: str
    chip: str
    source: str
    runs: int
    still: int
    rows: tuple[Amplified, ...]

    def of(self, verdict: Verdict) -> tuple[Amplified, ...]:
        """Those with this verdict."""
        return tuple(row for row in self.rows if row.verdict == verdict)
