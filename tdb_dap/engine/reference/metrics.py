"""Metrics: distance of a computed tensor from the expected one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array, DType

_PRECISION = {"f32": (23, -126), "f16": (10, -14), "bf16": (7, -126), "f8e4m3": (3, -6), "f8e5m2": (2, -14)}
"""Format -> (bits of the fraction, least exponent of a normal number)."""

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
    actual: Array, expected: Array, relative: float = 1e-3, dtype: DType | None = None, scale: float = 1.0
) -> Metrics:
    """All metrics of two arrays of one shape.

    ``relative``: difference over the expected magnitude from which on an element is bad; ``dtype``, ``scale``: how the
    tensor is stored, for ``max_ulp``.
    """
    with np.errstate(all="ignore"):
        same = (actual == expected) | (np.isnan(actual) & np.isnan(expected))
        if same.all():
            return _equal(actual, expected)
        usable = np.isfinite(actual) & np.isfinite(expected)
        a, b = (array.astype(np.float64) for array in (actual, expected))
        if not usable.all():
            a[~usable] = b[~usable] = 0
        error = a - b
        difference = np.abs(error)
        bound = np.abs(b)
        reach = float(bound.max(initial=0.0))
        bound *= relative
        bound += _CLOSE_ABSOLUTE
        broken = ~same & ~usable
        bad = (~same & (difference > bound)) | broken
        is_broken = bool(broken.any())
        difference[broken] = np.inf
        lengths = _length(a) * _length(b)
        cosine = float(_product(a, b)) / lengths if lengths else 0.0
        middle = (a + b) / 2
        euclidean = 1.0 - _length(error) / (_length(middle) + 1e-7)
        axis, channel, similarity = _worst_channel(error, middle, broken)
        biggest = float(difference.max(initial=0.0))
        count = int(np.count_nonzero(bad))
    return Metrics(
        cosine=cosine,
        euclidean=euclidean,
        sqnr=_sqnr(b, error),
        max_abs=biggest,
        max_rel=biggest / reach if reach else biggest,
        max_ulp=_ulp(difference, a, b, dtype, scale),
        size=actual.size,
        bad_count=count,
        first_bad=_place(np.unravel_index(int(bad.argmax()), bad.shape)) if count else None,
        first_bad_per_axis=_first_per_axis(bad) if count else None,
        worst=_place(np.unravel_index(int(difference.argmax()), difference.shape)),
        channel_axis=axis,
        worst_channel=channel,
        channel=similarity,
        nan_count=int(np.isnan(actual).sum()),
        nan_expected=int(np.isnan(expected).sum()),
        inf_count=int(np.isinf(actual).sum()),
        inf_expected=int(np.isinf(expected).sum()),
        equal=False,
        broken=is_broken,
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
    axes = range(bad.ndim)
    return tuple(int(bad.any(axis=tuple(other for other in axes if other != axis)).argmax()) for axis in axes)


def _product(a: Array, b: Array) -> float:
    """The sum of products of two arrays of one shape, without an array of the products."""
    return float(np.einsum("i,i->", a.reshape(-1), b.reshape(-1)))


def _length(array: Array) -> float:
    return math.sqrt(_product(array, array))


def _sqnr(expected: Array, error: Array) -> float:
    """Both without their mean, as the compiler's own comparison has it."""
    noise = _length(error - error.mean()) ** 2
    signal = _length(expected - expected.mean()) ** 2
    return 10 * math.log10(signal / noise) if noise and signal else math.inf


def _worst_channel(error: Array, middle: Array, broken: Array) -> tuple[int | None, int | None, float]:
    axis = channel_axis(error.shape)
    if axis is None:
        return None, None, 1.0
    others = tuple(i for i in range(error.ndim) if i != axis)
    errors = np.sqrt(np.square(error).sum(axis=others))
    lengths = np.sqrt(np.square(middle).sum(axis=others))
    average = math.sqrt(float(np.square(lengths).mean()))
    similarity = 1.0 - errors / (np.maximum(lengths, _LEAST_CHANNEL * average) + 1e-7)
    similarity[broken.any(axis=others)] = -np.inf
    worst = int(similarity.argmin())
    return axis, worst, float(similarity[worst])


def _ulp(difference: Array, a: Array, b: Array, dtype: DType | None, scale: float) -> float | None:
    """Largest difference over the step of the stored format at the larger of the two magnitudes."""
    if dtype is None:
        return None
    if not dtype.is_float:
        return float(np.rint(difference.max(initial=0.0) / scale)) if np.isfinite(difference).all() else math.inf
    if dtype.name not in _PRECISION:
        return None
    fraction, least = _PRECISION[dtype.name]
    with np.errstate(all="ignore"):
        _, exponents = np.frexp(np.maximum(np.abs(a), np.abs(b)) / scale)
        steps = np.ldexp(scale, np.maximum(exponents - 1, least) - fraction)
        return float(np.rint((difference / steps).max(initial=0.0)))
