"""Metrics: distance of a computed tensor from the expected one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType

_PRECISION = {"f32": (23, -126), "f16": (10, -14), "bf16": (7, -126), "f8e4m3": (3, -6), "f8e5m2": (2, -14)}
"""Format -> (bits of the fraction, least exponent of a normal number)."""

_EXPONENT = 0x7FF << 52
"""The bits of the exponent of a float64."""
_BLOCK = 1 << 15
"""Elements that are looked at at once."""

_CLOSE_ABSOLUTE = 1e-8
_LEAST_CHANNEL = 0.1
"""A channel counts as at least so long beside the average channel, so that one of noise alone is not judged by it."""


@dataclass(frozen=True)
class Metrics:
    """``actual`` against ``expected``. NaN at the same place and equal infinities agree; all others never do."""

    cosine: float
    """Similarity of directions."""
    euclidean: float
    """1 - |a - b| / |(a + b) / 2|."""
    sqnr: float
    """10 log10 of the variance of the expected numbers over that of the error, in dB."""
    max_abs: float
    """Largest difference."""
    max_rel: float
    """Largest difference over the largest expected magnitude."""
    max_ulp: float | None
    """Largest difference in steps of the stored format (quantised integers: in units of the scale); None where the
    format is not known.
    """
    size: int
    bad_count: int
    """Elements that differ by more than the relative tolerance."""
    first_bad: tuple[int, ...] | None
    """Index of the first such element."""
    first_bad_per_axis: tuple[int, ...] | None
    """The least index of any of them on each axis."""
    worst: tuple[int, ...] | None
    """Index of the largest difference."""
    channel_axis: int | None
    """What counts as channel."""
    worst_channel: int | None
    """Channel of the least Euclidean similarity."""
    channel: float
    """That similarity. Differences are infinite where an element is NaN or infinite on one side only."""
    nan_count: int
    nan_expected: int
    inf_count: int
    inf_expected: int
    equal: bool
    broken: bool

    @property
    def bad_share(self) -> float:
        """Share of elements beyond the relative tolerance, 0 to 1."""
        return self.bad_count / self.size if self.size else 0.0


def measure(
    actual: Array,
    expected: Array,
    relative: float = 1e-3,
    dtype: DType | None = None,
    scale: float = 1.0,
    room: Room | None = None,
) -> Metrics:
    """All metrics of two arrays of one shape.

    ``relative``: difference over the expected magnitude from which on an element is bad; ``dtype``, ``scale``: how the
    tensor is stored, for ``max_ulp``; ``room``: memory to work in, of whoever measures many.
    """
    room = Room() if room is None else room
    with np.errstate(all="ignore"):
        if _are_equal(actual, expected):
            return _equal(actual, expected)
        elements = _elements(actual, expected, relative, dtype, scale, room)
        if elements is not None:
            return _measured(elements, (actual, expected), room, None, (0, 0, 0, 0))
        same = actual == expected
        same |= np.isnan(actual) & np.isnan(expected)
        if same.all():
            return _equal(actual, expected)
        usable = np.isfinite(actual) & np.isfinite(expected)
        numbers = [np.where(usable, array, np.float32(0)) for array in (actual, expected)]
        elements = _elements(numbers[0], numbers[1], relative, dtype, scale, room)
        assert elements is not None
        broken = ~same & ~usable
        if broken.any():
            elements.differ_endlessly(broken, dtype)
        counts = [int(test(array).sum()) for test in (np.isnan, np.isinf) for array in (actual, expected)]
        of_specials = (counts[0], counts[1], counts[2], counts[3])
        return _measured(elements, (numbers[0], numbers[1]), room, broken, of_specials)


def _are_equal(actual: Array, expected: Array) -> bool:
    """Whether all numbers are; where they are not, the first part tells most often."""
    one, other = actual.reshape(-1), expected.reshape(-1)
    parts = [slice(start, start + _BLOCK) for start in range(0, one.size, _BLOCK)]
    return all((one[part] == other[part]).all() for part in parts)


class Room:
    """Memory for the numbers of a tensor while it is measured: to get new pages for each takes longer than to measure.

    Two arrays of float64 and one of truth values, as large as the largest tensor so far.
    """

    def __init__(self) -> None:
        self._numbers: Array = np.empty((2, 0), np.float64)
        self._truths: Array = np.empty(0, np.bool_)
        self.few: Array = np.empty((5, _BLOCK), np.float64)
        """For a part of a tensor, small enough to stay in the processor's caches."""

    def numbers(self, shape: tuple[int, ...]) -> list[Array]:
        """The two arrays; they hold anything."""
        size = math.prod(shape)
        if self._truths.size < size:
            # The old ones are given back first.
            self._numbers, self._truths = np.empty((2, 0), np.float64), np.empty(0, np.bool_)
            self._numbers, self._truths = np.empty((2, size), np.float64), np.empty(size, np.bool_)
        return [row[:size].reshape(shape) for row in self._numbers]

    def truths(self, shape: tuple[int, ...]) -> Array:
        """The array of truth values, after ``numbers``."""
        return self._truths[: math.prod(shape)].reshape(shape)


