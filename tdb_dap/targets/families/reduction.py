"""Reduction over rows, or over rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.dtypes import F32
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.errors import Undefined
from tdb_dap.targets.declaration.family import Bound, family, flag, operand, result_

if TYPE_CHECKING:
    from tdb_dap.targets.declaration.fields import Fields

WHOLE, COMPACT_ROWS, ALIGNED_ROWS = 0, 1, 6
"""Storage codes: a channel is reduced as a whole, or each of its rows."""

_LAYOUTS = {WHOLE: Layout.ALIGN_EU, COMPACT_ROWS: Layout.COMPACT, ALIGNED_ROWS: Layout.ALIGN_LINE}

MAXIMUM, LARGEST_MAGNITUDE, MINIMUM, SUM, SUM_OF_POWERS = range(5)


def _layout(f: Fields) -> Layout:
    if f.opd0_str not in _LAYOUTS:
        raise Undefined(f"operand storage code {f.opd0_str} of a reduction is not defined")
    return _LAYOUTS[f.opd0_str]


def _result_shape(f: Fields) -> tuple[int, ...]:
    """One number of each row or channel: the sizes of the result say nothing."""
    return f.opd0_n, f.opd0_c, 1 if f.opd0_str == WHOLE else f.opd0_h, 1


def _keeps_the_format(bound: Bound) -> str:
    """The result has the format of what is reduced, or of a sum float32."""
    read, made = bound.operands["input"].dtype, bound.results["result"].dtype
    if made == read or (made is F32 and bound.fields.sub in (SUM, SUM_OF_POWERS)):
        return ""
    return f"it makes {made} out of {read}"


def _has_no_steps(bound: Bound) -> str:
    """The command has no fields for them."""
    result = bound.results["result"]
    is_lacking = isinstance(result, View) and result.layout is Layout.STRIDE
    return "the steps of its result are not in the command" if is_lacking else ""


@family("reduce", registers=("sREDUCE",))
class Reduction:
    """result = max, max of magnitudes, min, sum or sum of powers of each row, or of each channel.

    The storage code of the operand says which.
    """

    input = operand("opd0", ("opd0_n", "opd0_c", "opd0_h", "opd0_w"), _layout)
    result = result_("res0", _result_shape, "res0_str", sign="res0_sign")
    attributes = {"do_relu": flag("relu"), "sym_range": flag("sym_range")}
    rules = (_keeps_the_format, _has_no_steps)
