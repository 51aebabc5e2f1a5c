"""Whether a difference is what a number format costs, or a fault.

An op is computed in float64 from the operands it had. The error that is made *here* is what it gave less that. What the
format costs is measured in the same way: the exact result, rounded as the format says, less the exact result. A fault
is what goes far beyond.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.metrics import channel_axis
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.tools.golden.bounds import inner_bound, is_narrow, largest_inside, of_sizes, rms
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.glance import (
    LEANING,
    LEAST_ROUNDED,
    LITTLE,
    MIDDLE,
    NEAR_THE_END,
    PEAK,
    RATIO,
    verdict_at_a_glance,
    verdict_within,
)
from tdb_dap.tools.golden.integers import rounded_each
from tdb_dap.tools.golden.level import NOT_KNOWN, Level, names, wide
from tdb_dap.tools.golden.library import Call, NoGolden, compute

LOWERED_RATIO = 3.0
"""The same across a change of the level, where weights are rounded, too, and one op may become several."""

TABLE_RATIO = 2.0
"""The same for a table: its entries are off by less than half a step."""

_CHANNEL_RATIO = 2.0
"""Factor by which one channel may exceed the ratio of the whole tensor."""

_TABLE_PEAK = 0.76
"""The same for a table, whose entries are the nearest numbers."""

_LEAST_CHANNEL = 16
"""Numbers that a channel must have to be judged alone."""

_FAR = 0.5
"""Root mean square of a difference over that of the numbers from which on it is no rounding."""

_MOST_NAMED = 3
_CHOOSING = ("Arg", "TopK", "Nms", "NonZero", "Sort")
"""Ops whose result is another one altogether if their operands are off by a rounding, or equal."""

TAINTED = "its operands are infinite or no numbers"
"""Reason why a tensor cannot be judged."""

_TYPICAL = 0.25
"""Typical error inside of an op over the largest."""


class Judged(Struct, frozen=True):
    """One tensor. ``error``, ``cost``: roots of mean squares of the error made here and of what the format costs.

    ``verdict``: ``bug``, ``quantisation`` (differs, and the format explains it), ``overflow`` (numbers became infinite,
    or none, because they are beyond the format's range), ``exact`` or ``unknown``, then with a ``reason``.
    ``saturated``: share of the elements whose exact value is beyond what the format holds; ``overflowed``: of those
    that became infinite for it; ``is_zero``: all numbers are zero, computed and expected, which proves nothing.
    """

    name: str
    op: MlirOp
    verdict: str
    reason: str = ""
    error: float = 0.0
    cost: float = 0.0
    reach: float = 0.0
    """Root of the mean square of the exact numbers."""
    peak: float = 0.0
    """Largest difference."""
    worst: tuple[int, ...] = ()
    """Index of that."""
    actual: float = 0.0
    expected: float = 0.0
    saturated: float = 0.0
    overflowed: float = 0.0
    largest: float = 0.0
    """Largest exact number, or term inside of the op, that overflowed."""
    is_zero: bool = False

    @property
    def ratio(self) -> float:
        """Error over cost."""
        return self.error / self.cost if self.cost else (math.inf if self.error else 0.0)


class Expected(Struct, frozen=True):
    """The result that an op has to give, float64 arrays of one shape.

    ``exact``: not rounded; ``cost``: error that the format makes of it; ``steps``: distance of neighbouring numbers;
    ``inner``: largest error inside of the op; ``limit``: ratio of a fault; ``range``: largest finite number of the
    format; ``inside``: largest numbers inside of the op, where those may overflow; ``is_tainted``: whether operands
    hold infinities or NaNs, of which anything may follow.
    """

    exact: Array
    cost: Array
    steps: Array
    inner: Array
    limit: float
    range: float = math.inf
    inside: Array | None = None
    is_tainted: bool = False


def judged(op: MlirOp, name: str, actual: Array, expected: Expected) -> Judged:
    """The verdict on one tensor."""
    with np.errstate(all="ignore"):  # NaN and infinity are judged below
        return _judged(op, name, actual, expected)


def _judged(op: MlirOp, name: str, actual: Array, expected: Expected) -> Judged:
    exact, steps, inner, limit = expected.exact, expected.steps, expected.inner, expected.limit
    actual = np.asarray(actual, np.float64).reshape(exact.shape)
    over = _overflowed(actual, expected)
    usable = np.isfinite(actual) & np.isfinite(exact) & ~over
    broken = np.zeros_like(usable)
    if not usable.all() and not expected.is_tainted:
        same = (actual == exact) | (np.isnan(actual) & np.isnan(exact))
        broken = ~usable & ~same & ~over
    error = _where(usable, actual - exact)
    cost = _where(usable & np.isfinite(expected.cost), expected.cost)
    inner = _where(usable, inner)
    magnitudes = np.abs(error)
    place = np.unravel_index(int(magnitudes.argmax()), error.shape) if error.size else ()
    if broken.any() or over.any():
        place = tuple(np.argwhere(broken if broken.any() else over)[0])
    judged = Judged(
        name,
        op,
        "exact",
        error=rms(error),
        cost=math.hypot(rms(cost), rms(inner) * _TYPICAL),
        reach=rms(_where(np.isfinite(exact), exact)),
        peak=float(magnitudes.max(initial=0.0)),
        worst=tuple(int(i) for i in place),
        actual=float(actual[place]) if error.size else 0.0,
        expected=float(exact[place]) if error.size else 0.0,
        overflowed=float(over.mean()) if error.size else 0.0,
        largest=_largest(expected, over) if over.any() else 0.0,
        is_zero=not actual.any() and not exact.any(),
    )
    if broken.any():
        return replace(judged, verdict="bug", reason="not a number, or infinite, on one side only")
    reason = _fault(error, exact, cost, steps, inner, limit)
    if reason:
        return replace(judged, verdict="bug", reason=reason)
    if over.any():
        return replace(judged, verdict="overflow", reason=f"beyond {expected.range:.6g}, where its format ends")
    if error.size and not usable.any() and expected.is_tainted:
        return replace(judged, verdict="unknown", reason=TAINTED)
    return judged if judged.error == 0 else replace(judged, verdict="quantisation")


def _where(mask: Array, numbers: Array) -> Array:
    """The numbers of a mask, and 0 elsewhere; most often all of them, which are not copied then."""
    return numbers if mask.all() else np.where(mask, numbers, 0.0)


def _largest(expected: Expected, over: Array) -> float:
    """Largest exact number, or term inside of the op, of those that overflowed."""
    exact = expected.exact
    sizes = np.abs(np.where(np.isfinite(exact), exact, 0.0))
    inside = sizes if expected.inside is None else np.where(sizes > expected.range, sizes, expected.inside)
    return float(inside[over].max())


def _overflowed(actual: Array, expected: Expected) -> Array:
    """Mask of numbers that became infinite, or the format's largest one, because they are beyond its range."""
    exact = expected.exact
    if math.isinf(expected.range):
        return np.zeros(exact.shape, bool)
    reach = np.abs(exact)
    reach += expected.inner
    beyond = reach > expected.range
    if expected.inside is not None:
        beyond |= expected.inside > expected.range
    beyond &= np.isfinite(exact)
    if not beyond.any():
        return beyond
    saturated = (np.abs(actual) >= expected.range * (1 - NEAR_THE_END)) & (np.sign(actual) == np.sign(exact))
    return beyond & (~np.isfinite(actual) | (saturated & (np.abs(exact) > expected.range)))


def _fault(error: Array, exact: Array, cost: Array, steps: Array, inner: Array, limit: float) -> str:
    """Why an error is more than roundings can make of it; empty if it is not."""
    within = limit / RATIO
    peak = _TABLE_PEAK if limit == TABLE_RATIO else PEAK * within
    scale = limit * (1 + 1 / math.sqrt(max(1, error.size)))
    room = np.maximum(steps, np.abs(cost))
    room *= peak
    room += inner if within == 1 else within * inner
    if (np.abs(error) > room).any():
        if rms(error) > scale * math.hypot(rms(cost), rms(inner) * _TYPICAL):
            return "more than the format costs"
        channel = _worst_channel(error, np.hypot(cost, inner * _TYPICAL))
        if channel is not None and channel[1] > limit * _CHANNEL_RATIO:
            return f"channel {channel[0]} is off more than the format costs"
        if limit == RATIO:
            return "single numbers beyond any rounding"
    return _fault_of_rounding(error, exact, cost, steps, inner, scale) if limit == RATIO else ""


def _fault_of_rounding(error: Array, exact: Array, cost: Array, steps: Array, inner: Array, scale: float) -> str:
    """The same of those numbers where nothing but the last rounding errs: its error is known to the number."""
    plain = inner <= LITTLE * steps
    if not plain.any():
        return ""
    if not plain.all():
        error, exact, cost, steps, inner = (array[plain] for array in (error, exact, cost, steps, inner))
    if rms(error) > scale * math.hypot(rms(cost), rms(inner)):
        return "more than the format costs"
    if _leans(error, exact, cost, steps, inner):
        return "rounded in one direction instead of to the nearest"
    return ""


def _leans(error: Array, exact: Array, cost: Array, steps: Array, inner: Array) -> bool:
    """Whether numbers that had to be rounded went all down, all up, all towards zero or all away from it.

    Only the last rounding changes them. Those are left out that were exact, and those that are so near to the middle of
    two numbers that either is right.
    """
    distance = np.abs(cost)
    rounded = (distance > 0.01 * steps) & (distance + inner < MIDDLE * steps)
    if int(rounded.sum()) < LEAST_ROUNDED:
        return False
    shares = (error - cost)[rounded] / steps[rounded]
    return max(abs(float(shares.mean())), abs(float((shares * np.sign(exact[rounded])).mean()))) > LEANING


def _worst_channel(error: Array, cost: Array) -> tuple[int, float] | None:
    axis = channel_axis(error.shape)
    if axis is None or error.size // max(1, error.shape[axis]) < _LEAST_CHANNEL:
        return None
    others = tuple(i for i in range(error.ndim) if i != axis)
    errors = np.sqrt(np.square(error).mean(axis=others))
    costs = np.sqrt(np.square(cost).mean(axis=others) + np.square(cost).mean() / 4)
    ratios = errors / np.where(costs > 0, costs, np.inf)
    worst = int(ratios.argmax())
    return worst, float(ratios[worst])


def executed(
    level: Level, tensors: Mapping[str, Array], ops: Sequence[MlirOp] | None = None, closely: bool = True
) -> list[Judged]:
    """Each op of a level on the operands it had: does what was computed follow from the op as it is written?

    ``tensors``: what was computed, by name; ``closely``: as in ``judge_call``.
    """
    judged: list[Judged] = []
    for op in level.ops if ops is None else ops:
        if op.name == "top.Input" or not any(name in tensors for name in names(op)):
            continue
        try:
            call = level.call(op, tensors)
        except NoGolden as reason:
            judged.append(Judged(names(op)[0], op, "unknown", str(reason)))
            continue
        known = {place: tensors[name] for place, name in enumerate(names(op)) if name in tensors}
        judged += judge_call(op, call, known, closely=closely)
    return judged


def across_a_gap(one: Judged, level: Level, tensors: Mapping[str, Array]) -> Judged:
    """An op one of whose operands no file holds: a bug if its result is far from what the nearest known ones give.

    Each op in between rounds, so nothing can be said of what is near, nor of what such ops choose.
    """
    if one.verdict != "unknown" or NOT_KNOWN not in one.reason or one.name not in tensors:
        return one
    expected, gap = level.from_nearest(one.name, tensors)
    actual = wide(tensors[one.name]).reshape(-1)
    if expected is None or expected.size != actual.size or any(op.name.endswith(_CHOOSING) for op in gap):
        return one
    error, middle = actual - expected.reshape(-1), (actual + expected.reshape(-1)) / 2
    if not np.isfinite(error).all() or not rms(error) > _FAR * rms(middle):
        return one
    through = ", ".join(f"{op.name} at line {op.line}" for op in gap[:-1][-_MOST_NAMED:])
    reason = f"far from what the nearest known tensors give through {through}"
    return replace(one, verdict="bug", reason=reason, error=rms(error), reach=rms(expected))


def judge_call(
    op: MlirOp,
    call: Call,
    results: Mapping[int, Array],
    computed: Sequence[Array] | None = None,
    closely: bool = True,
) -> Iterator[Judged]:
    """An op on its operands, by the variant of it that fits. ``results``: what was computed, by the result's number.

    ``computed``: the exact results, where they are known already; ``closely``: with the error of each tensor and what
    its format costs, else those that are right beyond doubt have their verdict only.
    """
    verdicts = list(_judged_as_written(op, call, results, computed, closely))
    for variant in call.variants:
        if any(one.verdict == "bug" for one in verdicts):
            other = list(_judged_as_written(op, variant, results, None, closely))
            verdicts = verdicts if any(one.verdict == "bug" for one in other) else other
    yield from verdicts


def _judged_as_written(
    op: MlirOp, call: Call, results: Mapping[int, Array], computed: Sequence[Array] | None, closely: bool
) -> Iterator[Judged]:
    try:
        computed = compute(call) if computed is None else computed
    except NoGolden as reason:
        yield Judged(names(op)[0], op, "unknown", str(reason))
        return
    for place, (name, exact) in enumerate(zip(names(op), computed, strict=False)):
        if place not in results:
            continue
        kind = call.result_types[place] if place < len(call.result_types) else None
        if kind is None:
            continue
        if exact.size != np.size(results[place]):
            size = f"has {np.size(results[place]):,} numbers instead of {exact.size:,}"
            yield Judged(name, op, "bug" if kind.shape is None else "unknown", size)
            continue
        each = rounded_each(call)
        if each is not None and np.allclose(
            kind.clipped(each), wide(results[place]).reshape(each.shape), 0, kind.scale / 9
        ):
            yield Judged(name, op, "quantisation", reach=rms(exact))
            continue
        mode = str(call.get("round_mode", "HalfAwayFromZero"))
        if not closely and (verdict := _verdict(call, place, results[place], exact, kind, mode)):
            yield Judged(name, op, verdict)
            continue
        yield judged(op, name, results[place], expected(call, place, exact, kind, kind.stored(exact, mode)))


def _verdict(call: Call, place: int, actual: Array, exact: Array, kind: TensorType, mode: str) -> str:
    """The verdict on a tensor that is as it has to be; empty for one that may not be."""
    if verdict := verdict_at_a_glance(actual, exact, kind, mode):
        return verdict
    with np.errstate(all="ignore"):
        inner = inner_bound(call, place, exact, kind, lambda: of_sizes(call, place, exact))
    return verdict_within(actual, exact, inner, kind, mode)


def expected(call: Call, place: int, exact: Array, kind: TensorType, rounded: Array) -> Expected:
    """The result that an op has to give in a format. ``rounded``: the exact one as the format holds it."""
    with np.errstate(all="ignore"):
        sizes = cache(lambda: of_sizes(call, place, exact))
        inner = inner_bound(call, place, exact, kind, sizes)
        inside = largest_inside(call, exact, sizes) if is_narrow(kind) else None
        return Expected(
            exact, rounded - exact, kind.step(exact), inner, RATIO, kind.range, inside, is_tainted(call.inputs)
        )


def is_tainted(inputs: Sequence[Array | None]) -> bool:
    """Whether an operand holds infinities or NaNs."""
    return any(array is not None and not np.isfinite(array).all() for array in inputs)
