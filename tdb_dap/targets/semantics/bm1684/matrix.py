"""Matrix multiplication of BM1684. Source of every rule: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import F32, Array
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.arithmetic.dot import exact_product
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.arithmetic.shifts import HALF_UP, shift
from tdb_dap.targets.arithmetic.stored import Unplanned
from tdb_dap.targets.semantics.bm1684.common import refuse, refuse_rare, sum_of_matrix_products, tiu
from tdb_dap.targets.semantics.registry import MatrixProduct, Operation, multiplies


def _check(x: Operation) -> None:
    f, left, right = x.fields, x["left"], x["right"]
    refuse(f.left_tran, "a product with the left matrix transposed")
    refuse(f.opd0_const or f.opd1_const or f.opd2_const, "a product with a constant")
    refuse(left.dtype.itemsize != right.dtype.itemsize, f"a product of {left.dtype} and {right.dtype}")
    if left.dtype is not F32:
        refuse(left.dtype.itemsize > 1 or x.dtype.itemsize > 2, f"a product of {left.dtype} into {x.dtype}")


def _limits(x: Operation) -> tuple[int, int]:
    """Those of integers: a rectified result is unsigned."""
    dtype = x.fields.tiu_dtype(x.fields.res0_prec, 0) if x.fields.relu else x.dtype
    return dtype.minimum, dtype.maximum


def _multiplied(x: Operation) -> MatrixProduct:
    """The product of ``multiply``."""
    f, is_float = x.fields, x["left"].dtype is F32
    refuse_rare(f)
    _check(x)
    starts = tuple([role for role in ("bias", "old") if role in x])
    if x.rules.fast or (f.left_shift and "old" in x and not is_float) or (is_float and x.dtype is not F32):
        raise Unplanned("sums in another order, or shifted old results")
    steps = None if is_float else Steps(HALF_UP, amount=-f.right_shift, limits=_limits(x))
    # A single product is not added to anything: it may be -0.
    zero = -0.0 if x["left"].shape[1] == 1 else 0.0
    return MatrixProduct("left", "right", False, False, starts, zero, steps, adds_last=is_float)


@multiplies(_multiplied)
@tiu("bm1684.mm", 0)
def multiply(x: Operation) -> Array:
    """result = left x right + bias + old.

    f32: accumulators by k mod 2; ((acc0 + acc1) + bias) + old. 8 bit: exact, shifted right half up,
    saturated; to unsigned numbers if rectified.
    """
    f, left, right, old = x.fields, x["left"], x["right"], x.get("old")
    bias = x["bias"].numbers if "bias" in x else None
    _check(x)
    if left.dtype is not F32:
        total = exact_product(left.numbers, right.numbers)
        total = total if bias is None else total + bias.astype(np.int64)
        if old is not None:
            total = total + (old.numbers.astype(np.int64) << f.left_shift)
        return x.dtype.encode(np.clip(shift(total, -f.right_shift, HALF_UP), *_limits(x)))
    a, b = float32.flush(left.numbers), float32.flush(right.numbers)
    product = sum_of_matrix_products(a, b, x.rules.fast)
    if bias is not None:
        product = float32.add(product, float32.flush(bias))
    return x.dtype.encode(product if old is None else float32.add(product, float32.flush(old.numbers)))
