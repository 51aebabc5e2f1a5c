"""The cost of single ops' errors at the outputs, without compiling anything.

The errors that the ops of the lowered model make themselves are put into the imported model, one op's or all but some:
what comes out is what these formats cost at the output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.tools.golden.bounds import rms
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.level import Level, names, wide
from tdb_dap.tools.golden.library import NoGolden, compute
from tdb_dap.tools.golden.lowering import counterpart

_MOST_TRIED = 32
"""Ops whose cost at the output is computed one by one; the others cost less at their own results."""

F16 = TensorType(None, "f16")


class Sensitive(Struct, frozen=True):
    """An op: ``cosine``: least cosine of an output if only this op has its precision; ``share``: its own error."""

    name: str
    opcode: str
    cosine: float
    share: float


class Shadow:
    """The imported model with the errors of the lowered one. ``before``: top level, ``after``: the lowered level.

    ``tensors``: what was computed at the lowered level; ``inputs``: of the net; ``kept``: format of the ops that are
    kept; ``others``: of those whose errors are not known, because infinities went before.
    """

    def __init__(
        self,
        before: Level,
        after: Level,
        tensors: Mapping[str, Array],
        inputs: Mapping[str, Array],
        kept: TensorType = F16,
        others: TensorType = F16,
    ) -> None:
        self._level = before
        self._kept = kept
        self._inputs = {name: wide(inputs[name]) for name in before.inputs() if name in inputs}
        self.errors: dict[str, Array] = {}
        """Error that the op of a result makes itself, by the result's name."""
        self._ops: dict[str, MlirOp] = {}
        self._sizes: dict[str, float] = {}
        known = {name: tensors[target] for name in before.by_name if (target := counterpart(after, name, tensors))}
        known.update(self._inputs)
        held = set(known)
        for op in before.ops:
            try:
                results = compute(before.call(op, known))
            except NoGolden:
                continue
            for name, exact in zip(names(op), results, strict=False):
                # What the lowered level has merged into another op counts with the result of that.
                known.setdefault(name, exact)
                if op.name != "top.Input" and name in held and np.size(known[name]) == exact.size:
                    with np.errstate(all="ignore"):
                        error = wide(known[name]).reshape(exact.shape) - exact
                        rounding = np.nan_to_num(others.stored(exact) - exact, posinf=0.0, neginf=0.0)
                    self.errors[name] = np.where(np.isfinite(error), error, rounding)
                    self._ops[name] = op
                    self._sizes[name] = rms(exact[np.isfinite(exact)]) or 1.0
        self._ideal = self._run({})

    def _run(self, errors: Mapping[str, Array], kept: Sequence[str] = ()) -> dict[str, Array]:
        values = dict(self._inputs)
        for op in self._level.ops:
            try:
                results = compute(self._level.call(op, values))
            except NoGolden:
                continue
            for name, exact in zip(names(op), results, strict=False):
                stored = self._kept.stored(exact) if name in kept else exact
                values[name] = stored + errors[name] if name in errors else stored
        return values

    def cosine(self, kept: Sequence[str]) -> float:
        """Least cosine of an output with the ideal one if these tensors are in the kept format, the others as now."""
        rest = {name: error for name, error in self.errors.items() if name not in kept}
        return self._least(self._run(rest, kept))

    def ranked(self) -> list[Sensitive]:
        """The ops by what they cost at the output, the dearest first."""
        shares = {name: float(np.sqrt(np.mean(np.square(e)))) / self._sizes[name] for name, e in self.errors.items()}
        tried = sorted((name for name in shares if shares[name]), key=lambda name: -shares[name])[:_MOST_TRIED]
        sensitive = [Sensitive(name, self._ops[name].name, self.alone(name), shares[name]) for name in tried]
        return sorted(sensitive, key=lambda one: one.cosine)

    def alone(self, name: str) -> float:
        """Least cosine of an output if only the op of a result has its precision; 1 if its error is not known."""
        return self._least(self._run({name: self.errors[name]})) if name in self.errors else 1.0

    def _least(self, values: Mapping[str, Array]) -> float:
        read = {name for op in self._level.ops for name in self._level.operand_names(op)}
        ends = [name for name in self._level.by_name if name not in read and name in values and name in self._ideal]
        return min((_cosine(values[name], self._ideal[name]) for name in ends), default=1.0)

    def chosen(self, wanted: float, first: Sequence[str] = ()) -> tuple[list[str], float]:
        """The fewest of the dearest ops to keep so that the output reaches a cosine, and the one it reaches.

        ``first``: those that are kept in any case.
        """
        kept = list(first)
        reached = self.cosine(kept)
        for one in self.ranked():
            if reached >= wanted:
                break
            if one.name in kept:
                continue
            kept.append(one.name)
            reached = self.cosine(kept)
        return kept, reached


def _cosine(one: Array, other: Array) -> float:
    a, b = one.reshape(-1), other.reshape(-1)
    lengths = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / lengths if lengths else 1.0
