"""Verdicts on tensors that a walk has put together."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tdb_dap.engine.compare.assembly import Whole
from tdb_dap.engine.compare.finding import Checked
from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.reference.comparison import Comparer, Sides
from tdb_dap.engine.reference.reference import Reference


@dataclass(frozen=True)
class Gathered:
    """A tensor and all that its verdict depends on; it does not change when the run goes on.

    ``whole``: what was computed, None: there is no verdict, ``checked`` says why; ``dtype``, ``scale``: of the tensor.
    """

    checked: Checked
    whole: Whole | None = None
    dtype: DType | None = None
    scale: float = 1.0


class Judge:
    """Compares the tensors of a run with a reference; without one there is nothing to be compared."""

    def __init__(self, reference: Reference | None) -> None:
        self._reference = reference
        self._comparer = Comparer()

    def __call__(self, gathered: Gathered) -> Checked:
        """The tensor with its verdict."""
        checked, whole, reference = gathered.checked, gathered.whole, self._reference
        if whole is None or reference is None:
            return checked
        identity, dtype = whole.identity, gathered.dtype
        result = self._comparer.compare(
            checked.name,
            Sides(lambda: _sides(reference, checked.name, whole)),
            reference.tolerances.of(checked.name, dtype.name if dtype else None),
            dtype,
            gathered.scale,
            None if identity is None else (reference.own_name(checked.name), identity),
        )
        return replace(checked, verdict="fail" if result.complaints else "pass", comparison=result)


def _sides(reference: Reference, name: str, whole: Whole) -> tuple[Array, Array]:
    found = reference.whole(name)
    assert found is not None
    expected: Array = np.ascontiguousarray(found, np.float32)
    return whole.numbers(expected), expected
