"""Whether a tensor is right beyond doubt, without bounds of the error inside of its op, which take most of the time.

A tensor passes here only if each number is as near to the exact one as the last rounding alone allows, and if all of
them together neither are further off than such roundings nor lean to one side. Any other has to be looked at closely
(``judging``), which most often finds that sums inside of its op have been rounded, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.formats import TensorType

PEAK = 1.6
"""Steps of the format by which a single number may be off: one rounding and, where an op rounds twice, another."""

NEAR_THE_END = 2.0**-10
"""How near to the largest number of a format one counts as saturated, relative."""

RATIO = 1.6
"""Error here over what the format costs (root of the mean squares) from which on it is a fault.

Rounding to a neighbour that is not the nearest one gives 2.
"""

LITTLE = 0.1
"""Inner error over the step of the format up to which the last rounding counts as the only one."""

MIDDLE = 0.49
"""Distance from the nearest number, in steps, from which on both neighbours are right."""

LEAST_ROUNDED = 64
LEANING = 0.25
"""Average difference from the nearest number, in steps, from which on it was not the nearest: others give 0.5."""

_RATIO = 1.3
"""Error over what the format costs up to which there is no doubt."""

_LEANING = 0.2
"""Average difference from the nearest number, in steps, up to which there is no doubt."""

_BLOCK = 1 << 14
_FEWEST = 64
"""Numbers of a block that have to be rounded, else they are judged with those of the next one."""


class _Sums(Struct):
    """Sums over numbers, in steps of the format. ``rounded``: how many had to be, and are not next to a middle."""

    error: float = 0.0
    cost: float = 0.0
    rounded: int = 0
    off: float = 0.0
    outwards: float = 0.0

    def add(self, error: Array, cost: Array, exact: Array, inner: Array | float = 0.0) -> None:
        """``error``, ``cost``, ``inner``: in steps."""
        self.error += float(error @ error)
        self.cost += float(cost @ cost)
        distance = np.abs(cost)
        rounded = (distance > 0.01) & (distance + inner < MIDDLE)
        off = error - cost
        off *= rounded
        self.rounded += int(np.count_nonzero(rounded))
        self.off += float(off.sum())
        self.outwards += float(off @ np.sign(exact))

    def is_doubtful(self) -> bool:
        """Whether numbers are off more than nearest ones, or lean to one side."""
        leaning = max(abs(self.off), abs(self.outwards))
        return self.error > _RATIO**2 * self.cost or leaning > _LEANING * self.rounded


class _Doubtful(Exception):
    """A tensor has to be looked at closely."""


class _Part(Struct):
    """Some numbers of a tensor that are not all exact; float64 arrays."""

    place: slice
    exact: Array
    error: Array
    steps: Array
    cost: Array


def _parts(actual: Array, exact: Array, kind: TensorType, mode: str) -> Iterator[_Part]:
    """A tensor in parts that the caches hold, without those that are exact; ``_Doubtful`` for what is not finite."""
    given, wanted = actual.reshape(-1), exact.reshape(-1)
    reach = kind.range * (1 - NEAR_THE_END)
    for start in range(0, wanted.size, _BLOCK):
        place = slice(start, start + _BLOCK)
        numbers, right = np.asarray(given[place], np.float64), wanted[place]
        error = numbers - right
        least, most = float(error.min()), float(error.max())
        if not math.isfinite(most - least) or max(-float(numbers.min()), float(numbers.max())) >= reach:
            raise _Doubtful
        if least or most:
            steps = kind.step(right)
            if not steps.all():
                raise _Doubtful
            yield _Part(place, right, error, steps, kind.stored(right, mode, steps) - right)


def verdict_at_a_glance(actual: Array, exact: Array, kind: TensorType, mode: str) -> str:
    """``exact`` or ``quantisation`` where a tensor is right beyond doubt, else empty.

    ``exact``: float64, not rounded; ``mode``: how the format rounds.
    """
    squares = costs = 0.0
    sums, verdict = _Sums(), "exact"
    try:
        with np.errstate(all="ignore"):
            for part in _parts(actual, exact, kind, mode):
                verdict, error, cost = "quantisation", part.error, part.cost
                if (np.abs(error) > PEAK * np.maximum(part.steps, np.abs(cost))).any():
                    return ""
                squares += float(error @ error)
                costs += float(cost @ cost)
                sums.add(error / part.steps, cost / part.steps, part.exact)
                if sums.rounded >= _FEWEST:
                    if sums.is_doubtful():
                        return ""
                    sums = _Sums()
    except _Doubtful:
        return ""
    return "" if sums.is_doubtful() or squares > _RATIO**2 * costs else verdict


def verdict_within(actual: Array, exact: Array, inner: Array, kind: TensorType, mode: str) -> str:
    """The same where sums inside of the op have been rounded, by the limits of ``judging``.

    ``inner``: largest error inside of the op, of each number.
    """
    squares = costs = inners = 0.0
    sums, verdict = _Sums(), "exact"
    bounds = inner.reshape(-1)
    try:
        with np.errstate(all="ignore"):
            for part in _parts(actual, exact, kind, mode):
                verdict, bound = "quantisation", bounds[part.place]
                error, cost, steps = part.error, part.cost, part.steps
                if not (np.abs(error) <= PEAK * np.maximum(steps, np.abs(cost)) + bound).all():
                    return ""
                plain = bound <= LITTLE * steps
                if not plain.any():
                    continue
                error, cost, bound = (np.where(plain, array, 0.0) for array in (error, cost, bound))
                squares += float(error @ error)
                costs += float(cost @ cost)
                inners += float(bound @ bound)
                sums.add(error / steps, cost / steps, part.exact, bound / steps)
    except _Doubtful:
        return ""
    leaning = max(abs(sums.off), abs(sums.outwards))
    is_far = squares > RATIO**2 * (costs + inners)
    return "" if is_far or (sums.rounded >= LEAST_ROUNDED and leaning > LEANING * sums.rounded) else verdict
