"""Parts of a model that may fail as the whole does, as files that the compiler takes."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.files.atomic_files import write_text
from tdb_dap.engine.files.location_files import NOTES
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.files.compilation import Files
from tdb_dap.tools.golden.level import Level, names
from tdb_dap.tools.golden.lowering import counterpart
from tdb_dap.tools.reduce.compiler_words import deploy_options, pass_words
from tdb_dap.tools.reduce.cutting import Part, part
from tdb_dap.tools.reduce.shrinking import axes, shorter, sparser
from tdb_dap.tools.triage.stages import MODEL, TPU, Stage

NAME = "reduced"
COMPILER = "model_deploy"
MOST_OPS = 3

_LOWERED = f"{NAME}_tpu"
_REPLACED = {
    "--mlir": f"{NAME}.mlir",
    "--test_input": "inputs.npz",
    "--test_reference": "expected.npz",
    "--model": f"{NAME}.bmodel",
    "--calibration_table": "calibration.txt",
    "--tolerance": "0.0,-9.0",
}
"""Options of the compiler's command line -> the files of the folder, and that no difference stops it."""

_STEPS = ("tpu_opt", "final", "bmodel")
"""Commands of the compiler's that follow once there is a tpu.mlir."""

_OPTIMISER = "tpuc-opt"

_SOURCES = ("top.Weight", "top.None", "top.Input", "tpu.Buffer")


class Case(Struct, frozen=True):
    """``top``: ops of the imported model; ``tpu``: those that they were lowered to, if the cut is made there."""

    top: Part | None
    tpu: Part | None = None

    @property
    def main(self) -> Part:
        """The part that is compiled."""
        module = self.tpu or self.top
        assert module is not None
        return module

    def shorter(self, axis: int, near: float) -> Iterator[Case]:
        """The same with fewer indices along an axis, near a place from 0 to 1."""
        if self.top is None or self.tpu is None:
            yield from (self._with(one) for one in shorter(self.main, axis, near))
            return
        for top, tpu in zip(shorter(self.top, axis, near), shorter(self.tpu, axis, near), strict=False):
            yield Case(top, tpu)

    def sparser(self) -> Iterator[Case]:
        """The same with more zeros in its inputs."""
        yield from (self._with(one) for one in sparser(self.main))

    def axes(self) -> Iterator[int]:
        return axes(self.main)

    def _with(self, main: Part) -> Case:
        if self.tpu is None:
            return Case(main)
        known = {} if self.top is None else {name: main.inputs.get(name, a) for name, a in self.top.inputs.items()}
        return Case(None if self.top is None else replace(self.top, inputs=known), main)


def cases_of_top(stage: Stage, tensor: str, lowered: Stage | None) -> Iterator[Case]:
    """The op of the imported model that computes a tensor, alone and with those before it, the fewest first.

    A tensor with other readers is an output as well: whether it has any changes what the compiler does to its scale.
    """
    assert stage.level is not None
    op = meaning(stage.level, lowered.level if lowered is not None else None, tensor)
    if op is None:
        return
    for ops in _nearest(stage.level, op):
        alone = _known_part(stage.level, ops, stage.tensors)
        if alone is None:
            continue
        shared = replace(alone, is_sharing=True)
        yield Case(shared)
        if shared.text("") != alone.text(""):
            yield Case(alone)


def cases_of_tpu(stage: Stage, top: Stage | None, tensor: str, at: str) -> Iterator[Case]:
    """The ops of stage tpu, with the types and factors that they have in the whole. ``at``: the stage that is wrong."""
    level = stage.level
    assert level is not None
    if at == MODEL:
        if tensor in level.by_name:
            for ops in _nearest(level, level.by_name[tensor]):
                known_part = _known_part(level, ops, stage.tensors)
                if known_part is not None:
                    yield Case(None, known_part)
        return
    if top is None or top.level is None:
        return
    op = meaning(top.level, level, tensor)
    if op is None:
        return
    for ops in _nearest(top.level, op):
        tpu = _known_part(level, _lowered(top.level, level, ops, stage), stage.tensors)
        if tpu is None:
            continue
        known = {name: tpu.inputs.get(name, array) for name, array in stage.tensors.items()}
        known_part = _known_part(top.level, ops, known)
        if known_part is not None:
            yield Case(known_part, tpu)


