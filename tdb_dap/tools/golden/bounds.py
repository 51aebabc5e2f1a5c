"""Bounds of the error inside of an op, before the last rounding to the result's format.

``inner_bound`` is a bound for each number, ``spread`` the typical size over a tensor. A sum of n terms t in an
arithmetic of unit roundoff u is off by at most gamma(n) times the sum of |t|, in whatever order it is formed (Higham,
Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.library import LINEAR, Call, NoGolden, compute
from tdb_dap.tools.golden.matrices import packed_weight
from tdb_dap.tools.golden.recurrent import RECURRENT
from tdb_dap.tools.golden.windows import with_bias

HALF = {"f16": 2.0**-11, "bf16": 2.0**-8}
"""Float format -> half a step of its fraction: the largest relative error of a rounding."""

_SINGLE_UNIT = 2.0**-23
"""Unit roundoff of f32 where sums are truncated, which some engines do; 2**-24 where they are rounded."""

_INNER = 2.0**-22
"""Relative error of sums that are formed in f32."""

_AS_WRITTEN = 2.0**-23
"""Relative error of tensors in files: they are f32 there, and so is the scale that was applied to them."""

_STEPS = 4
"""Operations of which functions are formed that are rounded to the result's format."""

LEAST_F16 = 2.0**-14
"""Smallest normal number of f16."""

_FLUSHED = 2.0**-120
"""What becomes zero on the way: numbers below the normal ones of f32, and products with them."""

SUMMED = 2.0**-18
"""Relative error of an op that forms series in f32."""

_MARGIN = 4.0
"""Factor over the largest movement of a function in ``_TRIALS`` perturbations of its operands."""

_TRIALS = 2

MOVING = frozenset(
    f"{dialect}.{name}"
    for dialect in ("top", "tpu")
    for name in (
        *("Reshape", "Permute", "Transpose", "Concat", "Slice", "StridedSlice", "Split", "Squeeze", "Unsqueeze"),
        *("Flatten", "Tile", "Expand", "Upsample", "Pad", "Gather", "GatherElements", "GatherND", "ScatterND", "Arg"),
        *("TopK", "Relu", "Identity", "Depth2Space", "SwapDimInner", "ShuffleChannel", "MaxPool", "Where", "NonZero"),
        *("Nms", "Lut", "Cast"),
    )
)
"""Ops that change no number but by the rounding of the result's format."""

_SINGLE = frozenset(f"{dialect}.{name}" for dialect in ("top", "tpu") for name in ("Add", "Sub", "Mul"))
_CONSTANT = frozenset(f"{dialect}.{name}Const" for dialect in ("top", "tpu") for name in ("Add", "Sub", "Mul"))
"""Ops of one addition or multiplication for each number, which is rounded once; with a constant in the second set."""

_HALVES = ("GELU", "TGELU")
"""Modes of tpu.Active that add two halves of the operand, x / 2 + x / 2 * f(x), which cancel where x is negative."""

_SUMMING = (".Reduce", ".Pool1D", ".Pool2D", ".Pool3D", ".AvgPool")
_OVER_AN_AXIS = (".Softmax", ".LayerNorm", ".RMSNorm", ".GroupNorm", ".InstanceNorm", ".Normalize", ".L2Norm", ".LRN")
"""Ops that divide by a sum over numbers of their operand."""


def gamma(terms: float, unit: float) -> float:
    """Relative error of a sum of n terms, in any order: n u / (1 - n u); where that is over 1, n u, but at least 1.

    n u holds for any n (Rump, 2012; Jeannerod and Rump, 2013): no sum is too long to be judged.
    """
    product = terms * unit
    return product / (1 - product) if product < 0.5 else max(1.0, product)


def is_narrow(kind: TensorType | None) -> bool:
    """Whether a type is a float of 16 bits, without a scale."""
    return kind is not None and kind.storage in HALF and not kind.is_quantised


