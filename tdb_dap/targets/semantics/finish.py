"""What follows a sum where requantisation is fused: scale, rectify, limit."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.dtypes import SI8, SI32, Array
from tdb_dap.targets.families import convolution as op
from tdb_dap.targets.semantics.integers import saturate, shift, signed
from tdb_dap.targets.semantics.registry import Operation


def rectified(x: Operation, total: Array) -> Array:
    """y > 0 ? y : 0 if the command says so (floats, before the final rounding); NaN stays with ``keeps_nan``."""
    if not (x.fields.is_fused and x.fields.relu):
        return total
    kept = total > 0
    return np.where(kept | np.isnan(total) if x.rules.keeps_nan else kept, total, np.float32(0))


def requantized(x: Operation, total: Array, wraps: bool) -> Array:
    """The integer sum (n, c, h, w) after requantisation: shift(max(total, 0) * multiplier) + zero point.

    The maximum only if rectified. Limited to the result format; 32-bit results wrap if ``wraps``, else they saturate.
    sym_range: -128 becomes -127. Numbers come from configuration registers, or per channel from a table.
    """
    f = x.fields
    if f.rq:  # the sum is held in 32 bits
        total = SI32.decode(SI32.encode(total)).astype(np.int64)
    if f.relu:
        total = np.maximum(total, 0)
    if f.rq:
        table = x.get("requantisation")
        if table is None:
            multiplier: Array | int = signed(f.register(op.TABLE_REGISTER), 32)
            amount: Array | int = signed(f.register(op.SHIFT_REGISTER), 8)
            zero: Array | int = signed(f.register(op.OUTPUT_ZERO_REGISTER), 16)
        else:
            words = table.numbers.astype(np.int64)
            multiplier = words[..., :1]
            amount = SI8.decode(words[..., 1:].astype(np.uint8)).astype(np.int64)
            zero = words[..., 1:] >> 16
        total = shift(total * multiplier, amount, f.opd2_n_str) + zero
    if x.dtype.itemsize < 4 or not wraps:
        total = saturate(total, x.dtype)
    if f.sym_range and x.dtype is SI8:
        total = np.maximum(total, -127)
    return x.dtype.encode(total)
