"""Per-channel linear functions."""

from __future__ import annotations

from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import RESULT_SHAPE, family, operand, result_
from tdb_dap.targets.families.formats import FLOATS, among

MAC, SQUARE_SUM, SQUARE_DIFFERENCE = 1, 20, 21


@family("lin", registers=("sLIN", "LIN"))
class Linear:
    """mac: input * a + b; square_sum: (input + a)^2; square_diff: (input - a)^2; a and b per channel."""

    input = operand("opd0", RESULT_SHAPE, dtype="res0_prec", sign=1, constant=False)
    a = operand("opd1", (1, "res0_c", 1, 1), Layout.COMPACT, dtype="res0_prec", sign=1)
    b = operand("opd2", (1, "res0_c", 1, 1), Layout.COMPACT, dtype="res0_prec", sign=1, when=lambda f: f.sub == MAC)
    result = result_(sign=1)
    rules = (among("res0_prec", FLOATS, "numbers"),)
