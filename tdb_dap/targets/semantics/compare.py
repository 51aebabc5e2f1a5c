"""Comparison and selection. Source: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import F16, F32, Array
from tdb_dap.targets.arithmetic import elements, float32
from tdb_dap.targets.families import compare as op
from tdb_dap.targets.kernel.constants import Condition
from tdb_dap.targets.semantics.arithmetic import conditions
from tdb_dap.targets.semantics.registry import Operation, semantics


def _is_compared(x: Operation) -> bool:
    """Whether the chip compares numbers of this format; else none is greater, equal or less, and the greater is 0."""
    return not x.rules.compares_bf16 or x["left"].dtype not in (F16, F32)


def _conditions(x: Operation) -> tuple[Array, Array, Array]:
    if _is_compared(x):
        return conditions(x["left"], x["right"])
    never = np.zeros(1, np.bool_)
    return never, never, never


@semantics("cmp", op.SELECT_GREATER, op.SELECT_EQUAL, op.SELECT_LESS)
def select(x: Operation) -> Array:
    """condition(left, right) ? when_true : when_false, bit by bit."""
    kind = {
        op.SELECT_GREATER: Condition.IS_GREATER,
        op.SELECT_EQUAL: Condition.IS_EQUAL,
        op.SELECT_LESS: Condition.IS_LESS,
    }
    if _is_compared(x):
        operands = [x[role].stored for role in ("left", "right", "when_true", "when_false")]
        words = elements.selected(kind[x.fields.sub], *operands)
        if words is not None:
            return words
    greater, equal, less = _conditions(x)
    chosen = {op.SELECT_GREATER: greater, op.SELECT_EQUAL: equal, op.SELECT_LESS: less}[x.fields.sub]
    return np.where(chosen, x["when_true"].bits, x["when_false"].bits)


@semantics("cmp", op.GREATER_AND_SELECT, op.LESS_AND_SELECT)
def compare_and_select(x: Operation) -> tuple[Array, Array]:
    """The greater (lesser) of left and right, flushed except f16, and when_true or when_false with it."""
    left, right = x["left"], x["right"]
    greater, _, less = _conditions(x)
    chosen = greater if x.fields.sub == op.GREATER_AND_SELECT else less
    extreme = np.where(chosen, left.bits, right.bits if _is_compared(x) else 0).astype(left.bits.dtype)
    if left.dtype.is_float and left.dtype.name != "f16":
        extreme = left.dtype.encode(float32.flush(left.dtype.widen(extreme)))
    return extreme, np.where(chosen, x["when_true"].bits, x["when_false"].bits)
