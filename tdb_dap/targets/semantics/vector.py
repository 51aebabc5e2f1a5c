"""Outer operations of two vectors: the rules of element-wise arithmetic."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic.shifts import saturate
from tdb_dap.targets.arithmetic.stored import Value
from tdb_dap.targets.families import arithmetic as arith
from tdb_dap.targets.families.vector import length
from tdb_dap.targets.semantics.arithmetic import encoded, floats, integer_operation, saturation_range
from tdb_dap.targets.semantics.registry import Operation, semantics

_SATURATING = (arith.ADD_SATURATE, arith.SUB_SATURATE, arith.MUL_SATURATE)


@semantics("vc", arith.MUL, arith.ADD, arith.SUB, arith.MAX, arith.MIN, *_SATURATING)
@semantics("vc", arith.AND, arith.OR, arith.XOR)
def outer(x: Operation) -> Array:
    """result[i, j] = left[i] (operation) right[j], shape (length, c, 1, w)."""
    sub = x.fields.sub
    left = Value(x["left"].bits.reshape(-1)[: length(x.fields)][:, None, None, None], x["left"].dtype)
    right = x["right"]
    if sub in (arith.AND, arith.OR, arith.XOR):
        x.require_integers("left", "right")
        function = {arith.AND: np.bitwise_and, arith.OR: np.bitwise_or, arith.XOR: np.bitwise_xor}[sub]
        return function(left.bits, right.bits).astype(x.dtype.bits_dtype)
    if left.dtype.is_float:
        return encoded(sub, floats(sub, left, right), x.dtype)
    if "u" in (left.dtype.kind, right.dtype.kind) and left.dtype.itemsize == right.dtype.itemsize == 4:
        raise NotSimulated("vector operations on unsigned 32-bit numbers are not known")
    total = integer_operation(sub, left.numbers.astype(np.int64), right.numbers.astype(np.int64))
    return x.dtype.encode(saturate(total, saturation_range(x)) if sub in _SATURATING else total)
