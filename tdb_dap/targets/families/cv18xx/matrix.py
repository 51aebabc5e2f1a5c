"""Matrix product of CV18xx: rows are batches, columns run over the width of a lane and then over lanes."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.hardware.dtypes import UI8, UI16, DType
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import Row, family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.cv18xx.elements import finishing
from tdb_dap.targets.families.cv18xx.legality import MATRICES
from tdb_dap.targets.families.cv18xx.rows import (
    GIVEN,
    Shape4,
    adds_partial,
    byte_dtype,
    in_lane_of_result,
    is_float,
    is_wide,
    own_shape,
    partial_plane,
    steps,
    writes_partial,
)

_RESULT = own_shape("res0")


def _rows_of_sums(f: Fields) -> int:
    """Bytes of a plane of partial sums: the next begins behind its last row, whatever ``b_str`` says."""
    itemsize = 2 if is_float(f) else 1
    return f.res0_n * steps(f, "res0", _RESULT(f), itemsize)[0] * itemsize


def _sums(number: int, of_float: bool, make: Any, when: Any) -> Row:
    return partial_plane(_RESULT, number, of_float, make, when, _rows_of_sums)


def columns(f: Fields) -> int:
    """Columns of the result and of the right matrix."""
    return f.res0_c * f.res0_w


def _result_shape(f: Fields) -> tuple[int, int]:
    return f.res0_n, columns(f)


def _right_block(f: Fields) -> Shape4:
    return f.opd1_n, f.res0_c, 1, f.res0_w


def has_bias(f: Fields) -> bool:
    return f.tsk_opd_num == 3


def bias_planes(f: Fields) -> int:
    """Bytes of an integer bias: one row of bytes for each."""
    return 4 if f.chl_quan else 2


def _bias_block(f: Fields) -> Shape4:
    return (1 if is_float(f) else bias_planes(f)), f.res0_c, 1, f.res0_w


def _bias_steps(f: Fields) -> Shape4:
    return steps(f, "opd2", _bias_block(f), 2 if is_float(f) else 1)


def _lower_bias(f: Fields) -> int:
    """Bytes from the upper to the lower halves of a float32 bias: one row where no step is given."""
    return f.opd2_b_str if f.number("opd2_str") == GIVEN else 2 * _bias_steps(f)[0]


def _matrix(prefix: str, shape: Any, block: Any, width: str, make: Any = operand, **details: Any) -> Row:
    def dtype(f: Fields) -> DType:
        return byte_dtype(f, prefix)

    return make(
        prefix,
        shape,
        Layout.MATRIX,
        dtype=dtype,
        strides=lambda f: steps(f, prefix, block(f), dtype(f).itemsize),
        width=width,
        constant=False,
        local_only=True,
        **details,
    )


def _wide_result(f: Fields) -> bool:
    return not is_float(f) and not writes_partial(f) and is_wide(f, "res0")


@family("cvi.matrix", registers=("cvi_matrix",))
class MatrixProduct:
    """result = left x right + bias.

    Of the left matrix as many columns count as the right one has rows. Integer biases have a row for each of their
    bytes; sums of 32 bits may go on from one command to the next.
    """

    left = _matrix("opd0", lambda f: (f.opd0_n, f.opd1_n), own_shape("opd0"), "opd0_w")
    right = _matrix("opd1", lambda f: (f.opd1_n, columns(f)), _right_block, "res0_w", parts=in_lane_of_result("opd1"))
    bias = operand(
        "opd2",
        lambda f: (_bias_block(f)[0], columns(f)),
        Layout.MATRIX,
        dtype=lambda f: UI16 if is_float(f) else UI8,
        parts=in_lane_of_result("opd2"),
        strides=_bias_steps,
        width="res0_w",
        constant=False,
        local_only=True,
        when=has_bias,
    )
    bias_low = operand(
        "opd2",
        lambda f: (1, columns(f)),
        Layout.MATRIX,
        dtype=UI16,
        parts=in_lane_of_result("opd2"),
        first=_lower_bias,
        strides=_bias_steps,
        width="res0_w",
        constant=False,
        local_only=True,
        when=lambda f: has_bias(f) and is_float(f),
    )
    sum_0 = _sums(0, False, operand, adds_partial)
    sum_1 = _sums(1, False, operand, adds_partial)
    sum_2 = _sums(2, False, operand, adds_partial)
    sum_3 = _sums(3, False, operand, adds_partial)
    sum_upper = _sums(0, True, operand, adds_partial)
    sum_lower = _sums(1, True, operand, adds_partial)
    result = _matrix("res0", _result_shape, _RESULT, "res0_w", result_, when=lambda f: not writes_partial(f))
    result_high = _matrix(
        "res0",
        _result_shape,
        _RESULT,
        "res0_w",
        result_,
        when=_wide_result,
        first=lambda f: f.res0_b_str,
    )
    result_0 = _sums(0, False, result_, writes_partial)
    result_1 = _sums(1, False, result_, writes_partial)
    result_2 = _sums(2, False, result_, writes_partial)
    result_3 = _sums(3, False, result_, writes_partial)
    result_upper = _sums(0, True, result_, writes_partial)
    result_lower = _sums(1, True, result_, writes_partial)

    rules = MATRICES

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {**finishing(f), "partial_sums": f.ps32_md}
