"""Special function unit. Source: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import F16, F32, Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import elements, float32
from tdb_dap.targets.arithmetic.halves import FLUSHED_F16, without_subnormals
from tdb_dap.targets.families import special as op
from tdb_dap.targets.kernel.constants import Reciprocal
from tdb_dap.targets.semantics.registry import Operation, semantics

_LOG2_E = np.float32(np.float16(1.4426950408889634))
_LEAST_COEFFICIENTS = 3
_NEVER_WRITTEN = (0xBEEF, 0xDEAD)

# Fraction bits, exponent bits, and the fraction from which the exponent is rounded up (one third).
_FORMAT = {"f32": (23, 8, 0x2AAAAB), "f16": (10, 5, 342), "bf16": (7, 8, 44)}


@semantics("sfu", op.TAYLOR_4X, op.TAYLOR)
def series(x: Operation) -> Array:
    """y = c[n-1]; then for k = n-2 .. 0: y = round(round(y * x) + c[k]). Lane i uses the coefficients of lane i."""
    dtype = x["input"].dtype
    if x.dtype.name == dtype.name and x["coefficients"].shape[0] == x["coefficients"].shape[2] == 1:
        words = elements.series(x["input"].stored, x["coefficients"].stored)
        if words is not None:
            return words
    rows = x["coefficients"].numbers
    lanes = np.arange(x["input"].shape[1]) % rows.shape[1]
    table = float32.operand(rows, dtype)[:, lanes]
    numbers = float32.operand(x["input"].numbers, dtype)
    total = np.broadcast_to(table[..., -1:], numbers.shape)
    for k in range(table.shape[3] - 2, -1, -1):
        product = float32.product_in(float32.operand(total, dtype), numbers, dtype)
        total = float32.round_to(float32.add(product, table[..., k : k + 1]), dtype)
    return x.dtype.encode(total)


@semantics("sfu", op.EXPONENTIAL)
def exponential(x: Operation) -> tuple[Array, Array, Array]:
    """e^x = 2^n * table[i] * series(g), where t = x * log2(e) is kept between -15 and 16, n + i / 16 + g = t.

    Each lane has its own series; the table is that of the first lane. All in f16, rounded after each step; subnormals
    are zeros. The scratch areas keep n and t, and 2^n * table[i] and g, in blocks as wide as the execution units, of
    the last channel of each lane; the rest is as the vendor's simulator leaves it.
    """
    dtype = x["input"].dtype
    f = x.fields
    if dtype is not x.dtype or dtype.name != "f16":
        raise NotSimulated(f"sfu.exp of {dtype} numbers as {x.dtype} is not known")
    if not f.opd1_const or f.opd1_n < 2 * op.TABLE + _LEAST_COEFFICIENTS:
        raise NotSimulated(f"sfu.exp with {f.opd1_n} coefficients (opd1_const {f.opd1_const}) is not known")

    table = x["table"].numbers.reshape(-1)
    if not ((table >= 1) & (table < 2)).all():
        raise NotSimulated("sfu.exp with numbers other than 1 to 2 in its table of powers is not known")

    def rounded(numbers: Array) -> Array:
        return without_subnormals(float32.round_to(numbers, F16), FLUSHED_F16)

    numbers = without_subnormals(x["input"].numbers, FLUSHED_F16)
    exponents = np.fmin(np.fmax(rounded(numbers * _LOG2_E), np.float32(-15)), np.float32(16))
    integers = np.floor(exponents) + np.float32(0)
    fraction = rounded(exponents - integers)
    step = np.floor(fraction * op.TABLE)
    left = rounded(fraction - step / np.float32(op.TABLE))
    rows = x["series"].numbers[0, np.arange(numbers.shape[1]) % x["series"].bits.shape[1], 0]
    series = without_subnormals(rows, FLUSHED_F16)
    place = step.astype(np.int64)
    shift = (integers.astype(np.int64) + place // op.TABLE).astype(np.intc)  # ldexp takes no longer ones on Windows
    exact = np.ldexp(table[place % op.TABLE], shift)
    power = rounded(without_subnormals(exact, FLUSHED_F16))
    total = np.broadcast_to(series[None, :, None, -1:], numbers.shape)
    for k in range(series.shape[1] - 2, -1, -1):
        total = rounded(rounded(total * left) + series[None, :, None, k : k + 1])
    return x.dtype.encode(rounded(total * power)), _scratch(x, integers, exponents), _scratch(x, power, left)


def _scratch(x: Operation, first: Array, second: Array) -> Array:
    """Blocks of numbers of both, by turns, of the last channel of each lane; see ``exponential``."""
    geometry = x.fields.geometry
    lanes, length = x.result_shapes["exponents"][1::2]
    shift = x.fields.opd0_addr // geometry.lane_bytes
    words = np.tile(np.array(_NEVER_WRITTEN, np.uint16), (1, lanes, 1, length // 2))
    units = geometry.eu_bytes // F16.itemsize
    for channel in range(max(0, first.shape[1] - lanes), first.shape[1]):
        for offset, numbers in ((0, first), (units, second)):
            given = F16.encode(numbers[-1, channel].reshape(-1))
            place = np.arange(given.size)
            words[0, (channel + shift) % lanes, 0, place // units * 2 * units + place % units + offset] = given
    return words


@semantics("sfu", op.RECIPROCAL_SQRT)
def reciprocal_sqrt(x: Operation) -> Array:
    """1 / sqrt(input) by rsqrt_n Newton steps; special numbers: see ``rules.Reciprocal``.

    With Reciprocal.BY_FORMULA: see ``_root_of_words``. Where special numbers are treated: zero gives an infinity of its
    sign, negative numbers and NaN give NaN, +inf gives 0. With Reciprocal.TRUE_ZEROS negative subnormals still run
    through the formula.
    """
    dtype, rule, steps = x["input"].dtype, x.rules.reciprocal, x.fields.opd2_n_str + 1
    if rule is Reciprocal.BY_FORMULA:
        return _root_of_words(x, steps)
    numbers = x["input"].numbers
    roots = float32.reciprocal_sqrt(numbers, steps, dtype)
    fraction, exponent, _ = _FORMAT[dtype.name]
    words = x["input"].bits.astype(np.int64)
    no_exponent = (words >> fraction & ((1 << exponent) - 1)) == 0
    is_zero = (words & ((1 << (fraction + exponent)) - 1)) == 0
    if rule is Reciprocal.TRUE_SUBNORMALS and dtype is not F16:
        is_zero = no_exponent
    negative = (words >> (fraction + exponent)).astype(np.bool_)
    undefined = np.isnan(numbers) | (negative & ~(no_exponent & (rule is Reciprocal.TRUE_ZEROS)))
    roots = np.where(undefined, np.float32(np.nan), np.where(np.isposinf(numbers), np.float32(0), roots))
    return x.dtype.encode(np.where(is_zero, np.copysign(np.float32(np.inf), numbers), roots))


def _root_of_words(x: Operation, steps: int) -> Array:
    """The formula on words that are taken for those of float32, whatever their format; the low bytes of the results."""
    if x["input"].dtype is x.dtype is F32:
        at_once = elements.reciprocal_roots(x["input"].stored, steps, F32)
        if at_once is not None:
            return at_once
    words = x["input"].bits
    if words.itemsize != x.dtype.itemsize:
        raise NotSimulated(f"sfu.rsqrt of {x['input'].dtype} as {x.dtype} is not known on this chip")
    roots = F32.encode(float32.reciprocal_sqrt(words.astype(np.uint32).view(np.float32), steps, F32))
    return roots.astype(words.dtype)


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
