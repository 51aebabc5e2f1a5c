"""Constants compared with the weights that they were made of.

A float constant must be its weight rounded to the format, bit for bit. Of a quantised one each number must be within
half a step of its weight, and each scale no larger than the range of its group needs.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.tools.weights.constants import Constant, FloatConstant, QuantisedConstant, ScaledConstant
from tdb_dap.tools.weights.guessing import UNKNOWN, Candidates, cosine, guess

_BLOCK = 1 << 22
"""Numbers that are compared at once."""

_ROUNDED = 2.0**-8
"""Relative error of a scale in bf16, twice over: a level is rounded by the scale in float32."""

_SCALE_ERROR = 2.0**-12
"""Relative error of a scale that a multiplier of a dozen bits stands for."""

_LARGEST_SCALE = 1.25
"""A scale against the one that the range of its group needs."""


class WeightFault(Struct, frozen=True):
    """A constant that is not its weight. ``first``: index of the first wrong number in the weight, (row, column);
    ``group``: its group in the row, None of a float constant; ``wrong``: how many of ``size`` numbers; ``channel``: of
    a weight of a network, in which ``first`` is an index of the layer's own array.
    """

    net: str
    tensor: str
    line: int
    guess: str
    first: tuple[int, ...]
    group: int | None
    wrong: int
    size: int
    actual: float
    wanted: float
    channel: int | None = None

    @property
    def summary(self) -> str:
        """``first at row 3, group 1: 0.5 instead of -0.25; 64 of 8,192 numbers; zero point off by 1``."""
        where = f"row {self.first[0]:,}, column {self.first[1]:,}" if len(self.first) > 1 else f"{self.first[0]:,}"
        if self.channel is not None:
            where = f"channel {self.channel:,}, {list(self.first)}"
        group = f", group {self.group:,}" if self.group is not None else ""
        numbers = f"{self.wrong:,} of {self.size:,} numbers" if self.size > 1 else "its only number"
        return f"{self.guess}; first at {where}{group}: {self.actual:g} instead of {self.wanted:g}; {numbers}"


def proved_float(
    constant: FloatConstant, wanted: Array, others: Candidates = (), tolerance: float | None = None
) -> WeightFault | None:
    """The fault of a float constant; None if it is ``wanted`` rounded. ``wanted``: of any shape of the same size.

    A matrix may be transposed, and a part may be of either axis: reported is the reading with the fewest differences
    whose fault is understood, else that with the fewest: in a square matrix of which all is wrong some numbers agree by
    chance. ``tolerance``: of numbers that were computed, such as tables of cosines, besides rounding.
    """
    dtype = constant.words.dtype
    assert dtype is not None
    actual = constant.words.numbers
    return best_reading(constant, _pairs(constant, actual, wanted), dtype, wanted.size, others, tolerance)


def _pairs(constant: FloatConstant, actual: Array, wanted: Array) -> Iterator[tuple[Array, Array]]:
    for part in _parts(constant, wanted):
        matrix = part.reshape(1, -1) if part.ndim < 2 else part.reshape(-1, part.shape[-1])
        for candidate in _readings(actual, part.shape, matrix.shape):
            yield candidate, matrix


def best_reading(
    constant: Constant,
    pairs: Iterable[tuple[Array, Array]],
    dtype: DType,
    size: int,
    others: Candidates = (),
    tolerance: float | None = None,
) -> WeightFault | None:
    """The fault of float numbers in the best of several readings; None if one has no difference.

    ``pairs``: for each reading a matrix of stored numbers and the one before rounding; ``size``: of the weight.
    """
    readings: list[tuple[int, Array, Array, Array]] = []
    for candidate, matrix in pairs:
        wrong = _differs(candidate, matrix, dtype, tolerance)
        count = int(wrong.sum())
        if not count:
            return None
        readings.append((count, candidate, matrix, wrong))
    if not readings:
        return _of(constant, "its size is another", (0,), None, size, size, 0.0, 0.0)
    readings.sort(key=lambda reading: reading[0])
    guesses = [guess(*reading[1:], others) for reading in readings]
    best = next((number for number, text in enumerate(guesses) if text != UNKNOWN), 0)
    text, (count, candidate, matrix, wrong) = guesses[best], readings[best]
    first = tuple(int(index) for index in np.argwhere(wrong)[0])
    place = first if min(matrix.shape) > 1 else (max(first),)
    return _of(constant, text, place, None, count, matrix.size, float(candidate[first]), float(matrix[first]))


def _parts(constant: FloatConstant, wanted: Array) -> Iterator[Array]:
    """Parts of a weight that a constant may hold: all of it, or that of one core along either axis."""
    size = constant.words.numbers.size
    if constant.words.part is None:
        if wanted.size == size:
            yield wanted
        return
    axis, start = constant.words.part
    # The axis may be that of the matrix, before the compiler has put an axis of 1 in front.
    shapes = constant.words.shape, tuple(extent for extent in constant.words.shape if extent > 1) or (1,)
    extents = dict.fromkeys(shape[min(axis, len(shape) - 1)] for shape in shapes)
    for own, extent in itertools.product(range(wanted.ndim), extents):
        if start + extent <= wanted.shape[own]:
            part = np.take(wanted, np.arange(start, start + extent), own)
            if part.size == size:
                yield part


def _readings(actual: Array, parts: tuple[int, ...], shape: tuple[int, ...]) -> Iterator[Array]:
    """A constant as a matrix of this shape: as it is, and transposed. ``parts``: shape of a stack of matrices."""
    if len(parts) == 3 and actual.size == math.prod(parts):
        yield actual.reshape(shape)
        yield actual.reshape(parts[0], parts[2], parts[1]).transpose(0, 2, 1).reshape(shape)
        return
    if actual.size != shape[0] * shape[1]:
        return
    if 1 in shape:
        yield actual.reshape(shape)
        return
    extents = [extent for extent in actual.shape if extent > 1]
    matrix = actual.reshape(-1, extents[-1])
    if matrix.shape == shape:
        yield matrix
    if matrix.shape[::-1] == shape:
        yield matrix.T


def _differs(actual: Array, wanted: Array, dtype: DType, tolerance: float | None) -> Array:
    """Mask of numbers that are not the rounded ones, made in pieces; only a NaN is the same as a NaN."""
    wrong = np.zeros(wanted.shape, bool)
    step = max(1, _BLOCK // max(1, wanted.shape[-1]))
    for start in range(0, len(wanted), step):
        part = slice(start, start + step)
        rounded = dtype.decode(dtype.encode(np.ascontiguousarray(wanted[part]))).astype(np.float32)
        wrong[part] = ~((rounded == actual[part]) | (np.isnan(rounded) & np.isnan(actual[part])))
        if tolerance is not None:
            wrong[part] &= ~(np.abs(actual[part] - wanted[part]) <= tolerance + np.abs(wanted[part]) * _ROUNDED)
    return wrong


def proved_quantised(
    constant: QuantisedConstant | ScaledConstant, wanted: Array, others: Candidates = ()
) -> WeightFault | None:
    """The fault of a quantised matrix; None if every number is within half a step. ``wanted``: (outputs, inputs)."""
    rows, columns = constant.levels.shape
    part = wanted[constant.rows : constant.rows + rows, constant.columns : constant.columns + columns]
    if part.shape != constant.levels.shape:
        return _of(constant, "its size is another", (0,), None, wanted.size, wanted.size, 0.0, 0.0)
    grouped = part.reshape(rows, -1, constant.group)
    levels, scales, wrong = _differing(constant, grouped)
    too_large = ~(constant.scales <= _LARGEST_SCALE * _needed(constant, grouped))
    if not wrong.any() and not too_large.any():
        return None
    if not wrong.any():
        wrong = np.broadcast_to(too_large[..., None], wrong.shape)
    row, group, at = (int(index) for index in np.argwhere(wrong)[0])
    own = [(name, partial(_part_shape, constant, read)) for name, read in others]
    text = _quantised_guess(constant, levels, grouped, wrong, too_large, own)
    first = (constant.rows + row, constant.columns + group * constant.group + at)
    actual, expected = levels[row, group, at] * scales[row, group, 0], grouped[row, group, at]
    number = first[1] // constant.group
    return _of(constant, text, first, number, int(wrong.sum()), wrong.size, float(actual), float(expected))


def wrong_numbers(constant: ScaledConstant, wanted: Array) -> int:
    """Count the numbers farther than half a step from those before quantisation. ``wanted``: of the same shape."""
    return int(_differing(constant, wanted.reshape(len(wanted), -1, constant.group))[2].sum())


def _differing(constant: QuantisedConstant | ScaledConstant, grouped: Array) -> tuple[Array, Array, Array]:
    """Levels less zero points and scales by group, and where their product is not right."""
    levels = constant.levels.reshape(grouped.shape).astype(np.float32) - constant.zeros[..., None]
    scales = constant.scales[..., None]
    with np.errstate(all="ignore"):
        return levels, scales, ~(np.abs(levels * scales - grouped) <= _tolerance(constant, levels, scales))


def _part_shape(constant: QuantisedConstant | ScaledConstant, read: Callable[[], Array]) -> Array:
    """Another tensor as ``_shape_of`` has it, the part of it that this constant would be."""
    rows, columns = constant.levels.shape
    part = read()[constant.rows : constant.rows + rows, constant.columns : constant.columns + columns]
    return _shape_of(part.reshape(rows, -1, constant.group)).reshape(rows, columns)


def _tolerance(constant: QuantisedConstant | ScaledConstant, levels: Array, scales: Array) -> Array:
    if isinstance(constant, ScaledConstant):
        half_step = np.maximum(np.abs(levels) * constant.half_step, constant.least_half_step)
        error = 1.01 * half_step + np.abs(levels) * _SCALE_ERROR
    else:
        error = 0.505 + np.abs(levels) * _ROUNDED
    tolerance: Array = np.abs(scales) * error
    return tolerance


def _needed(constant: QuantisedConstant | ScaledConstant, grouped: Array) -> Array:
    """Largest scale that the range of each group needs, symmetric or not; a group of zeros may have any."""
    largest = np.abs(grouped).max(-1)
    if isinstance(constant, ScaledConstant):
        if constant.is_shift:
            return np.full_like(largest, np.inf)
        if constant.is_per_tensor:
            largest = np.full_like(largest, largest.max())
        return np.where(largest > 0, largest / constant.largest, np.inf)
    levels = (1 << constant.bits) - 1
    return np.where(largest > 0, 2 * largest / (levels - 1), np.inf)


def _quantised_guess(
    constant: QuantisedConstant | ScaledConstant,
    levels: Array,
    wanted: Array,
    wrong: Array,
    too_large: Array,
    others: Candidates,
) -> str:
    """A phrase for the fault in levels, scales or zero points of the wrong groups."""
    if wrong.sum() == 1:
        return "one number"
    affected: Array = np.asarray(wrong.any(-1))
    scales = constant.scales[affected][:, None]
    own, target = levels[affected], wanted[affected]
    if not np.isfinite(scales).all():
        return "a scale is NaN or infinity"
    many = f" of {int(affected.sum()):,} groups" if affected.sum() > 1 else ""
    with np.errstate(all="ignore"):
        offset = np.rint(np.median((target / scales) - own, axis=-1))
        moved = own + offset[:, None]
        near = np.abs(moved * scales - target) <= _tolerance(constant, moved, scales) + np.abs(scales) * 0.1
    if offset.any() and near.mean() > 0.98:
        values = np.unique(offset)
        if len(values) == 1:
            return f"zero point{'s' if many else ''}{many} off by {int(values[0]):+d}"
        return f"zero points{many} off by {int(values.min()):+d} to {int(values.max()):+d}"
    with np.errstate(all="ignore"):
        right = (own * target).sum(-1) / np.square(own).sum(-1)
        factor = scales[:, 0] / right
    alike = np.array([cosine(one, other) for one, other in zip(own[:64], target[:64], strict=True)])
    if len(alike) and (np.abs(alike) > 0.97).all():
        middle = float(np.median(factor))
        is_one_factor = (np.abs(factor[np.isfinite(factor)] / middle - 1) < 0.1).all()
        if is_one_factor and abs(middle - 1) > 0.01:
            if abs(middle + 1) < 0.1:
                return f"the sign{many} is wrong"
            return f"scale{'s' if many else ''}{many} {middle:.3g} times as large as right"
        if not is_one_factor:
            return f"scales{many} are others"
    if too_large.any() and not (wrong & ~too_large[..., None]).any():
        return f"scales{many} are larger than their groups need"
    shape = (wanted.shape[0], -1)
    if isinstance(constant, ScaledConstant):
        text = guess((levels * constant.scales[..., None]).reshape(shape), wanted.reshape(shape), wrong.reshape(shape))
        if text != UNKNOWN:
            return text
    text = guess(_shape_of(levels).reshape(shape), _shape_of(wanted).reshape(shape), wrong.reshape(shape), others)
    if text == UNKNOWN:
        text = _shifted_groups(levels, wanted, affected) or text
    return text


def _shape_of(grouped: Array) -> Array:
    """Numbers without the mean and the size of their group, which depend on its scale and zero point."""
    centred = grouped - grouped.mean(-1, keepdims=True)
    size = np.sqrt(np.square(centred).mean(-1, keepdims=True))
    shapes: Array = centred / np.where(size, size, 1)
    return shapes


def _shifted_groups(levels: Array, wanted: Array, affected: Array) -> str | None:
    """Groups of a row that are at the place of others."""
    for row in np.flatnonzero(affected.any(1))[:8]:
        for group in np.flatnonzero(affected[row]):
            alike = [cosine(levels[row, group], other) for other in wanted[row]]
            best = int(np.argmax(alike))
            if alike[best] > 0.97 and best != group:
                return f"groups are in another order: group {group:,} of row {row:,} holds group {best:,}"
    return None


def _of(
    constant: Constant,
    text: str,
    first: tuple[int, ...],
    group: int | None,
    wrong: int,
    size: int,
    actual: float,
    wanted: float,
) -> WeightFault:
    return WeightFault(constant.net, constant.tensor, constant.line, text, first, group, wrong, size, actual, wanted)