@dataclass
class _Elements:
    """The difference of both tensors, and what is found by looking at the elements one by one.

    ``error``: float64; ``worst``: number of the element; ``count``: of the ``bad`` ones.
    """

    error: Array
    bad: Array
    biggest: float = -1.0
    worst: int = 0
    reach: float = 0.0
    count: int = 0
    ulp: float | None = None

    def differ_endlessly(self, broken: Array, dtype: DType | None) -> None:
        """Count elements that are no numbers on one side only."""
        self.bad |= broken
        self.count = int(np.count_nonzero(self.bad))
        self.biggest, self.worst = math.inf, int(broken.argmax())
        if self.ulp is not None:
            self.ulp = math.inf


def _elements(
    actual: Array, expected: Array, relative: float, dtype: DType | None, scale: float, room: Room
) -> _Elements | None:
    """None where one of the tensors holds an infinity or NaN."""
    found = _Elements(room.numbers(expected.shape)[0], room.truths(expected.shape))
    is_float = dtype is not None and dtype.name in _PRECISION
    # What is done for each element is done for as many at a time as the caches hold, with all that is needed of them.
    sides = [array.reshape(-1) for array in (actual, expected, found.error, found.bad)]
    most = 0.0
    for start in range(0, found.error.size, _BLOCK):
        x, y, off, bad = (side[start : start + _BLOCK] for side in sides)
        own, other, distance, bound, step = (row[: x.size] for row in room.few)
        own[...] = x
        other[...] = y
        np.subtract(own, other, out=off)
        np.abs(off, out=distance)
        largest = float(distance.max())
        if not math.isfinite(largest):
            return None
        if largest > found.biggest:
            found.biggest, found.worst = largest, start + int(distance.argmax())
        np.abs(other, out=bound)
        found.reach = max(found.reach, float(bound.max()))
        if is_float and dtype is not None:
            np.abs(own, out=step)
            np.maximum(step, bound, out=step)
            most = max(most, _most_steps(distance, step, dtype, scale))
        bound *= relative
        bound += _CLOSE_ABSOLUTE
        np.greater(distance, bound, out=bad)
        found.count += int(np.count_nonzero(bad))
    if is_float:
        found.ulp = float(np.rint(most))
    elif dtype is not None and not dtype.is_float:
        found.ulp = float(np.rint(found.biggest / scale))
    return found


def _most_steps(difference: Array, magnitude: Array, dtype: DType, scale: float) -> float:
    """Largest difference over the step of the stored format at the larger of the two magnitudes, which is lost."""
    fraction, least = _PRECISION[dtype.name]
    if scale != 1:
        _, exponents = np.frexp(magnitude / scale)
        steps = np.ldexp(scale, np.maximum(exponents - 1, least) - fraction)
        return float((difference / steps).max())
    # The exponent alone is the power of two below a number; to divide by powers of two loses nothing.
    bits = magnitude.view(np.int64)
    bits &= _EXPONENT
    np.maximum(magnitude, math.ldexp(1.0, least), out=magnitude)
    np.divide(difference, magnitude, out=magnitude)
    return math.ldexp(float(magnitude.max()), fraction)


