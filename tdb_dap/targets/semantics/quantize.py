"""Requantisation and dequantisation. Source: lockstep and fuzzing against the vendor's simulator."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.dtypes import SI8, SI16, UI16, Array
from tdb_dap.targets.families import quantize as op
from tdb_dap.targets.semantics import float32
from tdb_dap.targets.semantics.integers import saturate, shift
from tdb_dap.targets.semantics.registry import Operation, semantics
from tdb_dap.targets.semantics.rounding import to_integral


def _either(x: Operation, name: str) -> Array:
    """A number of the command, or one per channel from the table: broadcastable to (n, c, h, w)."""
    value = x.get(name) or x[f"{name}_table"]
    return value.numbers


def _low_byte(words: Array) -> Array:
    """The low byte as a signed number."""
    return SI8.decode(words.astype(np.int64).astype(np.uint8)).astype(np.int64)


def _low_half(words: Array, signed: int) -> Array:
    """The low half as a signed or unsigned number."""
    return (SI16 if signed else UI16).decode(words.astype(np.int64).astype(np.uint16)).astype(np.int64)


@semantics("quant", op.RQ0)
def requantize_float(x: Operation) -> Array:
    """round(input as f32 * scale + offset), saturated; NaN gives 0. Bit 3 of the mode: half away, else half even."""
    numbers = x["input"].numbers.astype(np.float32)
    scaled = float32.multiply(float32.flush(numbers), float32.flush(_either(x, "scale")))
    moved = float32.add(scaled, float32.flush(_either(x, "offset")))
    rounded = to_integral(moved.astype(np.float64), x.fields.opd2_n_str >> 3)
    whole = np.clip(np.where(np.isnan(rounded), 0, rounded), x.dtype.minimum, x.dtype.maximum)
    return x.dtype.encode(whole.astype(np.int64))


@semantics("quant", op.RQ1)
def requantize_integer(x: Operation) -> Array:
    """saturate(shift(input * multiplier) + zero point); the zero point is unsigned if the result is."""
    f = x.fields
    if f.opd1_const:
        multiplier, amount, zero = (x[name].numbers.astype(np.int64) for name in ("multiplier", "shift", "zero_point"))
    else:
        multiplier = x["multiplier_table"].numbers.astype(np.int64)
        amount = _low_byte(x["shift_table"].numbers)
        zero = _low_half(x["zero_point_table"].numbers, f.opd2_sign)
    total = shift(x["input"].numbers.astype(np.int64) * multiplier, amount, f.opd2_n_str) + zero
    return x.dtype.encode(saturate(total, x.dtype))


@semantics("quant", op.DQ0)
def dequantize_float(x: Operation) -> Array:
    """(input - zero point) as f32 * scale; the zero point is unsigned if the input is."""
    f = x.fields
    zero = x["input_zero"].numbers if f.opd1_const else _low_half(x["input_zero_table"].numbers, f.opd0_sign)
    centred = (x["input"].numbers.astype(np.int64) - zero.astype(np.int64)).astype(np.float32)
    return x.dtype.encode(float32.multiply(centred, float32.flush(_either(x, "input_scale"))))


@semantics("quant", op.DQ1)
def dequantize_integer(x: Operation) -> Array:
    """saturate(shift((input - zero point) * multiplier))."""
    f = x.fields
    multiplier = _either(x, "input_multiplier").astype(np.int64)
    if f.opd1_const:
        zero, amount = x["input_zero_point"].numbers.astype(np.int64), x["input_shift"].numbers.astype(np.int64)
    else:
        zero = _low_half(x["input_zero_table"].numbers, f.opd0_sign)
        amount = _low_byte(x["input_shift_table"].numbers)
    total = shift((x["input"].numbers.astype(np.int64) - zero) * multiplier, amount, f.opd2_n_str)
    return x.dtype.encode(saturate(total, x.dtype))
