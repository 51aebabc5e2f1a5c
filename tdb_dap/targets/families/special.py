"""Series, reciprocal square root and normalisation (the special function unit)."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import RESULT_SHAPE, family, operand, result_
from tdb_dap.targets.declaration.fields import Fields

TAYLOR_4X, TAYLOR, NORMALIZE, RECIPROCAL_SQRT = 12, 13, 15, 17


@family("sfu", registers=("sSFU", "SFU"))
class SpecialFunction:
    """taylor: Horner's rule over a row of coefficients; rsqrt: 1/sqrt(x) by Newton steps; normalize: the exponent."""

    input = operand("opd0", RESULT_SHAPE, sign=1, constant=False)
    coefficients = operand(
        "opd1",
        lambda f: (1, min(f.res0_c, f.geometry.lanes), 1, f.opd1_n),
        Layout.STRIDE,
        dtype="opd0_prec",
        sign=1,
        constant=False,
        strides=lambda f: (0, 0, f.opd1_n, 1),
        when=lambda f: f.sub in (TAYLOR_4X, TAYLOR),
    )
    result = result_(sign=1)

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {"rsqrt_n": f.opd2_n_str + 1} if f.sub == RECIPROCAL_SQRT else {}
