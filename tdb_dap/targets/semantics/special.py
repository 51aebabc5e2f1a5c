"""Special function unit. Source: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import F16, F32, Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.families import special as op
from tdb_dap.targets.semantics.numerics import float32
from tdb_dap.targets.semantics.registry import Operation, semantics
from tdb_dap.targets.semantics.rules import Reciprocal

# Fraction bits, exponent bits, and the fraction from which the exponent is rounded up (one third).
_FORMAT = {"f32": (23, 8, 0x2AAAAB), "f16": (10, 5, 342), "bf16": (7, 8, 44)}


@semantics("sfu", op.TAYLOR_4X, op.TAYLOR)
def series(x: Operation) -> Array:
    """y = c[n-1]; then for k = n-2 .. 0: y = round(round(y * x) + c[k]). Lane i uses the coefficients of lane i."""
    dtype = x["input"].dtype
    numbers = float32.operand(x["input"].numbers, dtype)
    rows = x["coefficients"].numbers
    lanes = np.arange(numbers.shape[1]) % rows.shape[1]
    table = float32.operand(rows, dtype)[:, lanes]
    total = np.broadcast_to(table[..., -1:], numbers.shape)
    for k in range(table.shape[3] - 2, -1, -1):
        product = float32.product_in(float32.operand(total, dtype), numbers, dtype)
        total = float32.round_to(float32.add(product, table[..., k : k + 1]), dtype)
    return x.dtype.encode(total)


@semantics("sfu", op.RECIPROCAL_SQRT)
def reciprocal_sqrt(x: Operation) -> Array:
    """1 / sqrt(input) by rsqrt_n Newton steps; special numbers: see ``rules.Reciprocal``.

    Where they are treated: zero gives an infinity of its sign, negative numbers and NaN give NaN, +inf gives 0. With
    Reciprocal.ZERO negative subnormals still run through the formula.
    """
    dtype, numbers, rule = x["input"].dtype, x["input"].numbers, x.rules.reciprocal
    found = float32.reciprocal_sqrt(numbers, x.fields.opd2_n_str + 1, dtype)
    if rule is Reciprocal.FORMULA:
        if dtype is not F32:
            raise NotSimulated(f"sfu.rsqrt on {dtype} is not known on this chip")
        return x.dtype.encode(found)
    fraction, exponent, _ = _FORMAT[dtype.name]
    words = x["input"].bits.astype(np.int64)
    no_exponent = (words >> fraction & ((1 << exponent) - 1)) == 0
    is_zero = (words & ((1 << (fraction + exponent)) - 1)) == 0
    if rule is Reciprocal.SUBNORMAL and dtype is not F16:
        is_zero = no_exponent
    negative = (words >> (fraction + exponent)).astype(np.bool_)
    undefined = np.isnan(numbers) | (negative & ~(no_exponent & (rule is Reciprocal.ZERO)))
    found = np.where(undefined, np.float32(np.nan), np.where(np.isposinf(numbers), np.float32(0), found))
    return x.dtype.encode(np.where(is_zero, np.copysign(np.float32(np.inf), numbers), found))


@semantics("sfu", op.NORMALIZE)
def normalize(x: Operation) -> Array:
    """The exponent field e, plus 1 for positive values whose fraction exceeds one third.

    Integer results: e; float results: sign and exponent, fraction zero. NaN and infinities are not special. Where the
    sign tells bf16 from f16, it is that of the result for integer results.
    """
    name = x["input"].dtype.name
    if x.rules.halves_by_sign and x["input"].dtype.itemsize == 2 and not x.dtype.is_float:
        name = "bf16" if x.fields.res0_sign else "f16"
    fraction, exponent, third = _FORMAT[name]
    words = x["input"].bits.astype(np.int64)
    mask = (1 << exponent) - 1
    positive = (words >> (fraction + exponent)) == 0
    value = ((words >> fraction) & mask) + (((words & ((1 << fraction) - 1)) >= third) & positive)
    if x.rules.normalize_zero and name != "f16":
        value = np.where((words >> fraction) & mask, value, 0)
    if not x.dtype.is_float:
        return x.dtype.encode(value)
    sign = words & (1 << (fraction + exponent))
    words = ((value & mask) << fraction) | sign
    return words.astype(x.dtype.bits_dtype)
