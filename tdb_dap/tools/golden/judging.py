"""Whether a difference is what a number format costs, or a fault.

An op is computed in float64 from the operands it had. The error that is made *here* is what it gave less that. What the
format costs is measured in the same way: the exact result, rounded as the format says, less the exact result. A fault
is what goes far beyond.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.metrics import channel_axis
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.integers import rounded_each
from tdb_dap.tools.golden.level import Level, names, wide
from tdb_dap.tools.golden.library import LINEAR, Call, NoGolden, compute

RATIO = 1.6
"""Error here over what the format costs (root of the mean squares) from which on it is a fault.

Rounding to a neighbour that is not the nearest one gives 2.
"""

LOWERED_RATIO = 3.0
"""The same across a change of the level, where weights are rounded, too, and one op may become several."""

TABLE_RATIO = 2.0
"""The same for a table: its entries are off by less than half a step."""

_CHANNEL_RATIO = 2.0
"""Factor by which one channel may exceed the ratio of the whole tensor."""

_PEAK = 1.6
"""Steps of the format by which a single number may be off: one rounding and, where an op rounds twice, another."""

_PEAK_SPREAD = 30.0
"""Factor by which a single number may exceed the typical inner error."""

_LEAST_CHANNEL = 16
"""Numbers that a channel must have to be judged alone."""

_LITTLE = 0.1
"""Inner error over the step of the format up to which the last rounding counts as the only one."""

_LEAST_ROUNDED = 64
_LEANING = 0.25
"""Average difference from the nearest number, in steps, from which on it was not the nearest: others give 0.5."""

_INNER = 2.0**-22
"""Relative error of sums that are formed in f32."""

_AS_WRITTEN = 2.0**-23
"""Relative error of tensors in files: they are f32 there, and so is the scale that was applied to them."""

_SINGLE_SUM = 2.0**-21
"""Relative error of one sum in f32, whatever is usual in the tensor: channels may be of very different size."""

_SUMMED = 2.0**-18
"""Relative error of an op that forms long sums or series in f32."""

HALF = {"f16": 2.0**-11, "bf16": 2.0**-8}
"""Float format -> half a step of its fraction: the largest relative error of a rounding."""

_TRIALS = 2


@dataclass(frozen=True)
class Judged:
    """One tensor. ``error``, ``cost``: roots of mean squares of the error made here and of what the format costs.

    ``verdict``: ``bug``, ``quantisation`` (differs, and the format explains it), ``exact`` or ``unknown``, then with a
    ``reason``. ``saturated``: share of the elements whose exact value is beyond what the format holds.
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

    @property
    def ratio(self) -> float:
        """Error over cost."""
        return self.error / self.cost if self.cost else (math.inf if self.error else 0.0)


def _rms(array: Array) -> float:
    return float(np.sqrt(np.mean(np.square(array)))) if array.size else 0.0


def judged(
    op: MlirOp,
    name: str,
    actual: Array,
    exact: Array,
    cost: Array,
    steps: Array,
    spread: float,
    limit: float,
    rounds_once: bool = False,
) -> Judged:
    """The verdict on one tensor.

    ``exact``: float64, computed here; ``cost``: error that the format makes of it; ``steps``: distance of neighbouring
    numbers; ``spread``: typical error inside of the op; ``limit``: ratio of a fault;
    ``rounds_once``: whether the last rounding is the only error. All arrays have one shape.
    """
    with np.errstate(all="ignore"):  # NaN and infinity are judged below
        return _judged(op, name, actual, exact, cost, steps, spread, limit, rounds_once)


