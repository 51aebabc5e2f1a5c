"""Element-wise operations and table look-up of CV18xx."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.hardware.dtypes import BF16, SI8, UI8, UI16, DType
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.cv18xx.legality import ELEMENTS, LOOK_UPS
from tdb_dap.targets.families.cv18xx.rows import (
    byte_dtype,
    constant_dtype,
    high_plane,
    in_lane_of_result,
    is_float,
    own_shape,
    tensor,
)

MUL, MAC, ADD, SUB, MAX, MIN, SHIFT, AND, OR, XOR, COPY, GREATER_EQUAL, LOOKUP = range(13)
BITWISE = (AND, OR, XOR)

TABLE = 256
"""Entries of a table."""


def _has_right(f: Fields) -> bool:
    return f.sub != COPY


def _adds_to_old(f: Fields) -> bool:
    return f.sub == MAC


def _is_integer_mac(f: Fields) -> bool:
    return _adds_to_old(f) and not is_float(f)


def _old_dtype(f: Fields) -> DType:
    """The old result of a product that is added to it has 16 bits, whatever the new one has."""
    return BF16 if is_float(f) else UI8


def _right_dtype(f: Fields) -> DType:
    return constant_dtype(f, "opd1")


def finishing(f: Fields) -> dict[str, Any]:
    """Steps after a result: multiplier, shift, rectification."""
    attributes: dict[str, Any] = {"relu": bool(f.relu)}
    if not is_float(f):
        multiplier = {"multiplier": f.quan_m} if f.chl_quan and f.quan_m else {}
        attributes = {**multiplier, "right_shift": f.res_shift, **attributes}
    return attributes


def _attributes(f: Fields) -> dict[str, Any]:
    shift = {"left_shift": f.left_shift} if _is_integer_mac(f) else {}
    return {**finishing(f), **shift} if f.sub != COPY and f.sub not in BITWISE else {}


_RESULT = own_shape("res0")


@family("cvi.arith", registers=("cvi_elements",))
class Elements:
    """One operation per element of one or two operands; a step of zero repeats an element.

    mac adds the product to the old result, which is shifted left first. Integers are rectified, multiplied, shifted
    right and limited, in this order.
    """

    left = tensor("opd0", own_shape("opd0"), constant=False)
    left_high = high_plane("opd0", own_shape("opd0"))
    right = tensor("opd1", own_shape("opd1"), dtype=_right_dtype, when=_has_right)
    right_high = high_plane("opd1", own_shape("opd1"), when=_has_right)
    old = tensor("res0", _RESULT, dtype=_old_dtype, constant=False, hidden=True, when=_adds_to_old)
    old_high = tensor(
        "res0",
        _RESULT,
        dtype=lambda f: SI8 if f.res0_sign else UI8,
        plane=1,
        constant=False,
        hidden=True,
        when=_is_integer_mac,
    )
    result = tensor("res0", _RESULT, result_)
    result_high = high_plane("res0", _RESULT, result_)
    attributes = staticmethod(_attributes)
    rules = ELEMENTS


def _index_dtype(f: Fields) -> DType:
    return UI16 if is_float(f) else UI8


def _table_shape(f: Fields) -> tuple[int, ...]:
    return 1, min(f.opd0_c, f.geometry.lanes), 1, TABLE


@family("cvi.lut", registers=("cvi_lookup",))
class Lookup:
    """result = table[the low byte of the index]; each lane has its table, at the same byte."""

    index = tensor("opd0", own_shape("opd0"), dtype=_index_dtype, constant=False)
    table = operand(
        "opd1",
        _table_shape,
        Layout.STRIDE,
        dtype=lambda f: BF16 if is_float(f) else UI8,
        constant=False,
        parts=in_lane_of_result("opd1"),
        strides=lambda f: (0, 0, 0, 1),
        local_only=True,
    )
    result = tensor("res0", own_shape("opd0"), result_, dtype=lambda f: byte_dtype(f, "res0"))
    result_high = high_plane("res0", own_shape("opd0"), result_)
    rules = LOOK_UPS
