"""The price of each op's precision at the outputs, and the table that tells the compiler which ops to keep in F16.

The errors that the ops of the lowered model make themselves are put into the imported model, one op's or all but some:
what comes out is what these formats cost at the output, without compiling anything.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.compilation import find
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.level import Level, names, wide
from tdb_dap.tools.golden.library import NoGolden, compute
from tdb_dap.tools.golden.lowering import counterpart
from tdb_dap.tools.triage.stages import MODEL, TOP, TPU, Stage, stages
from tdb_dap.tools.triage.triaging import examined

_MOST_TRIED = 32
"""Ops whose cost at the output is computed one by one; the others cost less at their own results."""

_LEAST_KNOWN = 0.9
"""Share of the tensors of stage tpu that have to be known."""

_F16 = TensorType(None, "f16")


@dataclass(frozen=True)
class Sensitive:
    """An op: ``cosine``: least cosine of an output if only this op has its precision; ``share``: its own error."""

    name: str
    opcode: str
    cosine: float
    share: float


class Shadow:
    """The imported model with the errors of the lowered one. ``before``: top level, ``after``: the lowered level.

    ``tensors``: what was computed at the lowered level; ``inputs``: of the net.
    """

    def __init__(self, before: Level, after: Level, tensors: Mapping[str, Array], inputs: Mapping[str, Array]) -> None:
        self._level = before
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
                    self.errors[name] = wide(known[name]).reshape(exact.shape) - exact
                    self._ops[name] = op
                    self._sizes[name] = float(np.sqrt(np.mean(np.square(exact)))) or 1.0
        self._ideal = self._run({})

    def _run(self, errors: Mapping[str, Array], halves: Sequence[str] = ()) -> dict[str, Array]:
        values = dict(self._inputs)
        for op in self._level.ops:
            try:
                results = compute(self._level.call(op, values))
            except NoGolden:
                continue
            for name, exact in zip(names(op), results, strict=False):
                found = _F16.stored(exact) if name in halves else exact
                values[name] = found + errors[name] if name in errors else found
        return values

    def cosine(self, kept: Sequence[str]) -> float:
        """Least cosine of an output with the ideal one if these tensors are computed in F16, the others as they are."""
        rest = {name: error for name, error in self.errors.items() if name not in kept}
        return self._least(self._run(rest, kept))

    def ranked(self) -> list[Sensitive]:
        """The ops by what they cost at the output, the dearest first."""
        shares = {name: float(np.sqrt(np.mean(np.square(e)))) / self._sizes[name] for name, e in self.errors.items()}
        tried = sorted((name for name in shares if shares[name]), key=lambda name: -shares[name])[:_MOST_TRIED]
        found = [
            Sensitive(name, self._ops[name].name, self._least(self._run({name: self.errors[name]})), shares[name])
            for name in tried
        ]
        return sorted(found, key=lambda one: one.cosine)

    def _least(self, values: Mapping[str, Array]) -> float:
        read = {name for op in self._level.ops for name in self._level.operand_names(op)}
        ends = [name for name in self._level.by_name if name not in read and name in values and name in self._ideal]
        return min((_cosine(values[name], self._ideal[name]) for name in ends), default=1.0)

    def chosen(self, wanted: float) -> tuple[list[str], float]:
        """The fewest of the dearest ops to keep in F16 so that the output reaches a cosine, and the one it reaches."""
        kept: list[str] = []
        reached = self.cosine(kept)
        for one in self.ranked():
            if reached >= wanted:
                break
            kept.append(one.name)
            reached = self.cosine(kept)
        return kept, reached


def _cosine(one: Array, other: Array) -> float:
    a, b = one.reshape(-1), other.reshape(-1)
    lengths = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / lengths if lengths else 1.0


def table(kept: Sequence[str], chip: str) -> str:
    """The compiler's ``--quantize_table``: these ops in F16."""
    head = [f"# {chip}: ops that are kept in F16", "# op_name   quantize_mode"]
    return "\n".join([*head, *(f"{name} F16" for name in kept), ""])


@dataclass(frozen=True)
class Mixed:
    """The worth of mixed precision: ``ranked`` ops, those ``kept`` in F16, least cosine ``now`` and ``then``."""

    ranked: tuple[Sensitive, ...]
    kept: tuple[str, ...]
    now: float
    then: float
    table: str


def _tensors(tpu: Stage, run: Stage | None) -> Mapping[str, Array]:
    """The tensors of the lowered model: the chip's, whose small differences from the interpreter's add up."""
    if run is None or run.stopped or any(one.verdict in ("bug", "unknown") for one in run.executed):
        return tpu.tensors
    return {**tpu.tensors, **{name: array for name, array in run.tensors.items() if name in tpu.computed}}


def mixed(directory: Path, wanted: float) -> Mixed:
    """The table with which the output of a compilation reaches a cosine; BadInput if its stages are not there."""
    files = find(directory)
    judged = examined(files)[0] if files.get("bmodel") is not None else stages(files)
    found = {stage.title: stage for stage in judged if stage.is_usable}
    top, tpu = found.get(TOP), found.get(TPU)
    if top is None or tpu is None or top.level is None or tpu.level is None:
        raise BadInput(
            f"{directory}: the tensors of the stages top and tpu are needed; run model_transform with --test_result "
            "and model_deploy with --test_input, --test_reference and --debug"
        )
    shadow = Shadow(top.level, tpu.level, _tensors(tpu, found.get(MODEL)), tpu.tensors)
    known, count = len(tpu.computed & tpu.tensors.keys()), len(tpu.computed)
    if known < _LEAST_KNOWN * count:
        raise BadInput(
            f"{directory}: {known:,} of {count:,} tensors of stage tpu are known, too few to say what an op costs; "
            "compile with --compare_all"
        )
    if not shadow.errors:
        raise BadInput(f"{directory}: no op of stage top has a counterpart in stage tpu that can be computed")
    kept, then = shadow.chosen(wanted)
    text = table(kept, files.properties.get("chip", "the chip"))
    return Mixed(tuple(shadow.ranked()), tuple(kept), shadow.cosine([]), then, text)
