"""Series, reciprocal square root and normalisation (the special function unit)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tdb_dap.engine.hardware.dtypes import F16, UI16
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.targets.declaration.family import RESULT_SHAPE, Bound, Row, family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.formats import among

TAYLOR_4X, TAYLOR, NORMALIZE, RECIPROCAL_SQRT, EXPONENTIAL = 12, 13, 15, 17, 22

TABLE = 16
"""Powers 2^(i/16) in the table of an exponential."""

_TABLE_BYTES = 32
"""Bytes of the table; it follows the coefficients at this distance."""


def _is_exponential(f: Fields) -> bool:
    return f.sub == EXPONENTIAL


def _row(length: Callable[[Fields], int]) -> Callable[[Fields], tuple[int, ...]]:
    """Shape of one row in each lane."""
    return lambda f: (1, f.geometry.lanes, 1, length(f))


def scratch_words(f: Fields) -> int:
    """Words of 16 bits in each lane of a scratch area: two for each number of a channel, 64 bytes more, rows of 32."""
    return -(-(4 * f.res0_h * f.res0_w + 64) // 32) * 16


def _scratch(prefix: str) -> Row:
    """A scratch area of an exponential, in all lanes; its rows are written by pairs of them."""
    return result_(
        prefix,
        _row(scratch_words),
        Layout.STRIDE,
        dtype=UI16,
        strides=lambda f: (0, 0, 0, 1),
        when=_is_exponential,
        alignment=lambda f: 2 * f.geometry.eu_bytes,
    )


def _begins_in_lane_0(bound: Bound) -> str:
    """The scratch areas of an exponential have a row in each lane, from the first one on."""
    for role in ("exponents", "powers"):
        view = bound.results.get(role)
        if isinstance(view, View) and view.address >= view.geometry.lane_bytes:
            return f"its {role} begin in lane {view.address // view.geometry.lane_bytes}"
    return ""


_NORMALIZED = {1: (1, 3), 2: (2, 4), 5: (5, 3)}
"""Formats of an exponent by that of the number."""


_EXPONENTIAL = 3
"""Coefficients of the exponential's series."""


def _has_a_series(bound: Bound) -> str:
    f = bound.fields
    if _is_exponential(f) and f.opd1_n != 2 * TABLE + _EXPONENTIAL:
        return f"its series has {f.opd1_n - 2 * TABLE} coefficients, and {_EXPONENTIAL} are known"
    least = f.conventions.least_coefficients
    is_short = f.sub in (TAYLOR_4X, TAYLOR) and f.opd1_n < least
    return f"its series has {f.opd1_n} coefficients, and {least} are the least" if is_short else ""


@family("sfu", registers=("sSFU", "SFU"))
class SpecialFunction:
    """taylor: Horner's rule over a row of coefficients; rsqrt: 1/sqrt(x) by Newton steps; normalize: the exponent.

    exp: e^x by a table of 2^(i/16), a series for what is left, and two scratch areas.
    """

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
        alignment=lambda f: f.geometry.eu_bytes,
    )
    series = operand(
        "opd2",
        _row(lambda f: f.opd1_n - 2 * TABLE),
        Layout.STRIDE,
        dtype=F16,
        constant=False,
        strides=lambda f: (0, 0, 0, 1),
        when=_is_exponential,
        alignment=lambda f: f.geometry.eu_bytes,
    )
    table = operand(
        "opd2",
        (1, 1, 1, TABLE),
        Layout.STRIDE,
        first=_TABLE_BYTES,
        dtype=F16,
        constant=False,
        strides=lambda f: (0, 0, 0, 1),
        when=_is_exponential,
    )
    result = result_(sign=1)
    exponents = _scratch("res1")
    rules = (
        among("opd0_prec", lambda f: {1, 2, 3, 4, 5} if f.sub == NORMALIZE else {1, 2, 5}, "input"),
        among(
            "res0_prec", lambda f: _NORMALIZED.get(f.opd0_prec, ()) if f.sub == NORMALIZE else {f.opd0_prec}, "result"
        ),
        _has_a_series,
        _begins_in_lane_0,
    )
    powers = _scratch("opd3")

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {"rsqrt_n": f.opd2_n_str + 1} if f.sub == RECIPROCAL_SQRT else {}
