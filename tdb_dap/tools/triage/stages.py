"""The stages of a compilation with what was computed at each, and the judgement of every op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.errors import BadInput
from tdb_dap.targets.chips.registry import chips
from tdb_dap.tools.golden.files.compilation import Files
from tdb_dap.tools.golden.files.stage_files import text_of
from tdb_dap.tools.golden.judging import Judged, across_a_gap, executed
from tdb_dap.tools.golden.level import Level, wide
from tdb_dap.tools.golden.lowering import lowered

IMPORTED, TOP, TPU, MODEL = "as imported", "top", "tpu", "bmodel"

_FILES = (
    (IMPORTED, "origin_mlir", "top_output", "run model_transform with --test_input, --test_result and --debug"),
    (TOP, "top_mlir", "reference", "run model_transform with --test_input and --test_result"),
    (TPU, "tpu_mlir", "tpu_output", "run model_deploy with --test_input, --test_reference and --debug"),
)
"""Stage, its text, its tensors, and what makes them."""

NOT_JUDGED = "tensors in it are not judged"

_LIKE = 0.05
"""Relative difference up to which two implementations of an op that is not known may differ."""

_SAME = 1e-5
"""Relative difference up to which two stages have had the same input."""


def foreign(chip: str) -> str:
    """Reason why a stage is not judged that is for a chip whose arithmetic is not known here."""
    return f"the arithmetic of {chip} is not known here: {NOT_JUDGED}"


class Stage(Struct):
    """One stage. ``level``: its ops; ``tensors``: what was computed, by name; ``missing``: what it lacks, if it does.

    ``executed``: its ops on their own operands; ``lowered``: the ops of the stage before on operands of this one;
    ``accused``: the tensor whose op a sanitizer finds at fault; ``input_differs``: name of an input that is another one
    than that of the stage before; ``stopped``: why a run of it did not reach its end, if so;
    ``is_dynamic``: its commands are made while it runs; ``is_foreign``: for a chip whose arithmetic is not known here;
    ``has_only_zeros``: its inputs were zeros, so what it computes rightly proves nothing;
    ``borrowed``: tensors that its file lacks and the bmodel's run has, none of which the bmodel computes wrongly.
    """

    title: str
    path: Path | None = None
    level: Level | None = None
    tensors: Mapping[str, Array] = field(default_factory=dict[str, Array])
    missing: str = ""
    executed: list[Judged] = field(default_factory=list[Judged])
    lowered: list[Judged] = field(default_factory=list[Judged])
    input_differs: str = ""
    accused: str = ""
    borrowed: int = 0
    stopped: str = ""
    is_dynamic: bool = False
    is_foreign: bool = False
    has_only_zeros: bool = False

    @property
    def is_usable(self) -> bool:
        return self.level is not None and bool(self.tensors)

    def bugs(self) -> Iterator[tuple[str, Judged]]:
        """``lowered`` or ``executed`` and the judgement, in the order of the text."""
        # Executed first: what an op did not even compute as it is written says nothing of how it was lowered.
        judged = [("executed", one) for one in self.executed if one.verdict == "bug"]
        judged += [("lowered", one) for one in self.lowered if one.verdict == "bug"]
        yield from sorted(judged, key=lambda pair: pair[1].op.line)

    @property
    def computed(self) -> frozenset[str]:
        """Names of the tensors that the stage's ops compute, without results of the type ``none``."""
        if self.level is None:
            return frozenset(self.tensors)
        return frozenset(
            name
            for name, op in self.level.by_name.items()
            if op.name != "top.Input" and (len(op.results) == 1 or self.level.type_named(name) is not None)
        )

    @property
    def judged(self) -> int:
        """Number of tensors with a verdict that rests on numbers other than zero."""
        return len(self._judged(False)) if not self.has_only_zeros else 0

    @property
    def zeros(self) -> int:
        """Number of tensors that are all zeros, computed and expected: nothing can be said of their ops."""
        return len(self._judged(True) - self._judged(False))

    def _judged(self, is_zero: bool) -> frozenset[str]:
        known = (one for one in (*self.executed, *self.lowered) if one.verdict != "unknown")
        return self.computed & {one.name for one in known if one.is_zero == is_zero}

    def borrow(self, run: Stage, before: Stage | None) -> None:
        """Judge what the stage's file lacks with the tensors of the bmodel's run, as far as that computes them rightly.

        All operands are the run's: another implementation of an op may round otherwise. ``before``: the stage before.
        """
        sound = {one.name: one for one in run.executed if one.verdict in ("exact", "quantisation")}
        lacking = {name for name in sound if name in self.computed and name not in self.tensors}
        if not lacking or self.level is None or before is None or before.level is None:
            return
        inputs = {name: before.tensors[name] for name in self.level.inputs() if name in before.tensors}
        known = {**inputs, **{name: run.tensors[name] for name in sound if name in run.tensors}}
        seen = {one.name for one in self.lowered}
        self.borrowed = len(lacking)
        self.lowered += [one for one in lowered(before.level, self.level, known) if one.name not in seen]
        self.executed = [one for one in self.executed if one.name not in lacking and one.verdict != "unknown"]
        judged = {one.name for one in self.executed}
        self.executed += [one for name, one in sound.items() if name in self.computed and name not in judged]
        self.tensors = {**known, **self.tensors}


