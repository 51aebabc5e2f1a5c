"""Reduction over axes. Written from the fields; no compiled model holds it."""

from __future__ import annotations

from tdb_dap.targets.declaration.family import RESULT_SHAPE, family, flag, operand, result_

MAXIMUM, LARGEST_MAGNITUDE, MINIMUM, SUM, SUM_OF_POWERS = range(5)


@family("reduce", registers=("sREDUCE",), evidence="fields")
class Reduction:
    """result = max, max of magnitudes, min, sum or sum of powers over the axes in which the result has one element."""

    input = operand("opd0", ("opd0_n", "opd0_c", "opd0_h", "opd0_w"), "opd0_str")
    result = result_("res0", RESULT_SHAPE, "res0_str", sign="res0_sign")
    attributes = {"do_relu": flag("relu"), "sym_range": flag("sym_range")}
