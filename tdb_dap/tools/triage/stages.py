"""The stages of a compilation with what was computed at each, and the judgement of every op."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import read_npz
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.compilation import Files
from tdb_dap.tools.golden.judging import Judged, executed
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.golden.lowering import lowered

IMPORTED, TOP, TPU, MODEL = "as imported", "top", "tpu", "bmodel"

_FILES = (
    (IMPORTED, "origin_mlir", "top_output", "run model_transform with --test_input, --test_result and --debug"),
    (TOP, "top_mlir", "reference", "run model_transform with --test_input and --test_result"),
    (TPU, "tpu_mlir", "tpu_output", "run model_deploy with --test_input, --test_reference and --debug"),
)
"""Stage, its text, its tensors, and what makes them."""

NOT_JUDGED = "tensors in it are not judged"

_SAME = 1e-5
"""Relative difference up to which two stages have had the same input."""


@dataclass
class Stage:
    """One stage. ``level``: its ops; ``tensors``: what was computed, by name; ``missing``: what it lacks, if it does.

    ``executed``: its ops on their own operands; ``lowered``: the ops of the stage before on operands of this one;
    ``accused``: the tensor whose op a sanitizer finds at fault; ``input_differs``: name of an input that is another one
    than that of the stage before; ``stopped``: why a run of it did not reach its end, if so;
    ``is_dynamic``: its commands are made while it runs.
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
    stopped: str = ""
    is_dynamic: bool = False

    @property
    def is_usable(self) -> bool:
        return self.level is not None and bool(self.tensors)

    def bugs(self) -> Iterator[tuple[str, Judged]]:
        """``lowered`` or ``executed`` and the judgement, in the order of the text."""
        # Executed first: what an op did not even compute as it is written says nothing of how it was lowered.
        found = [("executed", one) for one in self.executed if one.verdict == "bug"]
        found += [("lowered", one) for one in self.lowered if one.verdict == "bug"]
        yield from sorted(found, key=lambda pair: pair[1].op.line)

    @property
    def judged(self) -> int:
        """Number of tensors with a verdict."""
        return len({one.name for one in (*self.executed, *self.lowered) if one.verdict != "unknown"})


def stages(files: Files) -> list[Stage]:
    """The stages before the bmodel, each judged against its ops and against the stage before."""
    # What the last command was given may be another input than the one that the model was imported with.
    inputs = {**_readable(files.get("mlir_input")), **_readable(files.get("reference"))}
    found = [_stage(files, inputs, *names) for names in _FILES]
    before: Stage | None = None
    for stage in found:
        if not stage.is_usable or stage.level is None:
            continue
        stage.executed = executed(stage.level, stage.tensors)
        if before is not None and before.level is not None:
            stage.input_differs = _other_input(before, stage)
            stage.lowered = lowered(before.level, stage.level, stage.tensors)
        before = stage
    return found


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
    if not stage.tensors:
        stage.missing = f"its tensors are not there: {advice}"
    elif title == IMPORTED:  # the importer's list has no inputs
        known = {name: inputs[name] for name in stage.level.inputs() if name in inputs}
        stage.tensors = {**known, **stage.tensors}
    return stage


def _arrays(path: Path | None) -> dict[str, Array]:
    found = read_npz(path) if path is not None else {}
    return {name: array for name, array in found.items() if array.dtype.kind in "biuf"}


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
        if one is None or other is None:
            continue
        if one.size != other.size:
            return name
        reach = float(np.abs(one).max(initial=0)) or 1.0
        difference = np.abs(one.astype(np.float64).reshape(-1) - other.astype(np.float64).reshape(-1))
        if float(difference.max(initial=0)) > _SAME * reach:
            return name
    return ""