def _known_part(level: Level, ops: Sequence[MlirOp], tensors: Mapping[str, Array]) -> Part | None:
    """These ops with what they read; None if an operand is not known, as one that was merged into another op."""
    try:
        return part(level, ops, tensors)
    except BadInput:
        return None


def meaning(top: Level, tpu: Level | None, tensor: str) -> MlirOp | None:
    """The op of the imported model that a tensor of a later stage belongs to: one that was put in to its reader."""
    todo = [tensor]
    for name in todo:
        for one in (name, name.split("__")[0]):
            if one in top.by_name and top.by_name[one].name != "top.Input":
                return top.by_name[one]
        if tpu is not None and len(todo) < MOST_OPS * 4:
            todo += [other for op in tpu.ops if name in tpu.operand_names(op) for other in names(op)]
    return None


def _nearest(level: Level, last: MlirOp) -> Iterator[Sequence[MlirOp]]:
    """The op alone, then with those that it reads from, the nearest first."""
    ops = [last]
    yield tuple(ops)
    for op in ops:
        for value in op.operands:
            producer = level.mlir.op_defining(value, op.line)
            is_op = producer is not None and producer.name not in _SOURCES
            if producer is not None and is_op and producer not in ops and len(ops) < MOST_OPS:
                ops.append(producer)
                yield tuple(ops)


def _lowered(top: Level, tpu: Level, ops: Sequence[MlirOp], stage: Stage) -> list[MlirOp]:
    """The ops of stage tpu that compute what these compute, up to tensors that the imported model has, too."""
    inside = {name for op in ops for name in names(op)}
    todo = [
        tpu.by_name[lowered_name]
        for name in inside
        if (lowered_name := counterpart(tpu, name, stage.tensors)) is not None
    ]
    for op in todo:
        for value in op.operands:
            producer = tpu.mlir.op_defining(value, op.line)
            if producer is None or producer.name in _SOURCES or producer in todo:
                continue
            if any(name in inside or name not in top.by_name for name in names(producer)):
                todo.append(producer)
    return todo


def write(case: Case, folder: Path, files: Files) -> None:
    """The files of a case: texts, weights, inputs, expected numbers and the script."""
    folder.mkdir(parents=True)
    if case.top is not None:
        write_text(folder / f"{NAME}.mlir", case.top.text(f"{NAME}_weights.npz"))
        write_npz(folder / f"{NAME}_weights.npz", case.top.weights)
    if case.tpu is not None:
        write_text(folder / f"{_LOWERED}.mlir", case.tpu.text(f"{_LOWERED}_weights.npz"))
        write_npz(folder / f"{_LOWERED}_weights.npz", case.tpu.weights)
    write_npz(folder / "inputs.npz", case.main.given())
    write_npz(folder / "expected.npz", expected(case, folder))
    table = files.get("calibration")
    if table is not None and case.tpu is None:
        shutil.copyfile(table, folder / "calibration.txt")
    for given in _tables(files) if case.tpu is None else ():
        shutil.copyfile(given, folder / given.name)
    lines = [command(files)] if case.tpu is None else list(_steps(files))
    script = folder / "reproduce.sh"
    write_text(script, "\n".join(["#!/bin/sh", 'cd "$(dirname "$0")" || exit', *lines, ""]))
    script.chmod(0o755)
    if case.tpu is not None:
        (folder / NAME).mkdir()
        write_text(folder / NAME / NOTES, json.dumps(_notes(files), indent=1))


def expected(case: Case, folder: Path) -> dict[str, Array]:
    """Right results of the part: of the imported model in float32, else as stage tpu says."""
    path = folder / f"{NAME if case.top is not None else _LOWERED}.mlir"
    results, _ = Level("expected", path).run(
        case.top.inputs if case.top is not None else case.main.given(), is_rounded=case.top is None
    )
    return {name: np.asarray(array, np.float32) for name, array in results.items()}


