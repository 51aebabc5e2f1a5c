"""Matrix multiplication of BM1684. Source of every rule: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import F32, Array
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.arithmetic.dot import exact_product
from tdb_dap.targets.arithmetic.shifts import HALF_UP, saturate, shift
from tdb_dap.targets.semantics.bm1684.common import refuse, sum_of_matrix_products, tiu
from tdb_dap.targets.semantics.registry import Operation


@tiu("bm1684.mm", 0)
def multiply(x: Operation) -> Array:
    """result = left x right + bias + old.

    f32: accumulators by k mod 2; ((acc0 + acc1) + bias) + old. 8 bit: exact, shifted right half up,
    saturated; to unsigned numbers if rectified.
    """
    f, left, right, old = x.fields, x["left"], x["right"], x.get("old")
    bias = x["bias"].numbers if "bias" in x else None
    refuse(f.left_tran, "a product with the left matrix transposed")
    refuse(f.opd0_const or f.opd1_const or f.opd2_const, "a product with a constant")
    refuse(left.dtype.itemsize != right.dtype.itemsize, f"a product of {left.dtype} and {right.dtype}")
    if left.dtype is not F32:
        refuse(left.dtype.itemsize > 1 or x.dtype.itemsize > 2, f"a product of {left.dtype} into {x.dtype}")
        total = exact_product(left.numbers, right.numbers)
        total = total if bias is None else total + bias.astype(np.int64)
        if old is not None:
            total = total + (old.numbers.astype(np.int64) << f.left_shift)
        total = shift(total, -f.right_shift, HALF_UP)
        # A rectified result is unsigned.
        return x.dtype.encode(saturate(total, f.tiu_dtype(f.res0_prec, 0) if f.relu else x.dtype))
    a, b = float32.flush(left.numbers), float32.flush(right.numbers)
    product = sum_of_matrix_products(a, b, x.rules.fast)
    if bias is not None:
        product = float32.add(product, float32.flush(bias))
    return x.dtype.encode(product if old is None else float32.add(product, float32.flush(old.numbers)))
