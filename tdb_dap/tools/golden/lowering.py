"""Whether a level means the same as the one before it, but for the precision of its formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

import numpy as np
from msgspec.structs import replace

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.tools.golden.bounds import HALF, inner_bound, is_narrow, largest_inside, of_sizes, rms
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.judging import LOWERED_RATIO, TABLE_RATIO, Expected, Judged, is_tainted, judged
from tdb_dap.tools.golden.level import NOT_KNOWN, Level, name_of, names, wide
from tdb_dap.tools.golden.library import LINEAR, Call, NoGolden, compute

_WEIGHT = re.compile(r"[us]*i(\d+)$")
_GROUP = 64

_SPREAD = 4.0
"""Largest error over the typical one."""

_HALF_A_STEP = 0.52
"""Steps by which a stored weight may be off."""

_NEAR = 0.6
"""The same where the step is an estimate."""

_FACTOR = 2.0**-7
"""Relative error of a factor that is stored in eight bits."""

_PREPARING = ("tpu.Cast", "tpu.Reshape", "tpu.RequantInt", "tpu.RequantIntAxis", "tpu.Concat")
"""Ops that only bring a result into its form, or put the parts of one together."""


def lowered(before: Level, after: Level, tensors: Mapping[str, Array]) -> list[Judged]:
    """Each op of the earlier level on operands of the later one, against what the later one has for its result.

    ``tensors``: what was computed at the later level, by name. Ops whose result or operands have no counterpart there
    are left out.
    """
    judged: list[Judged] = []
    for op in before.ops:
        if op.name == "top.Input":
            continue
        for place, name in enumerate(names(op)):
            target = counterpart(after, name, tensors)
            if target is None:
                continue
            judgement = _judge(before, op, place, after, target, tensors)
            if judgement is not None:
                judged.append(judgement)
    return judged + [one for op in after.ops if (one := _requantised(before, op, after, tensors)) is not None]


def _requantised(before: Level, op: MlirOp, after: Level, tensors: Mapping[str, Array]) -> Judged | None:
    """An op that the compiler has put in to give a tensor another scale: its numbers have to stay what they are."""
    name = names(op)[0]
    if op.name != "tpu.MulShift" or name in before.by_name or name not in tensors:
        return None
    operands = after.operand_names(op)
    kind = after.type_named(name)
    if len(operands) != 1 or operands[0] not in tensors or kind is None or not kind.is_quantised:
        return None
    exact = wide(tensors[operands[0]])
    if exact.size != np.size(tensors[name]):
        return None
    inner = _SPREAD * rms(exact) * _FACTOR
    steps = kind.step(exact)
    cost = kind.stored(exact) - exact
    return judged(op, name, tensors[name], Expected(exact, cost, steps, np.full(exact.shape, inner), LOWERED_RATIO))


def counterpart(after: Level, name: str, tensors: Mapping[str, Array]) -> str | None:
    """The name that a tensor of an earlier level has in a later one: its own, or that of the last of its parts."""
    if name in tensors and name in after.by_name:
        return name
    parts = [op for op in after.ops if any(part.split("__")[0] == name and "__" in part for part in names(op))]
    return next((candidate for op in reversed(parts) for candidate in names(op) if candidate in tensors), None)


def _judge(
    before: Level, op: MlirOp, place: int, after: Level, target: str, tensors: Mapping[str, Array]
) -> Judged | None:
    operands = {name: array for name in before.operand_names(op) if (array := _known(after, name, tensors)) is not None}
    kind = after.type_named(target)
    later = after.by_name[target]
    try:
        call = before.call(op, operands)
        exact = compute(call)[place]
    except (NoGolden, IndexError) as reason:
        is_a_gap = NOT_KNOWN in str(reason)  # fused away: nothing to say
        return None if is_a_gap else Judged(target, later, "unknown", str(reason))
    if kind is None or exact.size != np.size(tensors[target]):
        return None
    if any(
        one is not None and one.is_scaled_float
        for part in _chain(after, target, call.name)
        for one in _kinds(after, part)
    ):
        return Judged(target, later, "unknown", "8-bit floats, whose scale is not in their type")
    actual = wide(tensors[target]).reshape(exact.shape)
    try:
        rough = compute(_at_precision(call, before, op, after, target))[place]
    except NoGolden:
        rough = exact
    if rough.size != exact.size:
        return None  # an op whose results have this count; other ones at this precision
    for part in reversed(_chain(after, target, call.name)):
        kinds = after.types(part)[1]
        rough = kinds[0].stored(rough) if kinds and kinds[0] is not None else rough
    inner = np.full(exact.shape, _inner(call, place, exact, after, target))
    is_table = later.name == "tpu.Lut"  # what it holds has been computed exactly
    limit = TABLE_RATIO if is_table else LOWERED_RATIO
    chain = [k for part in _chain(after, target, call.name) for k in after.types(part)[1] if k is not None]
    within = next(iter(chain), kind).clipped(exact)
    with np.errstate(all="ignore"):
        cost = rough - exact
    span = min((k.range for k in chain), default=kind.range)
    narrow = next((k for k in chain if is_narrow(k)), kind)
    sizes = cache(lambda: of_sizes(call, place, exact))
    inside = largest_inside(call, exact, sizes)
    tainted = is_tainted(call.inputs)
    with np.errstate(all="ignore"):
        inner = inner + inner_bound(call, place, exact, narrow, sizes)
    wanted = Expected(exact, cost, kind.step(exact), inner, limit, span, inside, tainted)
    verdict = judged(later, target, actual, wanted)
    if later.name == "tpu.Concat" and verdict.worst and not call.name.endswith(".Concat"):
        piece = _part(after, later, verdict.worst)
        verdict = verdict if piece is None else replace(verdict, op=piece, name=names(piece)[0])
    if verdict.verdict == "bug" and (cut := _cut_bias(_chain(after, target, call.name)[-1], after)):
        verdict = replace(verdict, reason=f"{verdict.reason}; {cut}")
    beyond = within != exact
    return replace(verdict, saturated=float(beyond.mean()) if exact.size else 0.0)


def _cut_bias(main: MlirOp, after: Level) -> str:
    """The bias of a quantised op that its format cuts off, and of which channel, in words; empty if there is none."""
    producer = after.mlir.op_defining(main.operands[2], main.line) if len(main.operands) > 2 else None
    kind = next(iter(after.types(producer)[1]), None) if producer is not None else None
    if producer is None or producer.name != "top.Weight" or kind is None or kind.limits is None:
        return ""
    try:
        words = after.weight(producer).reshape(-1)
    except NoGolden:
        return ""
    channels = np.flatnonzero((words <= kind.limits[0]) | (words >= kind.limits[1]))
    if not channels.size:
        return ""
    first, more = int(channels[0]), f" and {channels.size - 1} more" if channels.size > 1 else ""
    end = f"{words[first]:,.0f}, where {kind.storage} ends"
    return f"the bias of channel {first}{more} ends at {end}: keep the op in float"


def _kinds(after: Level, op: MlirOp) -> tuple[TensorType | None, ...]:
    """Types of an op's operands and results."""
    operands, results = after.types(op)
    return (*operands, *results)


