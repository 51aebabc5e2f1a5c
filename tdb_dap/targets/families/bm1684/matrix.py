"""Matrix multiplication of BM1684."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.hardware.dtypes import F32, DType
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import Bound, family, flag, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.bm1684.rows import any_sign, has_whole_bias
from tdb_dap.targets.families.convolution import is_float
from tdb_dap.targets.families.formats import among, same
from tdb_dap.targets.families.matrix import columns, inner, left_columns, left_rows, rows

SIXTEEN = 3
"""Code of numbers of 16 bits."""


def _old_dtype(f: Fields) -> DType:
    """Format of the sum that goes on: of 8-bit products 16 bits, also where the result has 8."""
    return F32 if is_float(f) else f.tiu_dtype(SIXTEEN, f.res_add_sign)


def _goes_on_with_a_bias(bound: Bound) -> str:
    """A sum of integers that goes on from an earlier one has all its operands."""
    f = bound.fields
    return (
        "it adds to an earlier sum, and has no third operand"
        if f.res_add and not is_float(f) and f.tsk_opd_num < 3
        else ""
    )


@family("bm1684.mm", registers=("mm_op",))
class MatrixMultiply:
    """result = left x right (+ bias row) (+ old).

    Matrices are cut into blocks of columns, one lane each; 8-bit numbers are not packed.
    """

    left = operand("opd0", lambda f: (left_rows(f), left_columns(f)), Layout.MATRIX, width="opd0_w", constant=False)
    right = operand("opd1", lambda f: (inner(f), columns(f)), Layout.MATRIX, width="res0_w", constant=False)
    bias = operand(
        "opd2",
        lambda f: (1, columns(f)),
        Layout.MATRIX,
        width="res0_w",
        constant=False,
        when=lambda f: f.tsk_opd_num > 2,
    )
    old = operand(
        "res0",
        lambda f: (rows(f), columns(f)),
        Layout.MATRIX,
        width="res0_w",
        dtype=_old_dtype,
        constant=False,
        hidden=True,
        when=flag("res_add"),
    )
    result = result_("res0", lambda f: (rows(f), columns(f)), Layout.MATRIX, width="res0_w", sign=any_sign)

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        attributes: dict[str, Any] = {"l_trans": bool(f.left_tran), "res_add": bool(f.res_add)}
        return attributes if is_float(f) else {**attributes, "right_shift": f.right_shift}

    rules = (
        same("opd0_prec", "opd1_prec"),
        among("res0_prec", lambda f: {2} if is_float(f) else {0, 3}, "result"),
        has_whole_bias,
        _goes_on_with_a_bias,
    )
    vendor_text = "matrix multiply"