def _judged(
    op: MlirOp,
    name: str,
    actual: Array,
    exact: Array,
    cost: Array,
    steps: Array,
    spread: float,
    limit: float,
    rounds_once: bool,
) -> Judged:
    actual = np.asarray(actual, np.float64).reshape(exact.shape)
    usable = np.isfinite(actual) & np.isfinite(exact)
    same = (actual == exact) | (np.isnan(actual) & np.isnan(exact))
    broken = ~usable & ~same
    error = np.where(usable, actual - exact, 0.0)
    cost = np.where(usable & np.isfinite(cost), cost, 0.0)
    place = np.unravel_index(int(np.abs(error).argmax()), error.shape) if error.size else ()
    if broken.any():
        place = tuple(np.argwhere(broken)[0])
    found = Judged(
        name,
        op,
        "exact",
        error=_rms(error),
        cost=math.hypot(_rms(cost), spread),
        reach=_rms(np.where(np.isfinite(exact), exact, 0.0)),
        peak=float(np.abs(error).max(initial=0.0)),
        worst=tuple(int(i) for i in place),
        actual=float(actual[place]) if error.size else 0.0,
        expected=float(exact[place]) if error.size else 0.0,
    )
    if broken.any():
        return replace(found, verdict="bug", reason="not a number, or infinite, on one side only")
    if found.error == 0:
        return found
    if found.error > limit * (1 + 1 / math.sqrt(error.size)) * found.cost:
        return replace(found, verdict="bug", reason="more than the format costs")
    if limit == RATIO and rounds_once and _leans(error, exact, cost, steps):
        return replace(found, verdict="bug", reason="rounded in one direction instead of to the nearest")
    room = (
        _PEAK * limit / RATIO * np.maximum(steps, np.abs(cost))
        + _PEAK_SPREAD * spread
        + _SUMMED * np.abs(np.where(usable, exact, 0.0))
    )
    if limit == RATIO and (np.abs(error) > room).any():
        return replace(found, verdict="bug", reason="single numbers beyond any rounding")
    channel = _worst_channel(error, np.hypot(cost, _SINGLE_SUM * np.where(usable, exact, 0.0)), spread)
    if channel is not None and channel[1] > limit * _CHANNEL_RATIO:
        return replace(found, verdict="bug", reason=f"channel {channel[0]} is off more than the format costs")
    return replace(found, verdict="quantisation")


def _leans(error: Array, exact: Array, cost: Array, steps: Array) -> bool:
    """Whether numbers that had to be rounded went all down, all up, all towards zero or all away from it."""
    # Not those that were exact, or in the middle of two numbers: there every direction is right.
    rounded = (np.abs(cost) > 0.01 * steps) & (np.abs(cost) < 0.49 * steps)
    if int(rounded.sum()) < _LEAST_ROUNDED:
        return False
    shares = (error - cost)[rounded] / steps[rounded]
    return max(abs(float(shares.mean())), abs(float((shares * np.sign(exact[rounded])).mean()))) > _LEANING


def _worst_channel(error: Array, cost: Array, spread: float) -> tuple[int, float] | None:
    axis = channel_axis(error.shape)
    if axis is None or error.size // max(1, error.shape[axis]) < _LEAST_CHANNEL:
        return None
    others = tuple(i for i in range(error.ndim) if i != axis)
    errors = np.sqrt(np.square(error).mean(axis=others))
    costs = np.sqrt(np.square(cost).mean(axis=others) + np.square(cost).mean() / 4 + spread * spread)
    ratios = errors / np.where(costs > 0, costs, np.inf)
    worst = int(ratios.argmax())
    return worst, float(ratios[worst])


def executed(level: Level, tensors: Mapping[str, Array], ops: Sequence[MlirOp] | None = None) -> list[Judged]:
    """Each op of a level on the operands it had: does what was computed follow from the op as it is written?

    ``tensors``: what was computed, by name.
    """
    found: list[Judged] = []
    for op in level.ops if ops is None else ops:
        if op.name == "top.Input" or not any(name in tensors for name in names(op)):
            continue
        try:
            call = level.call(op, tensors)
        except NoGolden as reason:
            found.append(Judged(names(op)[0], op, "unknown", str(reason)))
            continue
        known = {place: tensors[name] for place, name in enumerate(names(op)) if name in tensors}
        found += judge_call(op, call, known)
    return found


