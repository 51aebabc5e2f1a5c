"""Numbers beyond the range of a format: which ops they come from, and which have to be kept in another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.tools.golden.bounds import largest_inside, of_sizes
from tdb_dap.tools.golden.level import Level, names, wide
from tdb_dap.tools.golden.library import NoGolden, compute
from tdb_dap.tools.golden.lowering import counterpart
from tdb_dap.tools.triage.stages import Stage

_NEAR = 0.5
"""Part of a format's range from which on an op is kept in another: other inputs reach further."""


class BrokenOutput(Struct, frozen=True):
    """An output with numbers that are none, or infinite, where the model's own are finite."""

    name: str
    count: int
    total: int
    is_nan: bool

    def __str__(self) -> str:
        share = (
            f"all {self.total:,} numbers" if self.count == self.total else f"{self.count:,} of {self.total:,} numbers"
        )
        return f"{share} of output {self.name} are {'NaN' if self.is_nan else 'infinite'}"


def broken_outputs(first: Stage, last: Stage, outputs: Sequence[str]) -> Iterator[BrokenOutput]:
    """Outputs of the last stage with NaNs or infinities that the first stage does not have."""
    if last.level is None:
        return
    for name in outputs:
        target = _end(last.level, name, last.tensors)
        wanted = first.tensors.get(name)
        if target is None or wanted is None or np.size(wanted) != np.size(last.tensors[target]):
            continue
        actual, expected = wide(last.tensors[target]).reshape(-1), wide(wanted).reshape(-1)
        broken = ~np.isfinite(actual) & np.isfinite(expected)
        if broken.any():
            yield BrokenOutput(target, int(broken.sum()), actual.size, bool(np.isnan(actual[broken]).any()))


def _end(level: Level, name: str, tensors: Mapping[str, Array]) -> str | None:
    """The tensor that a lowered model gives for an output: behind the casts that are called after it."""
    read = {one for op in level.ops for one in level.operand_names(op)}
    ends = (one for one in level.by_name if one.startswith(name) and one not in read and one in tensors)
    return next(ends, None) or counterpart(level, name, tensors)


def beyond_range(before: Level, after: Level, tensors: Mapping[str, Array]) -> list[str]:
    """Results of imported ops that form or read numbers beyond the format in which the lowered model has them.

    ``tensors``: what was computed of the imported model, by name.
    """
    beyond = []
    there = dict.fromkeys(after.by_name, np.zeros(0))
    for op in before.ops:
        name = names(op)[0]
        target = counterpart(after, name, there)
        kind = after.type_named(target) if target is not None else None
        if op.name == "top.Input" or kind is None or not np.isfinite(kind.range):
            continue
        if _reach(before, op, tensors) > _NEAR * kind.range:
            beyond.append(name)
    return beyond


def _reach(level: Level, op: MlirOp, tensors: Mapping[str, Array]) -> float:
    """Largest finite number that an op reads, forms or gives."""
    arrays = [tensors[name] for name in (*names(op), *level.operand_names(op)) if name in tensors]
    try:
        call = level.call(op, tensors)
        exact = compute(call)[0]
        with np.errstate(all="ignore"):
            inside = largest_inside(call, exact, lambda: of_sizes(call, 0, exact))
        arrays += [exact] if inside is None else [exact, inside]
    except NoGolden:
        pass
    finite = (np.abs(wide(array)[np.isfinite(wide(array))]) for array in arrays)
    return max((float(array.max(initial=0.0)) for array in finite), default=0.0)
