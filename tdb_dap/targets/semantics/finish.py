"""Steps after a sum where requantisation is fused: scale, rectify, limit."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import F32, SI8, SI32, UI32, Array, DType
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import float32
from tdb_dap.targets.arithmetic.requantisation import UNLIMITED, Steps
from tdb_dap.targets.arithmetic.rounding import convert, to_float8, to_integral
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_AWAY, HALF_EVEN, HALF_UP, requantised, signed
from tdb_dap.targets.families import convolution as op
from tdb_dap.targets.semantics.registry import Operation

_WORD = 64
"""Bits of a product that is shifted."""


def rectified(x: Operation, total: Array, nan_by_sign: bool = False, keeps_nan: bool = False) -> Array:
    """y > 0 ? y : 0 if the command says so (floats, before the final rounding).

    NaN stays with ``keeps_nan``, here or among the rules.

    ``nan_by_sign``: NaN stays if its sign is clear.
    """
    if not (x.fields.is_fused and x.fields.relu):
        return total
    kept: Array = total > 0
    if nan_by_sign:
        kept = kept | (np.isnan(total) & ~np.signbit(total))
    elif keeps_nan or x.rules.keeps_nan:
        kept = kept | np.isnan(total)
    return np.where(kept, total, np.float32(0))


def finite_half(words: Array, dtype: DType, keeps_nan: bool = False) -> Array:
    """Stored words of 16-bit floats, finite: the largest number in place of infinities, zero in place of NaNs."""
    numbers = dtype.decode(words)
    # The words before those of infinities.
    finite = np.where(np.isinf(numbers), words - words.dtype.type(1), words)
    return finite if keeps_nan else np.where(np.isnan(numbers), words.dtype.type(0), finite)


def limited(x: Operation, words: Array, keeps_nan: bool = False) -> Array:
    """Stored words of a sum or choice of 16-bit floats, finite if ``sym_range`` and the chip say so."""
    if not (x.rules.symmetric_sums and x.fields.sym_range and x.dtype.is_float and x.dtype.itemsize == 2):
        return words
    return finite_half(words, x.dtype, keeps_nan)


def scaled(x: Operation, total: Array, scale: Array, by_mode: bool = False, halves_by_mode: bool = False) -> Array:
    """The float32 sum of products of 8-bit floats: rectified, times the scale if there is one, rounded.

    The scale is a configuration register read as float32, or one float32 per channel. ``by_mode``: 8-bit results are
    rounded by the round mode and limited by ``sym_range``, else half to even and not limited; ``halves_by_mode``: f16
    results, too. Source: fuzzing against the vendor's simulator.
    """
    f = x.fields
    if not f.has("rq"):
        raise NotSimulated("sums of 8-bit floats are not known on this chip")
    if not x.dtype.is_float:
        raise NotSimulated(f"sums of 8-bit floats as {x.dtype} are not known")
    total = rectified(x, total)
    if f.rq:
        total = float32.multiply(total, np.broadcast_to(float32.flush(scale), total.shape))
    mode, saturates = (HALF_EVEN, False) if not by_mode else (f.opd2_n_str, bool(f.sym_range))
    mode = HALF_AWAY if mode == HALF_UP else mode
    if x.dtype.itemsize == 1:
        return to_float8(total, x.dtype, mode, saturates)
    if x.dtype is F32 or not halves_by_mode:
        return x.dtype.encode(total)
    words = convert(F32.encode(total), F32, x.dtype, mode)
    return finite_half(words, x.dtype, keeps_nan=True) if f.sym_range and x.dtype.name == "f16" else words


def channel_scale(x: Operation) -> Array:
    """One float32 per channel of the result, or the one that a register holds."""
    table = x.get("scale")
    word = np.array([x.fields.register(op.TABLE_REGISTER)], np.uint32).view(np.float32)
    return word if table is None else table.numbers


def scaled_integers(x: Operation, total: Array, scale: Array) -> Array:
    """The integer sum after requantisation by a float32 scale: rounded by mode, limited to the result format.

    Sum and product are rounded to float32; rectified before. Source: fuzzing against the vendor's simulator.
    """
    if x.fields.relu:
        total = np.maximum(total, 0)
    product = float32.multiply(total.astype(np.float32), np.broadcast_to(float32.flush(scale), total.shape))
    integers = to_integral(product.astype(np.float64), x.fields.opd2_n_str)
    limited = np.clip(np.where(np.isnan(integers), 0, integers), x.dtype.minimum, x.dtype.maximum)
    return x.dtype.encode(limited.astype(np.int64))


def requantisation(
    x: Operation,
    wraps: bool,
    holds_32_bits: bool = True,
    limits_sums: bool = True,
    saturates_words: bool = False,
    without_table: bool = False,
) -> Steps:
    """Steps after an integer sum (n, c, h, w): shift(max(total, 0) * multiplier) + zero point.

    The maximum only if rectified. The sum is held in 32 bits if ``holds_32_bits``. Limited to the result format; 32-bit
    results wrap if ``wraps``, else they saturate; requantised ones saturate as signed words if ``saturates_words``.
    sym_range: -128 becomes -127 if ``limits_sums``. Numbers come from configuration
    registers, or per channel from a table, which is left out ``without_table``.
    """
    f = x.fields
    multiplier: Array | int = 1
    amount: Array | int = 0
    zero: Array | int = 0
    if f.rq:
        table = x.get("requantisation")
        if table is None:
            multiplier = signed(f.register(op.TABLE_REGISTER), 32)
            amount = signed(f.register(op.SHIFT_REGISTER), 8)
            zero = signed(f.register(op.OUTPUT_ZERO_REGISTER), 16)
        elif not without_table:
            words = table.numbers.astype(np.int64)
            multiplier = words[..., :1]
            amount = SI8.decode(words[..., 1:].astype(np.uint8)).astype(np.int64)
            zero = words[..., 1:] >> 16
        if x.rules.loses_shifted and np.max(amount) >= _WORD:
            raise NotSimulated(f"a sum that is shifted to the left by {int(np.max(amount))} bits is not known")
        # Emulators add the zero point after the limits, and wrap.
        if x.dtype.itemsize == 4 and (table is not None or zero):
            raise NotSimulated("requantisation to 32 bits with a zero point is not simulated yet")
    is_limited = x.dtype.itemsize < 4 or not wraps or (x.dtype is UI32 and x.rules.unsigned_words)
    low, high = (x.dtype.minimum, x.dtype.maximum) if is_limited else UNLIMITED
    if f.rq and saturates_words and x.dtype.itemsize == 4:
        low, high = x.dtype.minimum, SI32.maximum
    if f.sym_range and x.dtype is SI8 and limits_sums:
        low = -127
    held, rectified = bool(f.rq and holds_32_bits), bool(f.relu)
    mode = f.opd2_n_str if f.rq else DOWN
    return Steps(mode, multiplier, amount, zero, held, rectified, (low, high), keeps_sign=True)


def table_of(x: Operation) -> str | None:
    """The role of the table that ``requantisation`` takes its numbers from, if there is one."""
    return "requantisation" if x.fields.rq and "requantisation" in x else None


def requantized(x: Operation, total: Array, wraps: bool, holds_32_bits: bool = True) -> Array:
    """Bits of the integer sum (n, c, h, w) after ``requantisation``."""
    return requantised(total, requantisation(x, wraps, holds_32_bits), x.dtype)