def inner_bound(call: Call, place: int, exact: Array, kind: TensorType, sizes: Callable[[], Array]) -> Array:
    """Largest error of each number before its last rounding, float64 of the shape of ``exact``.

    ``sizes``: ``of_sizes`` of the same op, which not all ops need.

    Sums of products: gamma(n, u) * sum |x w|, u of f32, or of the result's format where each channel has its own sum
    (engines add those up in it); in narrow floats also the rounding of the sum before the bias. Sums and averages:
    gamma(n, u) * sum |x|, u of the result's format. A constant is held in the result's format: u * |c| or u * |x c|.
    Other functions: ``_MARGIN`` times the movement when each operand moves by the roundings of its format, and what one
    moment gives to the next by one; the roundings of ``_STEPS`` operations, and the error of what they sum up.
    """
    size = np.abs(np.where(np.isfinite(exact), exact, 0.0))
    base = _AS_WRITTEN * size + _FLUSHED
    first = call.operand_types[0] if call.operand_types else None
    if call.name.endswith(".Cast") and first is not None and first.is_quantised and is_narrow(kind):
        return base + HALF[kind.storage] * size  # the scale is a narrow float, too
    if call.name.endswith(".Cast") and kind.is_quantised and kind.expressed in HALF:
        return base + 2 * HALF[kind.expressed] * size  # and the product with it, which is rounded again
    if call.name in MOVING or (call.is_integer and call.name not in ("tpu.Softmax", "tpu.LayerNorm")):
        return base
    if call.flushes and kind.storage == "f16" and not kind.is_quantised:
        base = base + np.where(size < LEAST_F16, size, 0.0)
    if call.name in LINEAR and not call.name.endswith("BatchNorm"):
        own = HALF.get(kind.storage, _SINGLE_UNIT) if call.number("group", 1) > 1 else _SINGLE_UNIT
        total = sizes()
        return base + gamma(_terms(call) + 1, own) * total + _before_bias(call, kind, exact)
    if call.name in _SINGLE or call.name in _CONSTANT:
        unit = HALF.get(kind.storage, _SINGLE_UNIT) if call.name in _CONSTANT else _SINGLE_UNIT
        held = abs(call.number("const_val")) if call.name in _CONSTANT and ".Mul" not in call.name else size
        return base + _SINGLE_UNIT * sizes() + unit * held
    if call.name.endswith(_SUMMING):
        unit = HALF[kind.storage] if is_narrow(kind) else _SINGLE_UNIT
        terms = max(2.0, call[0].size / max(1, exact.size), math.prod(call.numbers("kernel_shape")))
        return base + gamma(terms, unit) * sizes()
    return base + _of_function(call, place, exact, kind, size)


def _of_function(call: Call, place: int, exact: Array, kind: TensorType, size: Array) -> Array:
    """``inner_bound`` of an op that is neither a move nor one sum."""
    unit = HALF.get(kind.storage, 2.0**-22)
    moved = _MARGIN * (_movement(call, place, exact, 2 * unit) + _of_moments(call, place, exact, unit))
    narrow = _STEPS * HALF[kind.storage] * size if is_narrow(kind) else 0.0
    if is_narrow(kind) and call.get("mode") in _HALVES:
        narrow = narrow + _STEPS * HALF[kind.storage] * np.maximum(np.where(np.isfinite(call[0]), -call[0], 0.0), 0.0)
    # A function that tends to a constant is formed from numbers of the size of 1 or of its operand, or from their
    # small parts, which are lost below the normal numbers of a narrow format.
    around = np.abs(call[0]) if call.inputs and call[0].shape == exact.shape else np.zeros(exact.shape)
    around = np.maximum(1.0, np.where(np.isfinite(around), around, 1.0))
    floor = LEAST_F16 if kind.storage == "f16" and not kind.is_quantised else _STEPS * _SINGLE_UNIT
    sums: Array | float = 0.0
    if call.name.endswith(".Softmax"):
        sums = _lost(call, exact, HALF[kind.storage] if is_narrow(kind) else _SINGLE_UNIT)
    elif call.name.endswith(_OVER_AN_AXIS):
        sums = gamma(call[0].size, _SINGLE_UNIT)
    return np.asarray(moved + narrow + floor * around + (SUMMED + sums) * size)


