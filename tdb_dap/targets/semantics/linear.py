"""Per-channel linear functions. Source: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.arithmetic.halves import calculated
from tdb_dap.targets.families import linear as op
from tdb_dap.targets.semantics.registry import Operation, semantics


@semantics("lin", op.MAC, op.SQUARE_SUM, op.SQUARE_DIFFERENCE)
def linear(x: Operation) -> Array:
    """mac: round(input * a) + b; square_sum: t = round(input + a), t * t; square_diff: t = round(input - a), t * t."""
    dtype = x["input"].dtype
    numbers = float32.operand(x["input"].numbers, dtype)
    a = float32.operand(x["a"].numbers, dtype)
    if x.fields.sub == op.MAC:
        b = float32.operand(x["b"].numbers, dtype)
        return calculated(float32.add(float32.product_in(numbers, a, dtype), b), x.dtype)
    moved = float32.add(numbers, a) if x.fields.sub == op.SQUARE_SUM else float32.subtract(numbers, a)
    rounded = float32.round_to(moved, dtype)
    return x.dtype.encode(float32.product_in(rounded, rounded, dtype))
