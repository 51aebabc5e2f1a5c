"""Matrix product of CV18xx."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.targets.arithmetic import truncating
from tdb_dap.targets.arithmetic.dot import exact_product, truncated
from tdb_dap.targets.arithmetic.products import of_matrices
from tdb_dap.targets.arithmetic.shifts import signed
from tdb_dap.targets.families.cv18xx.matrix import bias_planes
from tdb_dap.targets.families.cv18xx.rows import is_float, is_wide
from tdb_dap.targets.semantics.cv18xx import common
from tdb_dap.targets.semantics.cv18xx.common import refuse, tiu
from tdb_dap.targets.semantics.registry import Operation


@tiu("cvi.matrix", 0)
def multiply(x: Operation) -> Array | tuple[Array, ...]:
    """left x right + bias.

    Integers: exact. bfloat16: products are added by the columns of a lane, of each all lanes in turn; the bias last.
    """
    f = x.fields
    refuse(f.left_tran, "a left matrix that is transposed")
    refuse(f.res_add, "a product that is added to the old result")
    refuse((f.opd0_h, f.opd1_h, f.res0_h) != (1, 1, 1) and f.opd0_h != 1, "matrices of several rows in a lane")
    refuse(not is_float(f) and (is_wide(f, "opd0") or is_wide(f, "opd1")), "matrices of integers of 16 bits")
    before = common.earlier_sums(x)
    before = None if before is None else _as_rows(before)
    left, right = x["left"], x["right"]
    if is_float(f):
        return _floats(x, truncating.operand(left.bits), truncating.operand(right.bits), before)
    total = exact_product(left.numbers, right.numbers).astype(np.int64)
    total = total if before is None else total + before
    planes = common.later_sums(x, _as_tensor(x, total))
    if planes is not None:
        return planes
    total = total + _bias(x)
    if f.chl_quan:
        return common.multiplied(x, total, signed(f.quan_m, 32), f.res_shift)
    return common.finished(x, total)


def _bias(x: Operation) -> Array | int:
    """Integers whose bytes are in rows, the lowest first."""
    if "bias" not in x:
        return 0
    rows = x["bias"].bits.astype(np.int64)
    count = bias_planes(x.fields)
    total = sum((rows[number : number + 1] << 8 * number for number in range(count)), np.zeros((1, 1), np.int64))
    is_signed = count == 4 or x.fields.opd2_sign
    return np.where(total >> 8 * count - 1 & 1, total - (1 << 8 * count), total) if is_signed else total


def _floats(x: Operation, left: Array, right: Array, before: Array | None) -> Array | tuple[Array, ...]:
    inner, width = right.shape[0], x.fields.opd0_w
    order = [k for column in range(min(width, inner)) for k in range(column, inner, width)]
    start = np.zeros((1, 1), np.float32) if before is None else before
    total = truncated(of_matrices(left[:, order], right[order]), start)
    planes = common.later_sums(x, _as_tensor(x, total))
    if planes is not None:
        return planes
    addend = common.bias(x)
    return common.encoded(x, total if addend is None else truncating.add(total, addend))


def _as_rows(sums: Array) -> Array:
    """(rows, lanes, 1, columns of a lane) as a matrix."""
    return sums.reshape(sums.shape[0], -1)


def _as_tensor(x: Operation, total: Array) -> Array:
    return total.reshape(x.fields.res0_n, x.fields.res0_c, 1, x.fields.res0_w)