def _of_moments(call: Call, place: int, exact: Array, unit: float) -> Array | float:
    """Movement of each number of a recurrent op when what each moment gives to the next is rounded; else 0."""
    run = RECURRENT.get(call.name)
    if run is None:
        return 0.0
    random = np.random.default_rng(0)

    def disturbed(numbers: Array) -> Array:
        return numbers * (1 + unit * random.choice((-1.0, 1.0), numbers.shape))

    moved = np.max([np.abs(run(call, disturbed)[place] - exact) for _ in range(_TRIALS)], axis=0)
    return np.maximum(moved, rms(moved))  # single numbers may have been moved back and forth


def _lost(call: Call, exact: Array, unit: float) -> Array:
    """Relative error of the sum of a softmax: what is too small to change it, and the roundings of the others.

    A term below u times the sum so far is lost; the other n terms are off by sqrt(n) u times a factor of 8, beyond
    which random roundings do not come (Higham and Mary, A New Approach to Probabilistic Rounding Error Analysis, 2019).
    """
    axis = call.axis(call[0].ndim, default=-1)
    shares = np.exp(exact) if call.flag("log") else exact
    shares = np.where(np.isfinite(shares), shares, 0.0)
    lost = np.where(shares < 2 * unit, shares, 0.0).sum(axis=axis, keepdims=True)
    bound: Array = lost + 8 * math.sqrt(shares.shape[axis]) * unit
    return bound


