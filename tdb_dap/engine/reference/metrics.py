"""Metrics: distance of a computed tensor from the expected one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array, DType

_PRECISION = {"f32": (23, -126), "f16": (10, -14), "bf16": (7, -126), "f8e4m3": (3, -6), "f8e5m2": (2, -14)}
"""Format -> (bits of the fraction, least exponent of a normal number)."""

_EXPONENT = 0x7FF << 52
"""The bits of the exponent of a float64."""
_BLOCK = 1 << 15
"""Elements that are looked at at once."""

_CLOSE_ABSOLUTE = 1e-8
_LEAST_CHANNEL = 0.1
"""Least length of a channel relative to the average channel, so that a channel of noise alone is not judged."""


class Metrics(Struct, frozen=True):
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

    @property
    def expects_nothing(self) -> bool:
        """Whether every expected element is NaN: then no number would be right, and none is wrong."""
        return self.nan_expected == self.size > 0


def similarity_text(value: float) -> str:
    """Cosine or Euclidean similarity, six digits; ``< -1`` where its size means only that there is none."""
    return "< -1" if value < -1 else f"{value:.6f}"


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

    One array of truth values, as large as the largest tensor so far, and some of float64 for a part of a tensor.
    """

    def __init__(self) -> None:
        self._truths: Array = np.empty(0, np.bool_)
        self._few: Array = np.empty((5, _BLOCK), np.float64)

    def truths(self, shape: tuple[int, ...]) -> Array:
        """The array of truth values; they are anything."""
        size = math.prod(shape)
        if self._truths.size < size:
            self._truths = np.empty(0, np.bool_)  # the old ones are given back first
            self._truths = np.empty(size, np.bool_)
        return self._truths[:size].reshape(shape)

    def part(self, actual: Array, expected: Array, start: int, stop: int) -> Array:
        """Five rows of float64: part of both sides, which have one axis, their difference, and two that hold anything.

        All of them stay in the processor's caches while they are few.
        """
        if self._few.shape[1] < stop - start:
            self._few = np.empty((5, stop - start), np.float64)
        rows = self._few[:, : stop - start]
        rows[0] = actual[start:stop]
        rows[1] = expected[start:stop]
        np.subtract(rows[0], rows[1], out=rows[2])
        return rows