def _measured(
    found: _Elements,
    sides: tuple[Array, Array],
    room: Room,
    broken: Array | None,
    counts: tuple[int, int, int, int],
) -> Metrics:
    """The metrics of the whole tensor; the difference in ``found`` is lost. ``counts``: NaN and infinities."""
    error, other = room.numbers(found.error.shape)
    shape, axis = error.shape, channel_axis(error.shape)
    distance = _length(error)
    errors = _channel_lengths(error, axis, other)
    np.subtract(error, error.mean(), out=other)
    noise = _length(other) ** 2
    a, b = error, other
    a[...], b[...] = sides
    lengths = _length(a) * _length(b)
    cosine = _product(a, b) / lengths if lengths else 0.0
    a += b  # twice the middle: halves of sums and of lengths are exact
    euclidean = 1.0 - distance / (_length(a) / 2 + 1e-7)
    b -= b.mean()
    signal = _length(b) ** 2
    channel, similarity = _worst_channel(errors, _channel_lengths(a, axis, b), axis, broken)
    return Metrics(
        cosine=cosine,
        euclidean=euclidean,
        # Both without their mean, as the compiler's own comparison has it.
        sqnr=10 * math.log10(signal / noise) if noise and signal else math.inf,
        max_abs=found.biggest,
        max_rel=found.biggest / found.reach if found.reach else found.biggest,
        max_ulp=found.ulp,
        size=error.size,
        bad_count=found.count,
        first_bad=_place(np.unravel_index(int(found.bad.argmax()), shape)) if found.count else None,
        first_bad_per_axis=_first_per_axis(found.bad) if found.count else None,
        worst=_place(np.unravel_index(found.worst, shape)),
        channel_axis=axis,
        worst_channel=channel,
        channel=similarity,
        nan_count=counts[0],
        nan_expected=counts[1],
        inf_count=counts[2],
        inf_expected=counts[3],
        equal=False,
        broken=broken is not None and bool(broken.any()),
    )


def channel_axis(shape: tuple[int, ...]) -> int | None:
    """Axis of the channels: the second of images and volumes, the last of anything else; None for a scalar."""
    if len(shape) >= 4:
        return 1
    return len(shape) - 1 if shape else None


def _equal(actual: Array, expected: Array) -> Metrics:
    nan, inf = int(np.isnan(actual).sum()), int(np.isinf(actual).sum())
    return Metrics(
        cosine=1.0,
        euclidean=1.0,
        sqnr=math.inf,
        max_abs=0.0,
        max_rel=0.0,
        max_ulp=0.0,
        size=actual.size,
        bad_count=0,
        first_bad=None,
        first_bad_per_axis=None,
        worst=None,
        channel_axis=channel_axis(actual.shape),
        worst_channel=None,
        channel=1.0,
        nan_count=nan,
        nan_expected=nan,
        inf_count=inf,
        inf_expected=inf,
        equal=True,
        broken=False,
    )


def _place(index: Array | tuple[int, ...] | tuple[np.intp, ...]) -> tuple[int, ...]:
    return tuple(int(i) for i in index)


def _first_per_axis(bad: Array) -> tuple[int, ...]:
    """The least index on each axis of any element that is true; there is one."""
    return tuple(_first_on(bad, axis) for axis in range(bad.ndim))


def _first_on(bad: Array, axis: int) -> int:
    if bad[(slice(None),) * axis + (0,)].any():  # where much is bad, most often
        return 0
    others = tuple(other for other in range(bad.ndim) if other != axis)
    return int(bad.any(axis=others).argmax())


def _product(a: Array, b: Array) -> float:
    """The sum of products of two arrays of one shape, without an array of the products."""
    return float(np.einsum("i,i->", a.reshape(-1), b.reshape(-1)))


def _length(array: Array) -> float:
    return math.sqrt(_product(array, array))


def _channel_lengths(side: Array, axis: int | None, squares: Array) -> Array:
    """The length of each channel; ``squares``: room for as many numbers as there are in all."""
    if axis is None:
        return np.zeros(0)
    others = tuple(i for i in range(side.ndim) if i != axis)
    lengths: Array = np.sqrt(np.square(side, out=squares).sum(axis=others))
    return lengths


def _worst_channel(errors: Array, doubled: Array, axis: int | None, broken: Array | None) -> tuple[int | None, float]:
    """Channel and similarity. ``errors``, ``doubled``: by channel the lengths of the difference and of the sum."""
    if axis is None:
        return None, 1.0
    lengths = doubled / 2
    average = math.sqrt(float(np.square(lengths).mean()))
    similarity = 1.0 - errors / (np.maximum(lengths, _LEAST_CHANNEL * average) + 1e-7)
    if broken is not None:
        similarity[broken.any(axis=tuple(i for i in range(broken.ndim) if i != axis))] = -np.inf
    worst = int(similarity.argmin())
    return worst, float(similarity[worst])
