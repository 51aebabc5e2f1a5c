"""Outputs of the stages compared with each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.metrics import measure
from tdb_dap.tools.golden.level import Level, wide
from tdb_dap.tools.golden.lowering import counterpart
from tdb_dap.tools.triage.stages import TPU, Stage

_LIKE = 0.99
"""Cosine of an output of the bmodel with that of stage tpu from which on they are the same, by default of check."""


def similarity(usable: Sequence[Stage]) -> float | None:
    """The least cosine of an output of the last stage with the same tensor of the first one."""
    if len(usable) < 2 or usable[0].level is None or usable[-1].level is None:
        return None
    first, last = usable[0], usable[-1]
    similarities = []
    for name in outputs_of(usable[0].level):
        target = counterpart(usable[-1].level, name, last.tensors)
        one = first.tensors.get(name)
        if one is not None and target is not None and np.size(one) == np.size(last.tensors[target]):
            similarities.append(cosine_of(last.tensors[target], one))
    return min((one for one in similarities if np.isfinite(one)), default=None)


def cosine_of(one: Array, other: Array) -> float:
    """Cosine similarity of two tensors."""
    return measure(wide(one).reshape(-1), wide(other).reshape(-1)).cosine


def outputs_of(level: Level) -> Iterator[str]:
    """Names of the tensors that no op reads."""
    read = {name for op in level.ops for name in level.operand_names(op)}
    return (name for name in level.by_name if name not in read)


def differing_output(stages: Sequence[Stage]) -> str:
    """An output of a bmodel whose ops cannot be judged, that is another one than that of the stage before."""
    tpu = next((stage for stage in stages if stage.title == TPU and stage.is_usable), None)
    last = stages[-1]
    if tpu is None or tpu.level is None or not last.is_dynamic:
        return ""
    for name in outputs_of(tpu.level):
        one, other = tpu.tensors.get(name), last.tensors.get(name)
        if one is not None and other is not None and np.size(one) == np.size(other):
            cosine = cosine_of(other, one)
            if not cosine >= _LIKE:
                return f"{name} of the bmodel has cosine {cosine:.6f} with that of stage {TPU}"
    return ""
