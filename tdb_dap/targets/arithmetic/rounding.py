"""Conversions between number formats, by round mode.

Modes: 0 half to even, 1 half away from zero, 2 toward zero, 3 down, 4 up, 5 half up.
"""

from __future__ import annotations

import numpy as np

from tdb_dap.engine.hardware.dtypes import BF16, F16, F32, Array, DType
from tdb_dap.engine.hardware.float8 import FLOAT8
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.arithmetic import elements
from tdb_dap.targets.arithmetic.float32 import flush
from tdb_dap.targets.arithmetic.shifts import DOWN, HALF_AWAY, HALF_EVEN, HALF_UP, TOWARD_ZERO, UP, saturate
from tdb_dap.targets.arithmetic.stored import Stored
from tdb_dap.targets.kernel.constants import Limit, Rounding

_MODES = (HALF_EVEN, HALF_AWAY, TOWARD_ZERO, DOWN, UP, HALF_UP)


def exact(bits: Array, dtype: DType) -> Array:
    """float64 values of stored floats, subnormals included."""
    return dtype.widen(bits).astype(np.float64)


def to_integral(numbers: Array, mode: int) -> Array:
    """float64 rounded to whole numbers; the sign of zero is kept, NaN and infinities stay."""
    if mode == HALF_EVEN:
        return np.rint(numbers)
    if mode == HALF_AWAY:
        return np.copysign(np.floor(np.abs(numbers) + 0.5), numbers)
    if mode == TOWARD_ZERO:
        return np.trunc(numbers)
    if mode == DOWN:
        return np.floor(numbers)
    if mode == UP:
        return np.ceil(numbers)
    if mode == HALF_UP:
        return np.where(np.signbit(numbers) & (numbers >= -0.5), -0.0, np.floor(numbers + 0.5))
    raise NotSimulated(f"round mode {mode} is not defined")


def convert(
    bits: Array,
    source: DType,
    target: DType,
    mode: int,
    to_infinity: bool = False,
    between_halves: bool = False,
    saturates: bool = False,
) -> Array:
    """Stored words of ``source`` as stored words of ``target``.

    float to integer: rounded on the exact value (subnormals are not flushed), saturated, NaN gives 0. float to the
    same float: rounded to a whole number. float32 to f16: magnitudes from 65536 on give infinity in every mode.
    float32 to bf16: flushed first. NaN becomes its sign with all other bits set. integer to integer: saturated.
    integer to f16 with ``to_infinity``: magnitudes from 65536 on are infinite, else as the mode says. bf16 to f16 and
    back: through float32 with ``between_halves``, else illegal. To 8-bit floats: see ``to_float8``; from them: as from
    float32.
    """
    if mode not in _MODES:
        raise NotSimulated(f"round mode {mode} is not defined")
    if target.is_float and target.itemsize == 1 and source is not target:
        if mode == HALF_UP and source is not F32:
            raise NotSimulated(f"{source} to {target} with round mode half up is not known")
        return to_float8(source.widen(bits).astype(np.float32), target, mode, saturates)
    if source.is_float and source.itemsize == 1 and source is not target:
        if target is F32:
            return _with_marked_nan(source.decode(bits))
        bits, source = F32.encode(source.decode(bits)), F32
    words = converted_at_once(Stored(bits, source), target, mode)
    if words is not None:
        return words
    if source.is_float and target.is_float:
        if between_halves and F32 not in (source, target) and source is not target:
            wide = F32.decode(_float_to_float(bits, source, F32, mode))
            bits, source = F32.encode(flush(wide)), F32
        return _float_to_float(bits, source, target, mode)
    if source.is_float:
        if target.itemsize == 4 and mode == HALF_UP:
            raise NotSimulated(f"{source} to {target} with round mode half up is not defined")
        rounded = to_integral(exact(bits, source), mode)
        integers = np.clip(np.where(np.isnan(rounded), 0, rounded), target.minimum, target.maximum)
        return target.encode(integers.astype(np.int64))
    numbers = source.decode(bits).astype(np.int64)
    if not target.is_float:
        return target.encode(saturate(numbers, target))
    if target is F32 and mode == HALF_EVEN:
        return F32.encode(numbers.astype(np.float32))
    rounded = round_to_float(numbers.astype(np.float64), target, mode)
    if target.name == "f16" and to_infinity:
        infinity = np.where(numbers > 0, np.uint16(0x7C00), np.uint16(0xFC00))
        return np.where(np.abs(numbers) >= 65536, infinity, rounded).astype(np.uint16)
    return rounded


def converted_at_once(x: Stored, target: DType, mode: int, limit: Limit = Limit.KEEPS_ALL) -> Array | None:
    """As ``convert``, where the kernel does it in one pass; else None. ``limit``: see ``elements.converted``."""
    source = x.dtype
    if mode not in _MODES or any(dtype.is_float and dtype.itemsize == 1 for dtype in (source, target)):
        return None
    if source.is_float and target.itemsize == 4 and mode == HALF_UP:
        return None
    return elements.converted(x, target, mode, limit)


def _with_marked_nan(numbers: Array) -> Array:
    """Words of float32 in which a NaN has all bits set but its sign."""
    words = numbers.view(np.uint32)
    return np.where(np.isnan(numbers), words | np.uint32(0x7FFFFFFF), words)