class _Elements(Struct):
    """Findings in the elements of both tensors, looked at one by one.

    ``worst``: number of the element; ``count``: of the ``bad`` ones.
    """

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
    elements = _Elements(room.truths(expected.shape))
    is_float = dtype is not None and dtype.name in _PRECISION
    # What is done for each element is done for as many at a time as the caches hold, with all that is needed of them.
    x, y, all_bad = (array.reshape(-1) for array in (actual, expected, elements.bad))
    most = 0.0
    for start in range(0, expected.size, _BLOCK):
        bad = all_bad[start : start + _BLOCK]
        own, other, distance, bound, step = room.part(x, y, start, start + bad.size)
        np.abs(distance, out=distance)
        largest = float(distance.max())
        if not math.isfinite(largest):
            return None
        if largest > elements.biggest:
            elements.biggest, elements.worst = largest, start + int(distance.argmax())
        np.abs(other, out=bound)
        elements.reach = max(elements.reach, float(bound.max()))
        if is_float and dtype is not None:
            np.abs(own, out=step)
            np.maximum(step, bound, out=step)
            most = max(most, _most_steps(distance, step, dtype, scale))
        bound *= relative
        bound += _CLOSE_ABSOLUTE
        np.greater(distance, bound, out=bad)
        elements.count += int(np.count_nonzero(bad))
    if is_float:
        elements.ulp = float(np.rint(most))
    elif dtype is not None and not dtype.is_float:
        elements.ulp = float(np.rint(elements.biggest / scale))
    return elements


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
    elements: _Elements,
    sides: tuple[Array, Array],
    room: Room,
    broken: Array | None,
    counts: tuple[int, int, int, int],
) -> Metrics:
    """The metrics of the whole tensor. ``counts``: NaN and infinities."""
    shape = elements.bad.shape
    axis, size = channel_axis(shape), elements.bad.size
    sums = _sums(*sides, axis, room)
    noise, signal = _squares_without_means(*sides, sums.error / size, sums.expected / size, room)
    # Both halves of the middle count: the sum of both is twice as long.
    length = math.sqrt(sums.middle_square) / 2
    lengths = math.sqrt(sums.actual_square) * math.sqrt(sums.expected_square)
    channel, similarity = _worst_channel(np.sqrt(sums.errors), np.sqrt(sums.middles), axis, broken)
    return Metrics(
        cosine=sums.product / lengths if lengths else 0.0,
        euclidean=1.0 - math.sqrt(sums.error_square) / (length + 1e-7),
        # Both without their mean, as the compiler's own comparison has it.
        sqnr=10 * math.log10(signal / noise) if noise and signal else math.inf,
        max_abs=elements.biggest,
        max_rel=elements.biggest / elements.reach if elements.reach else elements.biggest,
        max_ulp=elements.ulp,
        size=size,
        bad_count=elements.count,
        first_bad=_place(np.unravel_index(int(elements.bad.argmax()), shape)) if elements.count else None,
        first_bad_per_axis=_first_per_axis(elements.bad) if elements.count else None,
        worst=_place(np.unravel_index(elements.worst, shape)),
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


class _Sums(Struct):
    """Sums over a tensor: of the differences, the expected numbers, squares, and products of both sides.

    ``middle``: the sum of both sides. ``errors``, ``middles``: squares by channel.
    """

    errors: Array
    middles: Array
    error: float = 0.0
    expected: float = 0.0
    actual_square: float = 0.0
    expected_square: float = 0.0
    product: float = 0.0

    @property
    def error_square(self) -> float:
        return math.fsum(self.errors)

    @property
    def middle_square(self) -> float:
        return math.fsum(self.middles)


def _sums(actual: Array, expected: Array, axis: int | None, room: Room) -> _Sums:
    """All sums in one pass, a block after the other."""
    channels = expected.shape[axis] if axis is not None else 1
    inner = math.prod(expected.shape[axis + 1 :]) if axis is not None else 1
    sums = _Sums(np.zeros(channels), np.zeros(channels))
    parts: list[tuple[float, ...]] = []
    x, y = actual.reshape(-1), expected.reshape(-1)
    for start, stop in _blocks(x.size, channels, inner):
        own, other, error, middle, _ = room.part(x, y, start, stop)
        np.add(own, other, out=middle)
        parts.append((error.sum(), other.sum(), _product(own, own), _product(other, other), _product(own, other)))
        for numbers, squares in ((error, sums.errors), (middle, sums.middles)):
            _add_squares(numbers, start, inner, squares)
    sums.error, sums.expected, sums.actual_square, sums.expected_square, sums.product = (
        math.fsum(column) for column in zip(*parts, strict=True)
    )
    return sums


def _blocks(size: int, channels: int, inner: int) -> Iterator[tuple[int, int]]:
    """First and last elements of blocks: part of a channel, whole channels, or whole rows of channels side by side."""
    if inner >= _BLOCK:
        for first in range(0, size, inner):
            for start in range(first, first + inner, _BLOCK):
                yield start, min(start + _BLOCK, first + inner)
        return
    row = channels if inner == 1 else inner
    step = max(1, _BLOCK // row) * row
    for start in range(0, size, step):
        yield start, min(start + step, size)


def _add_squares(numbers: Array, start: int, inner: int, squares: Array) -> None:
    """Add the squares of a block, whose first element is ``start``, to those of its channels."""
    channels = squares.size
    if inner >= _BLOCK:
        squares[start // inner % channels] += _product(numbers, numbers)
    elif inner == 1:
        rows = numbers.reshape(-1, channels)
        squares += np.einsum("ij,ij->j", rows, rows)
    else:
        rows = numbers.reshape(-1, inner)
        np.add.at(squares, (start // inner + np.arange(len(rows))) % channels, np.einsum("ij,ij->i", rows, rows))


def _squares_without_means(
    actual: Array, expected: Array, error_mean: float, expected_mean: float, room: Room
) -> tuple[float, float]:
    """The squares of the difference and of the expected numbers, both without their mean."""
    noise, signal = [], []
    x, y = actual.reshape(-1), expected.reshape(-1)
    for start in range(0, x.size, _BLOCK):
        _, other, error, _, _ = room.part(x, y, start, min(start + _BLOCK, x.size))
        error -= error_mean
        other -= expected_mean
        noise.append(_product(error, error))
        signal.append(_product(other, other))
    return math.fsum(noise), math.fsum(signal)


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
    return float(np.einsum("i,i->", a, b))


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
