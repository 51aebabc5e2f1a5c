"""Integer arithmetic: shifts with rounding, saturation."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.targets.kernel.elements import finished
from tdb_dap.targets.kernel.integers import Steps

HALF_EVEN, HALF_AWAY, TOWARD_ZERO, DOWN, UP, HALF_UP, HALF_DOWN = range(7)


def shift(numbers: Array, amount: Array | int, mode: int) -> Array:
    """numbers * 2^amount in int64: left shifts are exact, right shifts round the exact quotient by ``mode``."""
    done = finished(np.asarray(numbers), Steps(mode, amount=amount), 8)
    return _shifted(numbers, amount, mode) if done is None else done


def _shifted(numbers: Array, amount: Array | int, mode: int) -> Array:
    numbers = np.asarray(numbers, np.int64)
    amount = np.asarray(amount, np.int64)
    right = np.maximum(-amount, 0)
    quotient = numbers >> right
    rest = numbers - (quotient << right)
    half = np.where(right > 0, np.int64(1) << np.maximum(right - 1, 0), np.int64(0))
    if mode == HALF_EVEN:
        quotient = quotient + ((rest > half) | ((rest == half) & ((quotient & 1) == 1)))
    elif mode == HALF_AWAY:
        quotient = quotient + ((rest > half) | ((rest == half) & (numbers >= 0)))
    elif mode == TOWARD_ZERO:
        quotient = np.where(numbers < 0, -((-numbers) >> right), quotient)
    elif mode == UP:
        quotient = -((-numbers) >> right)
    elif mode == HALF_UP:
        quotient = quotient + (rest >= half)
    elif mode == HALF_DOWN:
        quotient = quotient + (rest > half)
    left = numbers << np.maximum(amount, 0)
    return np.where(amount >= 0, left, np.where(right > 0, quotient, numbers))


def requantised(numbers: Array, steps: Steps, dtype: DType) -> Array:
    """Bits of integer sums after ``steps``."""
    if dtype.itemsize in (1, 2, 4) and dtype.per_byte == 1:
        done = finished(numbers, steps, dtype.itemsize)
        if done is not None:
            return done
    return dtype.encode(_stepped(numbers, steps))


def _stepped(numbers: Array, steps: Steps) -> Array:
    total: Array = np.asarray(numbers, np.int64)
    if steps.held:
        total = total.astype(np.uint32).view(np.int32).astype(np.int64)
    if steps.rectified:
        total = np.maximum(total, 0)
    total = _shifted(total * steps.multiplier, steps.amount, steps.mode) + steps.zero
    return np.clip(total, *steps.limits)


def saturate(numbers: Array, dtype: DType) -> Array:
    """Numbers limited to the range of ``dtype``."""
    return np.clip(numbers, dtype.minimum, dtype.maximum)


def signed(value: int, bits: int) -> int:
    """The low ``bits`` of ``value`` in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
