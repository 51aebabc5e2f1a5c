"""From a compilation in which something is wrong to a folder that shows it with as few ops as possible."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tdb_dap.engine.files.atomic_files import write_text
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.compilation import Files, find
from tdb_dap.tools.golden.level import Level
from tdb_dap.tools.reduce.cutting import Cut, cut
from tdb_dap.tools.triage.schema import Triage
from tdb_dap.tools.triage.stages import MODEL, TOP, TPU, Stage, stages
from tdb_dap.tools.triage.triaging import triage

_NAME = "reduced"
_COMPILER = "model_deploy"
_PATIENCE = 1800
_REPLACED = {
    "--mlir": f"{_NAME}.mlir",
    "--test_input": "inputs.npz",
    "--test_reference": "expected.npz",
    "--model": f"{_NAME}.bmodel",
    "--calibration_table": "calibration.txt",
    "--tolerance": "0.99,0.9",
}
"""Options of the compiler's command line -> the files of the folder."""

_MOST_OPS = 3


@dataclass(frozen=True)
class Reduced:
    """``ops``: those that are left, of ``before``; ``found``: what triage says of them, None if they do not fail."""

    ops: tuple[str, ...]
    before: int
    tensor: str
    found: Triage | None


def reduce(directory: Path, folder: Path) -> Reduced:
    """Write the smallest case into a new folder.

    With the compiler at hand each case is compiled, from one op on, until it fails as the whole does. BadInput if
    nothing is wrong, or where no op of the imported model can be named.
    """
    files = find(directory)
    whole = triage(directory)
    if not whole.is_wrong or not whole.tensor or whole.stage not in (TPU, MODEL):
        raise BadInput(f"{directory}: nothing to reduce: {whole.sentence}"[:280])
    top = next((stage for stage in stages(files) if stage.title == TOP), None)
    if top is None or top.level is None or not top.tensors:
        raise BadInput(f"{directory}: the tensors of stage top are missing; run model_transform with --test_result")
    if folder.exists():
        raise BadInput(f"{folder}: is there already; give a new directory")
    last = _op_of(top.level, whole.tensor, directory)
    compiler = shutil.which(_COMPILER)
    found: Triage | None = None
    pieces: Cut | None = None
    for ops in _candidates(top.level, last):
        pieces = cut(top.level, ops, top.tensors, f"{_NAME}_weights.npz")
        shutil.rmtree(folder, ignore_errors=True)
        _write(folder, files, pieces, whole, top)
        if compiler is None:
            break
        found = _compiled(folder)
        if found is not None and found.verdict == whole.verdict and found.stage == whole.stage:
            break
        found = None
    assert pieces is not None
    return Reduced(pieces.ops, len(top.level.ops), whole.tensor, found)


def _op_of(level: Level, tensor: str, directory: Path) -> MlirOp:
    for name in (tensor, tensor.split("__")[0]):
        if name in level.by_name and level.by_name[name].name != "top.Input":
            return level.by_name[name]
    raise BadInput(f"{directory}: {tensor} is not computed by an op of the imported model, so that none can be cut out")


def _candidates(level: Level, last: MlirOp) -> Iterator[Sequence[MlirOp]]:
    """The op alone, then with those that it reads from, the nearest first."""
    ops = [last]
    yield tuple(ops)
    for op in ops:
        for value in op.operands:
            producer = level.mlir.op_defining(value, op.line)
            is_op = producer is not None and producer.name not in ("top.Weight", "top.None", "top.Input")
            if producer is not None and is_op and producer not in ops and len(ops) < _MOST_OPS:
                ops.append(producer)
                yield tuple(ops)


def _write(folder: Path, files: Files, pieces: Cut, whole: Triage, top: Stage) -> None:
    folder.mkdir(parents=True)
    write_text(folder / f"{_NAME}.mlir", pieces.text)
    write_npz(folder / f"{_NAME}_weights.npz", pieces.weights)
    write_npz(folder / "inputs.npz", pieces.inputs)
    write_npz(folder / "expected.npz", pieces.expected)
    table = files.get("calibration")
    if table is not None:
        shutil.copyfile(table, folder / "calibration.txt")
    script = folder / "reproduce.sh"
    write_text(script, f'#!/bin/sh\n# {whole.sentence}\ncd "$(dirname "$0")" &&\n{command(files)}\n')
    script.chmod(0o755)
    write_text(folder / "README.md", _readme(pieces, whole))


def command(files: Files) -> str:
    """The compiler's command line for the folder: that of the whole model with other files."""
    words = shlex.split(files.commands.get("deploy_cmd", ""))
    if not words:
        raise BadInput(f"{files.directory}: its notes hold no model_deploy command; compile again with --debug")
    kept = [_COMPILER]
    for before, word in pairwise(words):
        if before in _REPLACED:
            kept.append(_REPLACED[before])
        elif word != "--skip_validation":
            kept.append(word)
    return shlex.join(kept)


def _readme(pieces: Cut, whole: Triage) -> str:
    shapes = [f"{name} {list(array.shape)}" for name, array in pieces.inputs.items()]
    return "\n".join(
        [
            f"# {whole.tensor}",
            "",
            whole.sentence,
            "",
            f"`reproduce.sh` compiles {len(pieces.ops)} op(s), {', '.join(pieces.ops)}, of `{_NAME}.mlir`; ",
            "`tdb-dap triage .` then says what is wrong.",
            "",
            f"- `inputs.npz`: {', '.join(shapes)}, as the whole model computes them before this op",
            "- `expected.npz`: results of the imported model, float32",
            "",
        ]
    )


def _compiled(folder: Path) -> Triage | None:
    """The verdict of triage after the folder's script has run; None if nothing was written."""
    log = folder / "compile.log"
    with log.open("wb") as output:
        subprocess.run(
            [str(folder.resolve() / "reproduce.sh")], stdout=output, stderr=output, timeout=_PATIENCE, check=False
        )
    try:
        return triage(folder)
    except BadInput:
        return None
