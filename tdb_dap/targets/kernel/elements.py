"""Element by element in the kernel: from stored words of the operands to those of the result, in one pass.

Every function gives None where NumPy has to do it: without the kernel, and for formats that the kernel does not read.
Operands may lie anywhere, at equal steps along each axis. Where an operand is one of a plan nothing is computed: the
result is ``Planned``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.hardware.dtypes import F32, DType
from tdb_dap.targets import kernel
from tdb_dap.targets.kernel.integers import LARGEST_SHIFT, Steps
from tdb_dap.targets.kernel.stored import AXES, CONSTANT, FLOATS, INT64, OF_SIZE, WHOLE, Planned, Stored

Array = NDArray[Any]

ADD, SUBTRACT, MULTIPLY, LARGER, SMALLER, FIRST = range(6)
"""Operations; ``FIRST``: the first operand as it is, of whole numbers only."""

_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32}
_RESULTS = {**_WORDS, 8: np.int64}
_SIZES = {3: 1, 4: 1, 5: 2, 6: 2, 7: 4, 8: 4, INT64: 8}
_HALF_AWAY, _HALF_UP = 1, 5
_FLOATS_TO_WHOLE, _FLOATS_TO_FLOATS, _WHOLE_TO_FLOATS, _TO_INTEGRAL, _TO_F16_BY_MODE = range(5)
_HALVES_TO_INTEGRAL, _MAGNITUDES = 5, 6
_WORD_FORMATS = {1: WHOLE["ui8"], 2: WHOLE["ui16"], 4: WHOLE["si32"]}


def _grid(shape: tuple[int, ...], formats: dict[str, int], *operands: Stored) -> tuple[Any, ...] | None:
    """Shape of four axes, and format and words of each operand; None: NumPy has to do it."""
    if not kernel.is_active() or len(shape) > AXES:
        return None
    extents = (1,) * (AXES - len(shape)) + shape
    described: list[Any] = [extents]
    for bits, dtype, _ in operands:
        number = formats.get(dtype.name)
        if number is None or bits.dtype.itemsize != dtype.itemsize:
            return None
        described.append((number, bits))
    return tuple(described)


def _computed(
    function: str, grid: tuple[Any, ...], result: tuple[tuple[int, ...], Any], operands: Sequence[Stored], *how: Any
) -> Any:
    """Words of the result, of a shape and NumPy type; None where an element is shifted too far."""
    shape, dtype = result
    sources = tuple([operand.source for operand in operands])
    if max(sources) > CONSTANT:
        return Planned(function, grid, how, sources, shape, np.dtype(dtype).itemsize)
    words = np.empty(shape, dtype)
    return words if kernel.over_elements(function, grid, *how, words) else None


def _shape(*operands: Stored) -> tuple[int, ...]:
    return np.broadcast_shapes(*(operand.bits.shape for operand in operands))


def floats(kind: int, a: Stored, b: Stored, target: DType, flushes: bool) -> Array | None:
    """Words of ``target``: one float operation, products rounded to the format of the operands first.

    Subnormals of float32 and bf16 count as zeros, those of f16 if the chip ``flushes`` them. ``LARGER``: a > b ? a : b;
    ``SMALLER``: a >= b ? b : a.
    """
    if a.dtype.name != b.dtype.name or target.name not in FLOATS:
        return None
    if kind in (LARGER, SMALLER) and target.name != a.dtype.name:
        return None
    shape = _shape(a, b)
    grid = _grid(shape, FLOATS, a, b)
    if grid is None:
        return None
    how = kind, flushes, FLOATS[target.name]
    return _computed("floats_of", grid, (shape, target.bits_dtype), (a, b), *how)


def scaled(x: Stored, scale: Stored, target: DType) -> Array | None:
    """Words of ``target``: whole numbers, as float32, times float32 numbers, rounded to float32 first."""
    shape = _shape(x, scale)
    if target.name not in FLOATS or scale.dtype.name != "f32":
        return None
    grid = _grid(shape, {**WHOLE, "f32": FLOATS["f32"]}, x, scale)
    if grid is None or x.dtype.is_float:
        return None
    return _computed("floats_of", grid, (shape, target.bits_dtype), (x, scale), MULTIPLY, False, FLOATS[target.name])


def reciprocal_roots(x: Stored, steps: int, dtype: DType, flushes: bool) -> Array | None:
    """1 / sqrt(x) of float32 numbers that stand for some of ``dtype``, as ``float32.reciprocal_sqrt`` gives them.

    Words of float32, as those of ``x``.
    """
    grid = _grid(x.bits.shape, FLOATS, x)
    if grid is None:
        return None
    how = FLOATS[dtype.name], flushes, steps
    return _computed("reciprocal_roots", grid, (x.bits.shape, np.uint32), (x,), *how)


BY_FORMULA, TRUE_ZEROS, TRUE_SUBNORMALS = range(3)
"""How zeros, infinities and NaNs are divided by, see ``rules.Reciprocal``."""


def divided(a: Stored, b: Stored, steps: int, dtype: DType, flushes: bool, rule: int) -> Array | None:
    """a / b of float32 numbers that stand for some of ``dtype``, as ``float32.divide`` gives them; words of float32."""
    shape = _shape(a, b)
    grid = _grid(shape, FLOATS, a, b)
    if grid is None:
        return None
    how = FLOATS[dtype.name], flushes, steps, rule
    return _computed("divided", grid, (shape, np.uint32), (a, b), *how)


def in_float32(numbers: Array) -> Stored:
    """Numbers as words of float32."""
    return Stored(np.asarray(numbers, np.float32).view(np.uint32), F32)


def series(x: Stored, table: Stored, flushes: bool) -> Array | None:
    """Words of the format of ``x``, (n, c, h, w): y = c[-1]; then y = round(round(y * x) + c[k]) for k to 0.

    ``table``: coefficients in that format, (1, rows, 1, terms); channel i uses row i mod rows.
    """
    rows, terms = table.bits.shape[1::2]
    grid = _grid(x.bits.shape, FLOATS, x) if x.bits.ndim == AXES else None
    if grid is None or not 0 < terms <= _MOST_TERMS or not rows or table.dtype.name != x.dtype.name:
        return None
    coefficients = (FLOATS[table.dtype.name], table.bits)
    how = coefficients, rows, terms, flushes
    return _computed("series", grid, (x.bits.shape, x.dtype.bits_dtype), (x, table), *how)


_MOST_TERMS = 256


def same(x: Stored) -> Array:
    """The words as they are."""
    if x.source == CONSTANT:
        return x.bits
    shape = x.bits.shape
    grid = ((1,) * (AXES - len(shape)) + shape, (OF_SIZE[x.bits.itemsize], x.bits))
    return _computed("moved", grid, (shape, x.bits.dtype), (x,))


def whole(kind: int, a: Stored, b: Stored, steps: Steps, size: int, **stored: Stored) -> Array | None:
    """Low ``size`` bytes of one operation on whole numbers in 64 bits, after ``steps``; of 8 bytes: int64.

    The steps' numbers may have a shape, which broadcasts with those of the operands; ``stored``: some of them
    (multiplier, amount, zero) as they are stored.
    """
    return _whole(kind, (a, b), [WHOLE.get(each.dtype.name) for each in (a, b)], steps, size, stored)


def finished(numbers: Array, steps: Steps, size: int) -> Array | None:
    """The low ``size`` bytes of sums after ``steps``, as unsigned integers; of 8 bytes: int64."""
    sums = Stored(np.asarray(numbers, np.int64), F32)
    return _whole(FIRST, (sums, sums), [INT64, INT64], steps, size, {})


def _number_of(part: Array | int | Stored) -> Array | None:
    """A step's number, int64 of one element; None where it is one of each element, or of a plan's operand."""
    if isinstance(part, Stored):
        is_one = part.source == CONSTANT and part.bits.size == 1
        return part.dtype.decode(part.bits).astype(np.int64) if is_one else None
    numbers = np.asarray(part, np.int64)
    return numbers if numbers.size == 1 else None


def _whole(
    kind: int,
    operands: tuple[Stored, ...],
    formats: list[int | None],
    steps: Steps,
    size: int,
    stored: Mapping[str, Stored],
) -> Array | None:
    if not kernel.is_active() or size not in _RESULTS:
        return None
    given: list[Array | int | Stored] = [
        stored.get(name, getattr(steps, name)) for name in ("multiplier", "amount", "zero")
    ]
    numbers = [_number_of(part) for part in given]
    own = [number.item() for number in numbers if number is not None]
    each = len(own) < len(given)
    if each:
        for part, number in zip(given, numbers, strict=True):
            if isinstance(part, Stored) and number is None:
                operands, found = (*operands, part), WHOLE.get(part.dtype.name)
                formats.append(found)
            else:
                operands = (*operands, Stored(np.asarray(part if number is None else number, np.int64), F32))
                formats.append(INT64)
        own = [0, 0, 0]
    elif abs(own[1]) > LARGEST_SHIFT:
        return None
    shape = np.broadcast_shapes(*(operand.bits.shape for operand in operands))
    if len(shape) > AXES or any(
        number is None or operand.bits.dtype.itemsize != _SIZES[number]
        for operand, number in zip(operands, formats, strict=True)
    ):
        return None
    extents = (1,) * (AXES - len(shape)) + shape
    described = [(number, operand.bits) for number, operand in zip(formats, operands, strict=True)]
    form = (steps.mode, steps.held, steps.rectified, *steps.limits, size)
    grid = (extents, *described)
    return _computed("whole_of", grid, (shape, _RESULTS[size]), operands, kind, each, tuple(own), *form)


def converted(x: Stored, target: DType, mode: int) -> Array | None:
    """Words of ``target``. Floats to whole numbers: rounded by ``mode``, limited, NaN gives 0; whole to whole: limited.

    Floats to their own format: rounded to whole numbers by ``mode``; float32 to f16 by ``mode``, half up as half away.
    Between other formats of floats and from whole numbers to float32: half to even; float32 is flushed on its way to
    bf16. Bytes to any format of floats: as they are.
    """
    source = x.dtype
    if target.per_byte > 1 or source.per_byte > 1:
        return None
    if not source.is_float:
        if not target.is_float:
            return whole(FIRST, x, x, Steps(mode, limits=(target.minimum, target.maximum)), target.itemsize)
        # All formats hold bytes as they are: the mode does not matter.
        is_taken = target.name in FLOATS and (source.itemsize == 1 or (target.name == "f32" and not mode))
        how = _WHOLE_TO_FLOATS, 0, 0.0, 0.0, FLOATS.get(target.name, 0)
        return _conversion(x, WHOLE, target, *how) if is_taken else None
    if source.name == "f32" and (target.name == "f32" or (target.name == "f16" and mode)):
        away = mode == _HALF_UP and target.name == "f16"
        function = _TO_INTEGRAL if target.name == "f32" else _TO_F16_BY_MODE
        return _conversion(x, FLOATS, target, function, _HALF_AWAY if away else mode, 0.0, 0.0, 0)
    if source.name == target.name:
        return _conversion(x, FLOATS, target, _HALVES_TO_INTEGRAL, mode, 0.0, 0.0, 0)
    if target.name in WHOLE:
        limits = float(target.minimum), float(target.maximum)
        return _conversion(x, FLOATS, target, _FLOATS_TO_WHOLE, mode, *limits, target.itemsize)
    if target.name not in FLOATS or "f32" not in (source.name, target.name) or (mode and target.name != "f32"):
        return None
    if source.name == "bf16":  # a NaN stays as it is
        return None
    return _conversion(x, FLOATS, target, _FLOATS_TO_FLOATS, target.name == "bf16", 0.0, 0.0, FLOATS[target.name])


def magnitudes(x: Stored) -> Array | None:
    """float32 words without their signs."""
    return _conversion(x, {"f32": FLOATS["f32"]}, x.dtype, _MAGNITUDES, 0, 0.0, 0.0, 0)


GREATER, EQUAL, LESS = range(3)


def selected(kind: int, a: Stored, b: Stored, yes: Stored, no: Stored) -> Array | None:
    """Words of ``yes`` where ``a`` is GREATER, EQUAL or LESS than ``b``, else of ``no``; see ``conditions``."""
    formats = FLOATS if a.dtype.is_float else WHOLE
    shape = _shape(a, b, yes, no)
    grid = _grid(shape, formats, a, b) if a.dtype.name == b.dtype.name else None
    size = yes.bits.itemsize
    if grid is None or size not in _WORD_FORMATS or no.bits.itemsize != size:
        return None
    words = [(_WORD_FORMATS[size], each.bits) for each in (yes, no)]
    return _computed("selected", (*grid, *words), (shape, yes.bits.dtype), (a, b, yes, no), kind, size)


def _conversion(x: Stored, formats: dict[str, int], target: DType, *how: Any) -> Array | None:
    grid = _grid(x.bits.shape, formats, x)
    return None if grid is None else _computed("converted", grid, (x.bits.shape, target.bits_dtype), (x,), *how)


def encoded(numbers: Array, target: DType) -> Array:
    """Words of ``target`` of float32 numbers, as ``DType.encode`` gives them."""
    words = np.asarray(numbers, np.float32)
    if target.name not in ("f16", "bf16") or not kernel.is_active() or words.ndim > AXES:
        return target.encode(numbers)
    grid = _grid(words.shape, FLOATS, Stored(words.view(np.uint32), F32))
    assert grid is not None
    how = _FLOATS_TO_FLOATS, 0, 0.0, 0.0, FLOATS[target.name]
    found: Array = _computed("converted", grid, (words.shape, target.bits_dtype), (Stored(words, F32),), *how)
    return found


_UNSIGNED = {1: WHOLE["ui8"], 2: WHOLE["ui16"], 4: WHOLE["ui32"]}


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


def looked_up_in(rows: Stored, index: Stored, fill: int | None, shape: tuple[int, ...]) -> Any:
    """The plan of ``looked_up`` with operands of a plan, of four axes; None for operands whose words are known.

    ``rows``: (1, channels, h, w), each channel's h x w words in equal steps; ``index``: (n, channels, 1, count);
    ``shape``: of the result, (n, channels, ...) of count elements in each channel.
    """
    size, channels = rows.bits[0, 0].size, rows.bits.shape[1]
    is_taken = rows.bits.itemsize in _WORDS and index.bits.itemsize in _WORDS and len(shape) == AXES
    if CONSTANT in (rows.source, index.source) or not is_taken or channels != shape[1] or not size:
        return None
    table, chosen = rows.bits.reshape(1, channels, 1, size), index.bits.reshape(shape)
    if not (np.may_share_memory(table, rows.bits) and np.may_share_memory(chosen, index.bits)):
        return None
    words = OF_SIZE[rows.bits.itemsize]
    grid = (shape, (OF_SIZE[index.bits.itemsize], chosen))
    how = (words, table), channels, size, fill or 0, fill is not None
    return _computed("looked_up", grid, (shape, rows.bits.dtype), (index, rows), *how)


def scattered_in(rows: Stored, index: Stored, shape: tuple[int, ...]) -> Any:
    """The plan of words put into rows by index, with operands of a plan, of four axes; None where it has none.

    result[n, c, index[n, c, 0, j]] = rows[0, c, j], a later j wins, an index beyond the h x w words of a channel is
    left out; all other words of the result stay as they are. ``rows``: (1, channels, h, w), each channel's words in
    equal steps; ``index``: unsigned (n, channels, 1, count); ``shape``: of the result, (n, channels, h, w).
    """
    size, channels, count = rows.bits[0, 0].size, rows.bits.shape[1], index.bits.shape[3]
    is_taken = rows.bits.itemsize in _WORDS and index.bits.itemsize in _WORDS and len(shape) == AXES
    if CONSTANT in (rows.source, index.source) or not is_taken or channels != shape[1] or not 0 < count <= size:
        return None
    table = rows.bits.reshape(1, channels, 1, size)[..., :count]
    if not np.may_share_memory(table, rows.bits) or index.bits[0, 0, 0].strides != (index.bits.itemsize,):
        return None
    grid = (shape, (_UNSIGNED[index.bits.itemsize], index.bits[..., :1]))
    how = (OF_SIZE[rows.bits.itemsize], table), channels, count
    return _computed("scattered", grid, (shape, rows.bits.dtype), (index, rows), *how)