def _terms(call: Call) -> int:
    """Number of products in a sum: of a weight [oc, ic / groups, kernel...] or of a matrix [k, n]."""
    weight = call.optional(1)
    if weight is None or weight.ndim < 2:
        return 1
    if call.name.endswith("MatMul"):  # A16MatMul, too
        return int(call[0].shape[-2 if call.flag("left_transpose") else -1])
    return int(weight.size // max(1, weight.shape[0]))


def of_sizes(call: Call, place: int, exact: Array) -> Array:
    """Size of a sum whose terms do not cancel each other: the op on absolute values."""
    inputs = tuple(None if array is None else np.abs(array) for array in call.inputs)
    changed = {"do_relu": False, "is_reverse": False}
    if "const_val" in call.attributes:
        changed["const_val"] = abs(call.number("const_val"))  # type: ignore[assignment]
    name = call.name.replace("Sub", "Add") if call.name.endswith((".Sub", ".SubConst")) else call.name
    try:
        if name.endswith("A16MatMul"):  # its words have no signs
            return (np.abs(call[0]) @ np.abs(packed_weight(call)).T).reshape(exact.shape)
        sizes = compute(replace(call, name=name, inputs=inputs, attributes={**call.attributes, **changed}))[place]
    except NoGolden:
        return np.abs(exact)
    return np.abs(np.where(np.isfinite(sizes), sizes, 0.0)) if sizes.shape == exact.shape else np.abs(exact)


def _before_bias(call: Call, kind: TensorType, exact: Array) -> Array:
    """A step of a narrow float at the sums before the bias, which chips round, too; zeros where that is not so."""
    bias = call.optional(2)
    if bias is None or not is_narrow(kind):
        return np.zeros(exact.shape)
    is_by_channel = ".Conv" in call.name and exact.shape[1:2] == (bias.size,)
    if is_by_channel and not call.flag("do_relu"):
        return kind.step(with_bias(exact, -bias))
    inputs = tuple(array if place != 2 else None for place, array in enumerate(call.inputs))
    try:
        sums = compute(replace(call, inputs=inputs, attributes={**call.attributes, "do_relu": False}))[0]
    except NoGolden:
        return np.zeros(exact.shape)
    return kind.step(sums) if sums.shape == exact.shape else np.zeros(exact.shape)


def largest_inside(call: Call, exact: Array, sizes: Callable[[], Array]) -> Array | None:
    """Largest number that an op forms on the way to each of its results; None where it is not larger than they are.

    ``sizes``: ``of_sizes`` of the same op, which not all ops need.

    Sums: what the sizes of their terms come to, before a division by their number; squares where there are some.
    """
    if call.name in LINEAR and not call.name.endswith("BatchNorm"):
        return sizes()
    squares = call.name.endswith((*_OVER_AN_AXIS[1:], ".Pow")) or str(call.get("mode")) == "ReduceL2"
    if squares:
        return np.full(exact.shape, float(np.square(call[0][np.isfinite(call[0])]).sum()))
    if call.name.endswith(_SUMMING):
        return sizes() * max(1.0, call[0].size / max(1, exact.size))
    return None


def _movement(call: Call, place: int, exact: Array, relative: float) -> Array:
    """Movement of each number when operands move by ``relative`` up or down: the sum over the operands.

    One operand after another: movements of several could cancel each other.
    """
    total = np.zeros(exact.shape)
    random = np.random.default_rng(0)

    def moved(array: Array) -> Array:
        return array * (1 + relative * random.choice((-1.0, 1.0), array.shape))

    for index, operand in enumerate(call.inputs):
        if operand is None:
            continue
        largest = np.zeros(exact.shape)
        for result in _perturbed(call, place, moved, index):
            if result.shape == exact.shape:
                with np.errstate(invalid="ignore"):
                    difference = np.abs(result - exact)
                largest = np.fmax(largest, np.where(np.isfinite(difference), difference, 0.0))
        total += largest
    return total


def _perturbed(call: Call, place: int, move: Callable[[Array], Array], only: int | None = None) -> list[Array]:
    """Results of the op with moved operands, or with one of them moved; none if it cannot be computed."""
    results = []
    for _ in range(_TRIALS):
        inputs = tuple(
            array if array is None or only not in (None, index) else move(array)
            for index, array in enumerate(call.inputs)
        )
        try:
            results.append(compute(replace(call, inputs=inputs))[place])
        except NoGolden:
            return []
    return results


def spread(call: Call, place: int, exact: Array, kind: TensorType) -> float:
    """Typical error inside of an op: how far its result moves when its operands move by the error of its arithmetic."""
    reach = rms(exact[np.isfinite(exact)])
    first = call.operand_types[0] if call.operand_types else None
    if call.name.endswith(".Cast") and first is not None and first.is_quantised and kind.storage in HALF:
        return reach * HALF[kind.storage]  # the scale is a narrow float, too
    if call.name in MOVING or (call.is_integer and call.name not in ("tpu.Softmax", "tpu.LayerNorm")):
        return reach * _AS_WRITTEN
    if call.name in LINEAR or call.name in _SINGLE or call.name in _CONSTANT:
        # A convolution of single channels adds up in its own format on some chips.
        relative = HALF.get(kind.storage, _INNER) if call.number("group", 1) > 1 else _INNER
        return max(reach * _AS_WRITTEN, _typical(call, place, exact, relative))
    if call.name.endswith((".Reduce", "Pool2D")) and is_narrow(kind):
        return 2 * reach * HALF[kind.storage]  # sums in the narrow format
    return max(reach * SUMMED, _typical(call, place, exact, 2 * HALF.get(kind.storage, 2.0**-21)))


def _typical(call: Call, place: int, exact: Array, relative: float) -> float:
    random = np.random.default_rng(0)
    moves = [0.0]
    for result in _perturbed(call, place, lambda x: x * (1 + relative * random.standard_normal(x.shape))):
        with np.errstate(invalid="ignore"):
            difference = result - exact
        moves.append(rms(difference[np.isfinite(difference)]))
    return max(moves)


def rms(array: Array) -> float:
    """Root of the mean square; 0 of nothing."""
    numbers = array.reshape(-1)
    return float(np.sqrt(np.einsum("i,i->", numbers, numbers) / array.size)) if array.size else 0.0
