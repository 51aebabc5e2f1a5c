"""Integer arithmetic: shifts with rounding, saturation."""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.targets.arithmetic.elements import finished
from tdb_dap.targets.arithmetic.requantisation import Steps
from tdb_dap.targets.kernel.constants import Rounding

_MAXIMUM = np.int64((1 << 63) - 1)
_WORD = 64
HIGH_BITS = 31
"""Low bits of a product that are dropped where only its high half goes on."""
HALF_EVEN, HALF_AWAY, TOWARD_ZERO, DOWN, UP, HALF_UP, HALF_DOWN = Rounding


def shift(numbers: Array, amount: Array | int, mode: int) -> Array:
    """numbers * 2^amount in int64: left shifts are exact, right shifts round the exact quotient by ``mode``."""
    done = finished(np.asarray(numbers), Steps(mode, amount=amount), 8)
    return _shifted(numbers, amount, mode) if done is None else done


def _shifted(numbers: Array, amount: Array | int, mode: int, keeps_sign: bool = False) -> Array:
    numbers, amount = np.asarray(numbers, np.int64), np.asarray(amount, np.int64)
    # To the left the amount counts modulo 64; to the right by 64 or more there is a fraction, which is rounded.
    beyond, amount = amount <= -_WORD, np.where(amount > 0, amount % _WORD, np.maximum(amount, 1 - _WORD))
    right = np.maximum(-amount, 0)
    quotient = numbers >> right
    added, mask, start = rounding_of(mode, right)
    # Only what is shifted out is rounded: what is added cannot overflow then.
    rest = numbers - (quotient << right)
    added = added + ((numbers >> start) & mask)
    rounded = quotient + (rest.view(np.uint64) + added.view(np.uint64) >> right.view(np.uint64)).astype(np.int64)
    left = numbers << np.maximum(amount, 0)
    if keeps_sign:
        left = (left & _MAXIMUM) | (numbers & ~_MAXIMUM)
    fraction = numbers >> _WORD - 1 if mode == DOWN else np.sign(np.maximum(numbers, 0)) if mode == UP else 0
    return np.where(amount >= 0, left, np.where(beyond, fraction, rounded))


def rounding_of(mode: int, right: Array) -> tuple[Array, Array, Array]:
    """(added, mask, start) of numbers / 2^right rounded: (numbers + added + ((numbers >> start) & mask)) >> right."""
    every = ~(np.int64(-1) << right)
    half = every - (every >> 1)
    is_shifted, none = every & 1, np.zeros_like(right)
    # Any other number is rounded down.
    ways: dict[int, tuple[Array, Array, Array]] = {
        HALF_EVEN: (every >> 1, is_shifted, right),
        HALF_AWAY: (half, -is_shifted, none + 63),
        TOWARD_ZERO: (none, every, none + 63),
        DOWN: (none, none, none),
        UP: (every, none, none),
        HALF_UP: (half, none, none),
        HALF_DOWN: (every >> 1, none, none),
    }
    return ways.get(mode, (none, none, none))


def requantised(numbers: Array, steps: Steps, dtype: DType) -> Array:
    """Bits of integer sums after ``steps``."""
    if dtype.itemsize in (1, 2, 4) and dtype.per_byte == 1:
        done = finished(numbers, steps, dtype.itemsize)
        if done is not None:
            return done
    return dtype.encode(stepped(numbers, steps))


def stepped(numbers: Array, steps: Steps) -> Array:
    """Integer sums after ``steps``, int64."""
    total: Array = np.asarray(numbers, np.int64)
    if steps.held:
        total = total.astype(np.uint32).view(np.int32).astype(np.int64)
    if steps.rectified:
        total = np.maximum(total, 0)
    product = total * steps.multiplier
    product = _shifted(product, -HIGH_BITS, HALF_AWAY) if steps.is_high else product
    total = _plus(_shifted(product, steps.amount, steps.mode, steps.keeps_sign), steps.zero)
    return np.clip(total, *steps.limits)


def _plus(numbers: Array, zero: Array | int) -> Array:
    """Sums in int64 that stay at its end which they pass."""
    added = np.asarray(zero, np.int64)
    total = numbers + added
    end = np.where(numbers < 0, ~_MAXIMUM, _MAXIMUM)
    return np.where(((numbers ^ total) & (added ^ total)) < 0, end, total)


def saturate(numbers: Array, dtype: DType) -> Array:
    """Numbers limited to the range of ``dtype``."""
    return np.clip(numbers, dtype.minimum, dtype.maximum)


def signed(value: int, bits: int) -> int:
    """The low ``bits`` of ``value`` in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value