def judge_call(op: MlirOp, call: Call, results: Mapping[int, Array]) -> Iterator[Judged]:
    """An op on its operands. ``results``: what was computed, by the result's number."""
    try:
        computed = compute(call)
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
            yield Judged(name, op, "quantisation", reach=_rms(exact))
            continue
        stored = kind.stored(exact, str(call.get("round_mode", "HalfAwayFromZero")))
        with np.errstate(all="ignore"):
            cost = stored - exact
        typical, steps = spread(call, place, exact, kind), kind.step(exact)
        rounds_once = exact.size > 0 and typical < _LITTLE * float(np.mean(steps))
        if (inner := _before_bias(call, kind)) is not None:
            typical = math.hypot(typical, _rms(inner) / math.sqrt(12))
            steps = np.maximum(steps, inner)
        yield judged(op, name, results[place], exact, cost, steps, typical, RATIO, rounds_once)


def _before_bias(call: Call, kind: TensorType) -> Array | None:
    """Steps of a narrow float at the sums before the bias, which chips round, too; None where that is not so."""
    if call.name not in LINEAR or call.optional(2) is None or kind.storage not in HALF or kind.is_quantised:
        return None
    inputs = tuple(array if place != 2 else None for place, array in enumerate(call.inputs))
    try:
        return kind.step(compute(replace(call, inputs=inputs, attributes={**call.attributes, "do_relu": False}))[0])
    except NoGolden:
        return None


def spread(call: Call, place: int, exact: Array, kind: TensorType) -> float:
    """Typical error inside of an op: how far its result moves when its operands move by the error of its arithmetic."""
    reach = _rms(exact[np.isfinite(exact)])
    first = call.operand_types[0] if call.operand_types else None
    if call.name.endswith(".Cast") and first is not None and first.is_quantised and kind.storage in HALF:
        return reach * HALF[kind.storage]  # the scale is a narrow float, too
    if call.name in MOVING or (call.is_integer and call.name not in ("tpu.Softmax", "tpu.LayerNorm")):
        return reach * _AS_WRITTEN
    if call.name in LINEAR or call.name in _SINGLE:
        # A convolution of single channels adds up in its own format on some chips.
        relative = HALF.get(kind.storage, _INNER) if call.number("group", 1) > 1 else _INNER
        return max(reach * _AS_WRITTEN, _moved(call, place, exact, relative))
    if call.name.endswith((".Reduce", "Pool2D")) and kind.storage in HALF and not kind.is_quantised:
        return 2 * reach * HALF[kind.storage]  # sums in the narrow format
    moved = _moved(call, place, exact, 2 * HALF.get(kind.storage, 2.0**-21))
    return max(reach * _SUMMED, moved)


MOVING = frozenset(
    f"{dialect}.{name}"
    for dialect in ("top", "tpu")
    for name in (
        *("Reshape", "Permute", "Transpose", "Concat", "Slice", "StridedSlice", "Split", "Squeeze", "Unsqueeze"),
        *("Flatten", "Tile", "Expand", "Upsample", "Pad", "Gather", "GatherElements", "GatherND", "ScatterND", "Arg"),
        *(
            "TopK",
            "Relu",
            "Identity",
            "Depth2Space",
            "SwapDimInner",
            "ShuffleChannel",
            "MaxPool",
            "Where",
            "NonZero",
            "Nms",
            "Lut",
            "Cast",
        ),
    )
)
"""Ops that change no number but by the rounding of the result's format."""


_SINGLE = frozenset(
    f"{dialect}.{name}"
    for dialect in ("top", "tpu")
    for name in ("Add", "Sub", "Mul", "AddConst", "SubConst", "MulConst")
)
"""Ops of one addition or multiplication for each number, which is rounded once."""


def _moved(call: Call, place: int, exact: Array, relative: float) -> float:
    moves = [0.0]
    random = np.random.default_rng(0)
    for _ in range(_TRIALS):
        inputs = tuple(
            None if array is None else array * (1 + relative * random.standard_normal(array.shape))
            for array in call.inputs
        )
        try:
            moved = compute(replace(call, inputs=inputs))[place]
        except NoGolden:
            return moves[0]
        difference = moved - exact
        moves.append(_rms(difference[np.isfinite(difference)]))
    return max(moves)
