"""Verdicts on tensors that a walk has put together."""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.compare.assembly import Whole
from tdb_dap.engine.compare.finding import Checked
from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.hardware.strides import transposed_from
from tdb_dap.engine.reference.comparison import Comparer, Sides
from tdb_dap.engine.reference.reference import Reference


class Gathered(Struct, frozen=True):
    """A tensor with everything that its verdict depends on; it does not change while the run continues.

    ``assembled``: the computed tensor; None: none, ``checked`` has the reason. ``dtype``, ``scale``: of the tensor;
    ``shape``: of the tensor in the model.
    """

    checked: Checked
    assembled: Whole | None = None
    dtype: DType | None = None
    scale: float = 1.0
    shape: tuple[int, ...] = ()


class Judge:
    """Compares the tensors of a run with a reference; without one there is nothing to be compared."""

    def __init__(self, reference: Reference | None) -> None:
        self._reference = reference
        self._comparer = Comparer()

    def __call__(self, gathered: Gathered) -> Checked:
        """The tensor with its verdict."""
        checked, assembled, reference = gathered.checked, gathered.assembled, self._reference
        if assembled is None or reference is None:
            return checked
        identity, dtype = assembled.identity, gathered.dtype
        is_in_order = reference.is_in_order(checked.name, gathered.shape)
        shape = gathered.shape
        result = self._comparer.compare(
            checked.name,
            Sides(lambda: _sides(reference, checked.name, assembled, shape)),
            reference.tolerances.of(checked.name, dtype.name if dtype else None),
            dtype,
            gathered.scale,
            None if identity is None or not is_in_order else (reference.own_name(checked.name), identity),
        )
        if result.metrics.expects_nothing:
            return replace(checked, reason="only NaN", note="not comparable: the reference holds only NaN")
        if is_in_order:
            return replace(checked, verdict="fail" if result.complaints else "pass", comparison=result)
        own = reference.shape(checked.name)
        assert own is not None
        if result.complaints:  # as many numbers in another layout are no error of an op
            return replace(checked, reason="other shape", note=f"not comparable: {misfit(own, shape)}")
        way = "compared transposed" if transposed_from(own, shape) else "compared in the order of memory"
        return replace(checked, verdict="pass", comparison=result, note=f"{way}: {misfit(own, shape)}")

    def sides(self, gathered: Gathered) -> tuple[Array, Array] | None:
        """The computed and the expected numbers of a tensor, as in a ``Comparison``; None where there are none."""
        assembled, reference = gathered.assembled, self._reference
        if assembled is None or reference is None:
            return None
        return _sides(reference, gathered.checked.name, assembled, gathered.shape)


def misfit(expected: tuple[int, ...], shape: tuple[int, ...]) -> str:
    """``the reference has shape [1, 18, 64], the model [1, 64, 18]``."""
    return f"the reference has shape {list(expected)}, the model {list(shape)}"


def _sides(reference: Reference, name: str, assembled: Whole, shape: tuple[int, ...]) -> tuple[Array, Array]:
    array = reference.whole(name, shape)
    assert array is not None
    expected: Array = np.ascontiguousarray(array, np.float32)
    own = assembled.words.shape
    if expected.shape == own:
        return assembled.numbers(expected), expected
    return assembled.numbers(expected.reshape(own)).reshape(expected.shape), expected