def held_against(one: Judged, level: Level | None, tensors: Mapping[str, Array], other: Stage) -> Judged:
    """An op without a golden, compared with its result of another stage where both had the same operands.

    ``level``: the op's; ``tensors``: what was computed there, by name.
    """
    known = other.tensors
    if one.verdict != "unknown" or level is None or one.name not in known or one.name not in tensors:
        return one
    operands = level.operand_names(one.op)
    if not operands or not all(
        name in known and name in tensors and _are_same(known[name], tensors[name]) for name in operands
    ):
        return one
    expected, actual = wide(known[one.name]).reshape(-1), wide(tensors[one.name]).reshape(-1)
    if expected.size != actual.size or not np.isfinite(expected).all() or not np.isfinite(actual).all():
        return one
    error = float(np.sqrt(np.mean(np.square(actual - expected)))) if expected.size else 0.0
    reach = float(np.sqrt(np.mean(np.square(expected)))) if expected.size else 0.0
    if error == 0:
        return replace(one, verdict="exact", reason="", reach=reach)
    kind = level.type_named(one.name)
    step = float(np.mean(kind.step(expected))) if kind is not None else 0.0
    if error <= max(step, _LIKE * reach):
        return one
    reason = f"from the same operands stage {other.title} has other numbers"
    return replace(one, verdict="bug", reason=reason, error=error, reach=reach)


def stages(files: Files) -> list[Stage]:
    """The stages before the bmodel, each judged against its ops and against the stage before."""
    # What the last command was given may be another input than the one that the model was imported with.
    inputs = {**_readable(files.get("mlir_input")), **_readable(files.get("reference"))}
    listed = [_stage(files, inputs, *names) for names in _FILES]
    before: Stage | None = None
    for stage in listed:
        if stage.level is None:
            continue
        if stage.tensors:
            judged = executed(stage.level, stage.tensors) if not stage.is_foreign else []
            stage.executed = [across_a_gap(one, stage.level, stage.tensors) for one in judged]
            if before is not None and before.level is not None:
                stage.input_differs = _other_input(before, stage)
            if before is not None and before.level is not None and not stage.is_foreign:
                stage.lowered = lowered(before.level, stage.level, stage.tensors)
        # What an op means is in its text: the tensors of that stage are not needed.
        before = stage
    imported, top = listed[0], listed[1]
    imported.executed = [held_against(one, imported.level, imported.tensors, top) for one in imported.executed]
    return listed


def _stage(files: Files, inputs: Mapping[str, Array], title: str, text: str, tensors: str, advice: str) -> Stage:
    path, data = files.get(text), files.get(tensors)
    stage = Stage(title, path)
    if path is None:
        stage.missing = f"its .mlir is not there: {advice}"
        return stage
    try:
        stage.level = Level(title, path)
        stage.tensors = _arrays(data)
    except BadInput as error:
        stage.missing = str(error)
        return stage
    module = text_of(path)
    chip = module.chip.upper() if module is not None else ""
    if title == TPU and chip and not (chip in chips() and chips()[chip].has_golden):
        stage.is_foreign = True
        stage.missing = foreign(chip)
        return stage
    if not stage.computed:
        stage.missing = f"no op is in {path.name}: it is damaged or empty"
        return stage
    if not stage.tensors:
        stage.missing = f"its tensors are not there: {advice}"
    elif title == IMPORTED:  # the importer's list has no inputs
        known = {name: inputs[name] for name in stage.level.inputs() if name in inputs}
        stage.tensors = {**known, **stage.tensors}
    elif title == TPU and files.is_deployed:  # without --compare_all the list of outputs has no inputs
        given = _readable(files.get("mlir_input"))
        known = {name: given[name] for name in stage.level.inputs() if name in given}
        stage.tensors = {**known, **stage.tensors}
    return stage


def _arrays(path: Path | None) -> dict[str, Array]:
    arrays = read_npz(path) if path is not None else {}
    return {name: array for name, array in arrays.items() if array.dtype.kind in "biuf"}


def _readable(path: Path | None) -> dict[str, Array]:
    """The same; nothing of a file that cannot be read: its stage says so."""
    try:
        return _arrays(path)
    except BadInput:
        return {}


def _other_input(before: Stage, stage: Stage) -> str:
    assert before.level is not None
    for name in before.level.inputs():
        one, other = before.tensors.get(name), stage.tensors.get(name)
        if one is not None and other is not None and not _are_same(one, other):
            return name
    return ""


def _are_same(one: Array, other: Array) -> bool:
    if one.size != other.size:
        return False
    reach = float(np.abs(one).max(initial=0)) or 1.0
    with np.errstate(invalid="ignore"):
        difference = np.abs(wide(one).reshape(-1) - wide(other).reshape(-1))
    return not float(difference.max(initial=0)) > _SAME * reach