# Bits of the fraction and the smallest exponent of the 8-bit floats.
_FLOAT8_SHAPE = {"f8e4m3": (3, -6), "f8e5m2": (2, -14)}


def to_float8(numbers: Array, target: DType, mode: int, saturates: bool = False) -> Array:
    """float32 as 8-bit floats, rounded by mode as if there were larger numbers.

    Beyond the largest number: infinity where the format has one, else NaN; if it ``saturates`` the largest number, also
    for infinity. Subnormal float32 are flushed first; NaN becomes its sign with all other bits set. Source: the
    vendor's simulator, all modes.
    """
    fraction, smallest = _FLOAT8_SHAPE[target.name]
    wide = flush(numbers).astype(np.float64)
    size = np.abs(wide)
    exponent = np.maximum(((np.where(np.isfinite(size), size, 0).view(np.int64) >> 52) & 0x7FF) - 1023, smallest)
    unit = ((exponent - fraction + 1023) << 52).view(np.float64)
    steps = to_integral(np.where(np.isfinite(wide), wide, 0) / unit, mode)
    limited = np.where(np.isinf(size), np.inf, np.abs(steps) * unit)
    if saturates:
        limited = np.minimum(limited, FLOAT8[target.name].largest)
    signed_numbers = np.copysign(limited, wide).astype(np.float32)
    nan = np.where(np.signbit(numbers), np.uint8(0xFF), np.uint8(0x7F))
    return np.where(np.isnan(numbers), nan, target.encode(signed_numbers)).astype(np.uint8)


def _float_to_float(bits: Array, source: DType, target: DType, mode: int) -> Array:
    if source is target:
        integers = to_integral(exact(bits, source), mode)
        rounded = source.encode(np.where(np.isfinite(integers), integers, 0).astype(np.float32))
        return np.where(np.isfinite(integers), rounded, bits).astype(bits.dtype)
    if target is F32:
        words = source.widen(bits).view(np.uint32)
        if source is BF16:
            return words
        nan = (bits & np.uint16(0x7FFF)) > np.uint16(0x7C00)
        return np.where(nan, np.where(bits >> np.uint16(15), np.uint32(0xFFFFFFFF), np.uint32(0x7FFFFFFF)), words)
    if source is not F32:
        raise NotSimulated(f"{source} to {target} is not defined on the chip")
    numbers = F32.decode(bits)
    if target is BF16:
        return _to_bf16(flush(numbers), mode)
    if mode == HALF_EVEN:
        halves = F16.encode(numbers)
    else:
        halves = round_to_float(flush(numbers).astype(np.float64), F16, HALF_AWAY if mode == HALF_UP else mode)
    overflow = np.abs(numbers) >= 65536
    infinity = np.where(numbers > 0, np.uint16(0x7C00), np.uint16(0xFC00))
    return np.where(overflow, infinity, halves).astype(np.uint16)


def _to_bf16(numbers: Array, mode: int) -> Array:
    """As ``round_to_float``, of float32: bf16 is its upper half, so that rounding is an addition to the words.

    What is added carries into the exponent, and from the largest number into infinity.
    """
    if mode == HALF_EVEN:
        return BF16.encode(numbers)
    words = np.ascontiguousarray(numbers).view(np.uint32).reshape(numbers.shape)
    if mode == TOWARD_ZERO:
        rounded = words
    elif mode == HALF_AWAY:
        rounded = words + np.uint32(0x8000)
    else:
        positive, negative = {UP: (0xFFFF, 0), DOWN: (0, 0xFFFF), HALF_UP: (0x8000, 0x7FFF)}[Rounding(mode)]
        rounded = words + np.where(words >> np.uint32(31), np.uint32(negative), np.uint32(positive))
    size = words & np.uint32(0x7FFFFFFF)
    special = size >= np.uint32(0x7F800000)
    if special.any():
        nan = (words >> np.uint32(16)) | np.uint32(0x7FFF)
        rounded = np.where(special, np.where(size > np.uint32(0x7F800000), nan << np.uint32(16), words), rounded)
    return (rounded >> np.uint32(16)).astype(np.uint16)


def round_to_float(numbers: Array, target: DType, mode: int) -> Array:
    """float64 as stored words of a float format, rounded by ``mode``; overflow as the mode says.

    Half modes give infinity beyond the largest number; directed modes stop at it on the side they round from.
    """
    fraction, smallest = {"f32": (23, -126), "f16": (10, -14), "bf16": (7, -126)}[target.name]
    numbers = np.asarray(numbers, np.float64)
    size = np.abs(numbers)
    finite = np.isfinite(size)
    exponent = ((np.where(finite, size, 0).view(np.int64) >> 52) & 0x7FF) - 1023
    unit = ((np.maximum(exponent, smallest) - fraction + 1023) << 52).view(np.float64)
    steps = np.where(finite, numbers, 0) / unit
    rounded = np.abs(to_integral(steps, mode)) * unit
    if target.name == "f16":
        toward_infinity = mode in (HALF_EVEN, HALF_AWAY, HALF_UP)
        to_infinity = toward_infinity | ((mode == DOWN) & (numbers < 0)) | ((mode == UP) & (numbers > 0))
        rounded = np.where(rounded > 65504.0, np.where(to_infinity, np.inf, 65504.0), rounded)
    with np.errstate(over="ignore"):
        return target.encode(np.where(finite, np.copysign(rounded, numbers), numbers).astype(np.float32))
