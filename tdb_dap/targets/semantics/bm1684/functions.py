"""Functions of one operand of BM1684. Source of every rule: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import F32, SI32, UI8, Array
from tdb_dap.targets.arithmetic import elements, float32, look_ups
from tdb_dap.targets.families.bm1684 import functions as op
from tdb_dap.targets.kernel.constants import Condition
from tdb_dap.targets.semantics import special
from tdb_dap.targets.semantics.bm1684.arithmetic import NEWTON_STEPS
from tdb_dap.targets.semantics.bm1684.common import refuse, tiu
from tdb_dap.targets.semantics.registry import Operation, chooses


@chooses
@tiu("bm1684.lut", op.LOOKUP)
def look_up(x: Operation) -> Array:
    """table[index mod 256], 32-bit words."""
    index, table = x["index"], x["table"]
    size = table.shape[-1]
    refuse(size != 256, f"a lookup in a table of {size} words")
    refuse(index.dtype.itemsize != 4 or x.dtype.itemsize != 4, f"a lookup of {index.dtype} into {x.dtype}")
    rows = table.stored._replace(bits=table.stored.bits.reshape(1, 1, 1, size))
    at_once = look_ups.looked_up_at(rows, index.stored.part(UI8, 0))
    return table.bits[index.bits & np.uint32(255)] if at_once is None else at_once


@tiu("bm1684.sfu", op.TAYLOR)
def series(x: Operation) -> Array:
    """y = c[n-1]; for k = n-2 .. 0: y = y*x + c[k]; result y*x, a float32 whatever the result's format says."""
    refuse(x["input"].dtype is not F32, f"a series of {x['input'].dtype}")
    refuse(x.dtype.itemsize != 4, f"a series as {x.dtype}")
    table = x["coefficients"].stored
    at_once = elements.series(x["input"].stored, table._replace(bits=table.bits.reshape(1, 1, 1, -1)), True)
    if at_once is not None:
        return at_once
    numbers, coefficients = float32.flush(x["input"].numbers), float32.flush(x["coefficients"].numbers)
    total = np.full(numbers.shape, coefficients[-1], np.float32)
    for coefficient in coefficients[-2::-1]:
        total = float32.add(float32.multiply(total, numbers), coefficient)
    return F32.encode(float32.multiply(total, numbers))


@tiu("bm1684.sfu", op.TO_INTEGER)
def to_integer(x: Operation) -> Array:
    """Truncated and saturated; NaN gives the largest or smallest integer, by its sign."""
    refuse(x["input"].dtype is not F32 or x.dtype is not SI32, f"{x['input'].dtype} as {x.dtype}")
    at_once = elements.truncated(x["input"].stored, SI32)
    if at_once is not None:
        return at_once
    numbers = x["input"].numbers.astype(np.float64)
    limit = np.where(np.signbit(numbers), SI32.minimum, SI32.maximum)
    integers = np.trunc(np.where(np.isnan(numbers), limit, numbers))
    return x.dtype.encode(np.clip(integers, SI32.minimum, SI32.maximum))


@tiu("bm1684.sfu", op.EXPONENT, op.POWER)
def normalize(x: Operation) -> Array:
    """The exponent field as an integer, or the power of two as a float; see ``special.normalize``."""
    refuse(x["input"].dtype is not F32, f"the exponent of {x['input'].dtype}")
    refuse(x.dtype.is_float == (x.fields.sub == op.EXPONENT), f"the exponent as {x.dtype}")
    return special.normalize(x)


@tiu("bm1684.sfu", op.RECIPROCAL_SQRT)
def reciprocal_sqrt(x: Operation) -> Array:
    """1 / sqrt(input) by three Newton steps, on the bits of any number; a float32 whatever the result's format says."""
    refuse(x["input"].dtype is not F32, f"1/sqrt of {x['input'].dtype}")
    refuse(x.dtype.itemsize != 4, f"1/sqrt as {x.dtype}")
    at_once = elements.reciprocal_roots(x["input"].stored, NEWTON_STEPS, F32)
    return F32.encode(float32.reciprocal_sqrt(x["input"].numbers, NEWTON_STEPS, F32)) if at_once is None else at_once


@tiu("bm1684.linear", op.MAC)
def linear(x: Operation) -> Array:
    """round(input * factor) + addend, both constants."""
    refuse(x["input"].dtype is not F32, f"a linear function of {x['input'].dtype}")
    refuse(not (x["factor"].is_constant and x["addend"].is_constant), "a linear function per channel")
    refuse({x["factor"].dtype, x["addend"].dtype} != {F32}, "a linear function with constants of other formats")
    at_once = elements.products_added(x["input"].stored, x["factor"].stored, x["addend"].stored, False)
    if at_once is not None and x.dtype is F32:
        return at_once
    factor, addend = float32.flush(x["factor"].numbers), float32.flush(x["addend"].numbers)
    return x.dtype.encode(float32.add(float32.multiply(float32.flush(x["input"].numbers), factor), addend))


@tiu("bm1684.cmp", op.SELECT)
def select(x: Operation) -> Array:
    """left > right ? when_true : when_false, bit by bit; NaN is not greater than anything."""
    left, right = x["left"], x["right"]
    refuse(left.dtype is not F32 or right.dtype is not F32, f"comparison of {left.dtype} and {right.dtype}")
    at_once = elements.selected(
        Condition.IS_GREATER, left.stored, right.stored, x["when_true"].stored, x["when_false"].stored
    )
    if at_once is not None:
        return at_once
    greater = float32.flush(left.numbers) > float32.flush(right.numbers)
    return np.where(greater, x["when_true"].bits, x["when_false"].bits)
