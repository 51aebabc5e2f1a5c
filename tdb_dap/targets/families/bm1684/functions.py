"""Functions of one operand of BM1684: table lookup, series, conversion, linear function, selection."""

from __future__ import annotations

from tdb_dap.engine.hardware.dtypes import F32, UI32, DType
from tdb_dap.engine.hardware.views import Layout, View, strides_of
from tdb_dap.targets.declaration.family import RESULT_SHAPE, Bound, family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.bm1684.rows import itemsize, storage, word_result, words
from tdb_dap.targets.families.formats import among

LOOKUP = 0
TAYLOR, TO_INTEGER, EXPONENT, POWER, RECIPROCAL_SQRT = 13, 14, 15, 16, 17
MAC = 1
SELECT = 23


def _index_dtype(f: Fields) -> DType:
    """The bits of the index are taken as they are."""
    return UI32 if itemsize(f, "opd0") == 4 else f.tiu_dtype(f.opd0_prec, 0)


@family("bm1684.lut", registers=("lut_op",))
class Lookup:
    """result = table[the low bits of the index]; the table is in L2 and has a power of two of words."""

    index = words("opd0", dtype=_index_dtype, constant=False, unread=0xFFFFFF00)  # the table has 256 words
    table = operand("opd1", lambda f: (1 << f.opd1_h,), Layout.CONTIGUOUS, dtype=F32, constant=False, in_l2=True)
    result = word_result(sign=1)
    vendor_text = "table lookup"


@family("bm1684.sfu", registers=("md_sfu_op",))
class SpecialFunction:
    """taylor: a series without constant term, coefficients in L2; fp32_to_int; exponent and power of two; rsqrt."""

    input = words("opd0", sign=1, constant=False)
    coefficients = operand(
        "opd1",
        ("opd1_n",),
        Layout.CONTIGUOUS,
        dtype=F32,
        constant=False,
        in_l2=True,
        when=lambda f: f.sub == TAYLOR,
    )
    result = word_result(sign=1)
    rules = (among("res0_prec", lambda f: {4} if f.sub in (TO_INTEGER, EXPONENT) else {2, 4}, "result"),)
    vendor_text = "md sfu"


@family("bm1684.linear", registers=("md_linear_op",))
class Linear:
    """mac: input * factor + addend."""

    input = words("opd0", constant=False)
    addend = operand("opd1", (1, "res0_c", 1, 1), storage("opd1"))
    factor = operand("opd2", (1, "res0_c", 1, 1), storage("opd2"))
    result = word_result(sign=1)
    vendor_text = "md linear"


def _compared_strides(f: Fields) -> tuple[int, ...]:
    """Channel, row and column steps as given; the step from batch to batch is that of the aligned layout."""
    _, *inner = f.four("opd0", "_str")
    shape = f.res0_n, f.res0_c, f.res0_h, f.res0_w
    batch, *_ = strides_of(f.geometry, Layout.ALIGN_EU, f.lane("opd0") * f.geometry.lane_bytes, shape, F32)
    return batch, *inner


def _is_aligned(bound: Bound) -> str:
    """The steps that are given are those of the aligned layout."""
    f, left = bound.fields, bound.operands["left"]
    if not isinstance(left, View):
        return ""
    shape = f.res0_n, f.res0_c, f.res0_h, f.res0_w
    aligned = strides_of(f.geometry, Layout.ALIGN_EU, left.address, shape, F32)
    return "" if aligned == left.strides else f"its left is not aligned: {left.memref}"


@family("bm1684.cmp", registers=("md_cmp_op",))
class Compare:
    """select: left > right ? when_true : when_false, as the second result."""

    left = operand("opd0", RESULT_SHAPE, Layout.STRIDE, strides=_compared_strides)
    right = words("opd1")
    when_true = operand("opd2", RESULT_SHAPE, dtype="opd2_prec", sign=0)
    when_false = operand("opd3", RESULT_SHAPE, dtype="opd2_prec", sign=0)
    selected = result_("res1", RESULT_SHAPE, dtype="res0_prec", sign=0)
    rules = (
        _is_aligned,
        among("opd0_prec", {2}, "left"),
        among("opd2_prec", {2}, "numbers"),
        among("res0_prec", {2}, "result"),
    )
    vendor_text = "md cmp"
