"""Element by element in the kernel: from stored words of the operands to those of the result, in one pass.

Every function gives None where NumPy has to do it: without the kernel, and for formats that the kernel does not read.
Operands may lie anywhere, at equal steps along each axis.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import F32, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.kernel.integers import LARGEST_SHIFT, Steps

Array = NDArray[Any]

ADD, SUBTRACT, MULTIPLY, LARGER, SMALLER, FIRST = range(6)
"""Operations; ``FIRST``: the first operand as it is, of whole numbers only."""

_FLOATS = {"f32": 0, "f16": 1, "bf16": 2}
_WHOLE = {"si8": 3, "ui8": 4, "i8": 4, "si16": 5, "ui16": 6, "i16": 6, "si32": 7, "ui32": 8, "i32": 8}
_INT64 = 9
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32}
_RESULTS = {**_WORDS, 8: np.int64}
_SIZES = {3: 1, 4: 1, 5: 2, 6: 2, 7: 4, 8: 4, _INT64: 8}
_AXES = 4
_HALF_AWAY, _HALF_UP = 1, 5
_FLOATS_TO_WHOLE, _FLOATS_TO_FLOATS, _WHOLE_TO_FLOATS, _TO_INTEGRAL, _TO_F16_BY_MODE = range(5)


class Stored(NamedTuple):
    """An operand: stored words and their format."""

    bits: Array
    dtype: DType


def _grid(shape: tuple[int, ...], formats: dict[str, int], *operands: Stored) -> tuple[Any, ...] | None:
    """Shape of four axes, and format and words of each operand; None: NumPy has to do it."""
    if not kernel.is_active() or len(shape) > _AXES:
        return None
    extents = (1,) * (_AXES - len(shape)) + shape
    described: list[Any] = [extents]
    for bits, dtype in operands:
        number = formats.get(dtype.name)
        if number is None or bits.dtype.itemsize != dtype.itemsize:
            return None
        described.append((number, bits))
    return tuple(described)


def _shape(*operands: Stored) -> tuple[int, ...]:
    return np.broadcast_shapes(*(operand.bits.shape for operand in operands))


def floats(kind: int, a: Stored, b: Stored, target: DType, flushes: bool) -> Array | None:
    """Words of ``target``: one float operation, products rounded to the format of the operands first.

    Subnormals of float32 and bf16 count as zeros, those of f16 if the chip ``flushes`` them. ``LARGER``: a > b ? a : b;
    ``SMALLER``: a >= b ? b : a.
    """
    if a.dtype.name != b.dtype.name or target.name not in _FLOATS:
        return None
    if kind in (LARGER, SMALLER) and target.name != a.dtype.name:
        return None
    shape = _shape(a, b)
    grid = _grid(shape, _FLOATS, a, b)
    if grid is None:
        return None
    result = np.empty(shape, target.bits_dtype)
    kernel.over_elements("floats_of", grid, kind, flushes, result, _FLOATS[target.name])
    return result


def reciprocal_roots(numbers: Array, steps: int, dtype: DType, flushes: bool) -> Array | None:
    """1 / sqrt(x) of float32 numbers that stand for some of ``dtype``, as ``float32.reciprocal_sqrt`` gives them."""
    found = _float32(numbers)
    grid = _grid(found.bits.shape, _FLOATS, found)
    if grid is None:
        return None
    result = np.empty(found.bits.shape, np.float32)
    kernel.over_elements("reciprocal_roots", grid, _FLOATS[dtype.name], flushes, steps, result)
    return result


BY_FORMULA, TRUE_ZEROS, TRUE_SUBNORMALS = range(3)
"""How zeros, infinities and NaNs are divided by, see ``rules.Reciprocal``."""


def divided(a: Array, b: Array, steps: int, dtype: DType, flushes: bool, rule: int) -> Array | None:
    """a / b in float32 of numbers that stand for some of ``dtype``, as ``float32.divide`` gives them."""
    left, right = _float32(a), _float32(b)
    shape = _shape(left, right)
    grid = _grid(shape, _FLOATS, left, right)
    if grid is None:
        return None
    result = np.empty(shape, np.float32)
    kernel.over_elements("divided", grid, _FLOATS[dtype.name], flushes, steps, rule, result)
    return result


def _float32(numbers: Array) -> Stored:
    return Stored(np.asarray(numbers, np.float32).view(np.uint32), F32)


def series(x: Stored, coefficients: Array, flushes: bool) -> Array | None:
    """Words of the format of ``x``, (n, c, h, w): y = c[-1]; then y = round(round(y * x) + c[k]) for k to 0.

    ``coefficients``: float32 (c, terms), a row for each channel.
    """
    grid = _grid(x.bits.shape, _FLOATS, x) if x.bits.ndim == _AXES else None
    if grid is None:
        return None
    table = np.ascontiguousarray(coefficients, np.float32)
    result = np.empty(x.bits.shape, x.dtype.bits_dtype)
    kernel.over_elements("series", grid, table, table.shape[-1], flushes, result)
    return result


def whole(kind: int, a: Stored, b: Stored, steps: Steps, size: int) -> Array | None:
    """Low ``size`` bytes of one operation on whole numbers in 64 bits, after ``steps``; of 8 bytes: int64.

    The steps' numbers may have a shape, which broadcasts with those of the operands.
    """
    return _whole(kind, [a.bits, b.bits], [_WHOLE.get(each.dtype.name) for each in (a, b)], steps, size)


def finished(numbers: Array, steps: Steps, size: int) -> Array | None:
    """The low ``size`` bytes of sums after ``steps``, as unsigned integers; of 8 bytes: int64."""
    sums = np.asarray(numbers, np.int64)
    return _whole(FIRST, [sums, sums], [_INT64, _INT64], steps, size)


def _whole(kind: int, operands: list[Array], formats: list[int | None], steps: Steps, size: int) -> Array | None:
    if not kernel.is_active() or size not in _RESULTS:
        return None
    parameters = [np.asarray(part, np.int64) for part in (steps.multiplier, steps.amount, steps.zero)]
    each = any(part.size != 1 for part in parameters)
    amount = parameters[1]
    if (np.abs(amount).max(initial=0) if each else abs(amount.item())) > LARGEST_SHIFT:
        return None
    shape = np.broadcast_shapes(*(part.shape for part in (*operands, *parameters)))
    if len(shape) > _AXES or any(
        number is None or part.dtype.itemsize != _SIZES[number] for part, number in zip(operands, formats, strict=True)
    ):
        return None
    extents = (1,) * (_AXES - len(shape)) + shape
    described = [*zip(formats, operands, strict=True)]
    if each:
        described += [(_INT64, part) for part in parameters]
    result = np.empty(shape, _RESULTS[size])
    own = (0, 0, 0) if each else tuple(part.item() for part in parameters)
    form = (steps.mode, steps.held, steps.rectified, *steps.limits, size)
    kernel.over_elements("whole_of", (extents, *described), kind, each, own, *form, result)
    return result


def converted(x: Stored, target: DType, mode: int) -> Array | None:
    """Words of ``target``. Floats to whole numbers: rounded by ``mode``, limited, NaN gives 0; whole to whole: limited.

    float32 to float32: rounded to whole numbers by ``mode``; to f16 by ``mode``, half up as half away. Between other
    formats of floats and from whole numbers to float32: half to even; float32 is flushed on its way to bf16.
    """
    source = x.dtype
    result = np.empty(x.bits.shape, target.bits_dtype) if target.per_byte == 1 else None
    if result is None or source.per_byte > 1:
        return None
    if source.is_float:
        grid = _grid(x.bits.shape, _FLOATS, x)
        if grid is None:
            return None
        if source.name == "f32" and (target.name == "f32" or (target.name == "f16" and mode)):
            away = mode == _HALF_UP and target.name == "f16"
            how = _TO_INTEGRAL if target.name == "f32" else _TO_F16_BY_MODE
            kernel.over_elements("converted", grid, how, _HALF_AWAY if away else mode, 0.0, 0.0, 0, result)
            return result
        if source.name == target.name:
            return None
        if target.name in _WHOLE:
            limits = float(target.minimum), float(target.maximum)
            kernel.over_elements("converted", grid, _FLOATS_TO_WHOLE, mode, *limits, target.itemsize, result)
            return result
        if target.name not in _FLOATS or "f32" not in (source.name, target.name) or (mode and target.name != "f32"):
            return None
        if source.name == "bf16":  # a NaN stays as it is
            return None
        flushes, form = target.name == "bf16", _FLOATS[target.name]
        kernel.over_elements("converted", grid, _FLOATS_TO_FLOATS, flushes, 0.0, 0.0, form, result)
        return result
    if not target.is_float:
        return whole(FIRST, x, x, Steps(mode, limits=(target.minimum, target.maximum)), target.itemsize)
    grid = _grid(x.bits.shape, _WHOLE, x)
    if grid is None or target.name != "f32" or mode:
        return None
    kernel.over_elements("converted", grid, _WHOLE_TO_FLOATS, 0, 0.0, 0.0, 0, result)
    return result


def encoded(numbers: Array, target: DType) -> Array:
    """Words of ``target`` of float32 numbers, as ``DType.encode`` gives them."""
    words = np.asarray(numbers, np.float32)
    if target.name not in ("f16", "bf16") or not kernel.is_active() or words.ndim > _AXES:
        return target.encode(numbers)
    grid = _grid(words.shape, _FLOATS, Stored(words.view(np.uint32), F32))
    assert grid is not None
    result = np.empty(words.shape, target.bits_dtype)
    kernel.over_elements("converted", grid, _FLOATS_TO_FLOATS, 0, 0.0, 0.0, _FLOATS[target.name], result)
    return result


def looked_up(rows: Array, index: Array, fill: int | None) -> Array | None:
    """rows[c, index[n, c, i]], of 1, 2 or 4 bytes; beyond the rows ``fill``, or their last word if None.

    ``rows``: (channels, size); ``index``: unsigned (n, channels, count).
    """
    if not kernel.is_active() or rows.itemsize not in _WORDS or index.itemsize not in _WORDS or not rows.size:
        return None
    words, chosen = np.ascontiguousarray(rows), np.ascontiguousarray(index)
    result = np.empty(index.shape, rows.dtype)
    kernel.looked_up(words, chosen, fill, result)
    return result