def _part(after: Level, op: MlirOp, place: tuple[int, ...]) -> MlirOp | None:
    """The op that computes the part of a concatenation in which an index is."""
    axis = int(op.attributes.get("axis", 0)) % len(place)
    rest = place[axis]
    for value, kind in zip(op.operands, after.types(op)[0], strict=False):
        if kind is None or kind.shape is None or len(kind.shape) != len(place):
            return None
        if rest < kind.shape[axis]:
            return after.mlir.op_defining(value, op.line)
        rest -= kind.shape[axis]
    return None


def _known(after: Level, name: str, tensors: Mapping[str, Array]) -> Array | None:
    target = counterpart(after, name, tensors)
    return tensors[target] if target is not None else tensors.get(name)


def _chain(after: Level, target: str, opcode: str) -> list[MlirOp]:
    """The op of a result and those before it up to the one that computes what ``opcode`` of the earlier level does."""
    op: MlirOp | None = after.by_name[target]
    chain: list[MlirOp] = []
    while op is not None and len(chain) < 8:
        chain.append(op)
        if op.name not in _PREPARING or op.name.split(".")[1] == opcode.split(".")[1]:
            break
        values = [value for value in op.operands if after.mlir.op_defining(value, op.line) is not None]
        producer = after.mlir.op_defining(values[0], op.line) if values else None
        op = producer if producer is not None and producer.name.startswith("tpu.") else None
    return chain


def _at_precision(call: Call, before: Level, op: MlirOp, after: Level, target: str) -> Call:
    """The op with operands and weights as the later level holds them."""
    chain = _chain(after, target, call.name)
    main = chain[-1]
    kinds = [kind for kind in after.types(main)[0] if kind is not None]
    if not kinds:
        return call
    inputs: list[Array | None] = []
    for place, array in enumerate(call.inputs):
        producer = before.mlir.op_defining(op.operands[place], op.line) if place < len(op.operands) else None
        if array is None or producer is None or producer.name in ("top.None",):
            inputs.append(array)
        elif producer.name == "top.Weight":
            inputs.append(_weight_at(array, call, place, main, after))
        else:
            kind = (
                _operand_type(after, main, name_of(producer, op.operands[place])) or kinds[min(place, len(kinds) - 1)]
            )
            inputs.append(kind.stored(array) if kind.is_quantised or kind.storage in HALF else array)
    return replace(call, inputs=tuple(inputs))


def _operand_type(after: Level, main: MlirOp, name: str) -> TensorType | None:
    """The type in which an op of the later level reads a tensor: its own, or that of the cast in between."""
    for value, kind in zip(main.operands, after.types(main)[0], strict=False):
        producer = after.mlir.op_defining(value, main.line)
        if producer is None or kind is None:
            continue
        given = name_of(producer, value)
        if given == name or (producer.name == "tpu.Cast" and name in after.operand_names(producer)):
            return kind
    return None


