"""Expected tensors without a file that holds them: computed from the ops of the compiler's own text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tdb_dap.engine.commands.net_tensors import Tensor
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import BadInput
from tdb_dap.system.notices import notice
from tdb_dap.tools.golden.files.compilation import Files, find
from tdb_dap.tools.golden.level import Level

_MOST_NAMED = 6


def computed(path: Path, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """All tensors of a .mlir by name, float32, each rounded to its format; the ops that have no golden are remarked.

    ``inputs``: numbers by name. BadInput if the file cannot be read, or nothing of it can be computed.
    """
    level = Level(path.stem, path)
    wanted = [name for name in level.inputs() if name not in inputs]
    if wanted:
        raise BadInput(f"{path}: its inputs are {', '.join(wanted)}; give --inputs X.npz with arrays of these names")
    tensors, missing = level.run({name: inputs[name] for name in level.inputs()}, is_rounded=True)
    reasons = Counter(f"{one.op.name} ({one.reason})" for one in missing if "is not known" not in one.reason)
    after = len(missing) - reasons.total()
    if len(tensors) <= len(list(level.inputs())):
        why = next(iter(reasons), "it holds no ops")
        raise BadInput(f"{path}: no op of it can be computed: {why}; give the ..._tpu.mlir with its weights next to it")
    if reasons:
        named = ", ".join(list(reasons)[:_MOST_NAMED]) + (", ..." if len(reasons) > _MOST_NAMED else "")
        notice(f"{path.name}: no golden for {named}; {after:,} ops after them are not compared either")
    return {name: np.asarray(array, np.float32) for name, array in tensors.items()}


def numbers(words: Mapping[str, Array], tensors: Sequence[Tensor]) -> dict[str, Array]:
    """Numbers of a net's inputs from their stored words."""
    arrays: dict[str, Array] = {}
    for tensor in tensors:
        if tensor.name not in words:
            continue
        stored = np.asarray(tensor.dtype.widen(words[tensor.name]), np.float64)
        if not tensor.dtype.is_float and tensor.dtype.itemsize == 1:
            stored = (stored - tensor.zero_point) / (tensor.scale or 1.0)
        arrays[tensor.name] = stored
    return arrays


def text_of(context: Path) -> Path:
    """The .mlir of the tpu stage of a compilation; BadInput if it is not there."""
    return text_in(find(context), context)


def text_in(files: Files, context: Path) -> Path:
    """As ``text_of``; ``files``: of the compilation in that directory."""
    path = files.get("tpu_mlir")
    if path is None:
        raise BadInput(f"{context}: the ..._tpu.mlir of its compilation is missing; compile with model_deploy --debug")
    return path