def outputs_of(folder: Path) -> Path:
    """File of the tensors of the reduced stage tpu."""
    return folder / f"{_LOWERED}_outputs.npz"


def interpret(folder: Path) -> None:
    """Write the tensors of the reduced stage tpu, computed here."""
    level = Level(TPU, folder / f"{_LOWERED}.mlir")
    given = {name: _numbers(folder, name) for name in level.inputs()}
    results, _ = level.run(given, is_rounded=True)
    write_npz(outputs_of(folder), {k: np.asarray(v, np.float32) for k, v in results.items()})


def _numbers(folder: Path, name: str) -> Array:
    with np.load(folder / "inputs.npz") as held:
        return np.asarray(held[name])


def command(files: Files) -> str:
    """The compiler's command line for the folder: that of the whole model with other files.

    BadInput if there is none, or it has a word that is not known to be harmless: the notes may be anybody's.
    """
    words = _words(files)
    if not words:
        raise BadInput(f"{files.directory}: its notes hold no model_deploy command; compile again with --debug")
    kept = [COMPILER]
    for option, value in _options(files):
        kept += [option, *([value] if value else [])]
    for option in ("--tolerance", "--test_reference"):
        if option not in kept:
            kept += [option, _REPLACED[option]]
    return shlex.join(kept)


def _words(files: Files) -> list[str]:
    """The compiler's command line for the whole; empty if it is not known."""
    try:
        return shlex.split(files.commands.get("deploy_cmd", ""))
    except ValueError:
        return []


def _options(files: Files) -> Iterator[tuple[str, str]]:
    """The options of the compiler's command line, with the files of the folder."""
    left_out = ("--skip_validation", "--quant_input", "--quant_output")
    return deploy_options([word for word in _words(files)[1:] if word not in left_out], _REPLACED)


def _tables(files: Files) -> Iterator[Path]:
    """Files next to the model that its command line names, such as a quantize_table."""
    for option, value in _options(files):
        path = files.directory.parent / value
        if option == "--quantize_table":
            if not path.is_file() or path.is_symlink():
                raise BadInput(f"{value!r} in the compiler's notes: there is no such file next to the model")
            yield path


def _steps(files: Files) -> Iterator[str]:
    """The compiler's own steps from stage tpu on, as it noted them; only the first where it came no further."""
    yield (
        f"model_runner.py --input inputs.npz --model {_LOWERED}.mlir --output {_LOWERED}_outputs.npz --dump_all_tensors"
    )
    prefix = files.properties.get("prefix", "")
    texts = [files.commands.get(step, "") for step in _STEPS]
    if not prefix or not all(texts):
        return
    try:
        steps = [pass_words(shlex.split(text)[1:]) for text in texts]
    except (ValueError, BadInput):
        return
    for step in steps:
        words = [word.replace(prefix, NAME) for word in step]
        words = [re.sub(r"model_file=\S+", f"model_file={NAME}.bmodel", word) for word in words]
        yield shlex.join([_OPTIMISER, *words])
    yield f"cp {NAME}.bmodel {NAME}/compilation.bmodel"
    yield f"cp {NAME}_final.mlir {NAME}/final.mlir"
    yield f"cp {NAME}.bmodel.json {NAME}/tensor_location.json"
    yield f"model_runner.py --input inputs.npz --model {NAME}.bmodel --output {NAME}_model_outputs.npz"


def _notes(files: Files) -> dict[str, object]:
    """The list of files that triage reads, as the compiler would have left it."""
    notes = {
        "top_mlir": f"{NAME}.mlir",
        "reference": "expected.npz",
        "mlir_input": "inputs.npz",
        "tpu_mlir": f"{_LOWERED}.mlir",
        "tpu_output": f"{_LOWERED}_outputs.npz",
        "final_mlir": f"{NAME}_final.mlir",
    }
    properties = {"prefix": NAME, "chip": files.properties.get("chip", "")}
    return {"files": {key: {"path": f"../{name}"} for key, name in notes.items()}, "properties": properties}