def _weight_at(array: Array, call: Call, place: int, main: MlirOp, after: Level) -> Array:
    """Weights as the later level rounds them: whole numbers of a channel's or a group's scale, or narrow floats."""
    kinds = after.types(main)[0]
    kind = kinds[place] if place < len(kinds) else None
    if kind is None:
        return array
    if kind.storage in HALF:
        return kind.stored(array)
    match = _WEIGHT.match(kind.storage)
    if match is None or place != 1 or call.name not in LINEAR:
        return array
    held = _held_weight(array, main, after)
    if held is not None:
        return held
    bits = int(main.attributes.get("weight_bits", 8))
    greatest = 2.0 ** (bits - 1) - 1
    if "OnlyShift" in str(main.attributes.get("quant_mode", "")):
        greatest /= 2  # scales are powers of two, in the worst case twice as large as need be
    if main.name == "tpu.A16MatMul" and bits == 4:
        rows = np.swapaxes(array, -1, -2)
        groups = rows.reshape(-1, min(_GROUP, rows.shape[-1])) if rows.size % _GROUP == 0 else rows.reshape(1, -1)
        scale = np.abs(groups).max(axis=1, keepdims=True) / greatest
        values = np.rint(groups / np.where(scale > 0, scale, 1)) * scale
        return np.swapaxes(values.reshape(rows.shape), -1, -2)
    is_matrix = call.name.endswith("MatMul")
    rows = array.reshape(1, -1) if is_matrix else array.reshape(array.shape[0], -1)
    scale = np.abs(rows).max(axis=1, keepdims=True) / greatest
    return (np.rint(rows / np.where(scale > 0, scale, 1)) * scale).reshape(array.shape)


def _held_weight(array: Array, main: MlirOp, after: Level) -> Array | None:
    """The weight that the later level holds, in numbers; None if it is not the earlier one rounded to whole steps.

    A channel's step is the one with which its stored numbers come nearest to the weights (least squares), so that a
    wrong factor of the op shows in its result; where few words stand for a channel, the step of that factor.
    """
    producer = after.mlir.op_defining(main.operands[1], main.line) if len(main.operands) > 1 else None
    if producer is None or producer.name != "top.Weight" or main.name == "tpu.A16MatMul":
        return None
    try:
        words = after.weight(producer) - float(main.attributes.get("kernel_zp", 0) or 0)
    except NoGolden:
        return None
    is_matrix = main.name.endswith("MatMul")
    if words.size == array.size and not is_matrix:
        words = words.reshape(array.shape)
    if words.shape != array.shape:
        return None
    rows, stored = (one.reshape((1, -1) if is_matrix else (one.shape[0], -1)) for one in (array, words))
    power = np.square(stored).sum(axis=1, keepdims=True)
    nearest = (rows * stored).sum(axis=1, keepdims=True) / np.where(power > 0, power, 1)
    # Of a channel that is all zeros only its size can be judged: by the other channels' steps.
    nearest = np.where(power > 0, nearest, nearest.max(initial=0.0))
    for step, most in ((nearest, _NEAR), (_step_of_factor(main, after), _HALF_A_STEP)):
        if step is not None and _is_rounded(rows, stored, step, most):
            return np.asarray(stored * step).reshape(array.shape)
    return None


def _is_rounded(rows: Array, stored: Array, step: Array, most: float) -> bool:
    """Whether stored numbers are weights [channel, ...] in steps, each off by ``most`` of one or saturated."""
    off = np.abs(rows - stored * step)
    is_saturated = (np.abs(stored) >= np.abs(stored).max(initial=1.0)) & (np.abs(rows) >= np.abs(stored * step))
    return bool((is_saturated | (off <= most * step)).all())


def _step_of_factor(main: MlirOp, after: Level) -> Array | None:
    """Steps of the weights [channel, 1] by the factors of a quantised op; None if it has none."""
    operands, results = after.types(main)
    first, result = next(iter(operands), None), next(iter(results), None)
    if first is None or result is None or not first.is_quantised or not result.is_quantised:
        return None
    plural = "s" if main.name.endswith("MatMul") else ""
    shifts, multipliers = (main.attributes.get(f"{name}{plural}") for name in ("rshift", "multiplier"))
    try:
        factors = np.exp2(-np.asarray(shifts, np.float64))
        mode = str(main.attributes.get("quant_mode", ""))
        if "OnlyShift" not in mode:
            factors = factors * np.asarray(multipliers, np.float64) * (2.0**-31 if "QDM" in mode else 1)
    except (TypeError, ValueError):
        return None
    return np.asarray(factors * (result.scale / first.scale)).reshape(-1, 1)


def _inner(call: Call, place: int, exact: Array, after: Level, target: str) -> float:
    """Largest error of the arithmetic in between: several ops of the later level, each rounding to its own format."""
    kinds = [kind for part in _chain(after, target, call.name) for kind in after.types(part)[1] if kind is not None]
    errors = []
    for kind in kinds:
        if kind.storage in HALF and not kind.is_quantised:
            finite = np.abs(exact[np.isfinite(exact)])
            errors.append(HALF[kind.storage] * rms(finite))
    return _SPREAD * max([*errors, rms(exact[np.isfinite(exact)]) * 2.0**-20])
