"""Whether a level means the same as the one before it, but for the precision of its formats."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.judging import HALF, LOWERED_RATIO, TABLE_RATIO, Judged, judged
from tdb_dap.tools.golden.level import NOT_KNOWN, Level, name_of, names, wide
from tdb_dap.tools.golden.library import LINEAR, Call, NoGolden, compute

_WEIGHT = re.compile(r"[us]*i(\d+)$")
_GROUP = 64

_FACTOR = 2.0**-7
"""Relative error of a factor that is stored in eight bits."""

_PREPARING = ("tpu.Cast", "tpu.Reshape", "tpu.RequantInt", "tpu.RequantIntAxis", "tpu.Concat")
"""Ops that only bring a result into its form, or put the parts of one together."""


def lowered(before: Level, after: Level, tensors: Mapping[str, Array]) -> list[Judged]:
    """Each op of the earlier level on operands of the later one, against what the later one has for its result.

    ``tensors``: what was computed at the later level, by name. Ops whose result or operands have no counterpart there
    are left out.
    """
    found: list[Judged] = []
    for op in before.ops:
        if op.name == "top.Input":
            continue
        for place, name in enumerate(names(op)):
            target = counterpart(after, name, tensors)
            if target is None:
                continue
            judgement = _judge(before, op, place, after, target, tensors)
            if judgement is not None:
                found.append(judgement)
    return found + [one for op in after.ops if (one := _requantised(before, op, after, tensors)) is not None]


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
    inner = float(np.sqrt(np.mean(np.square(exact)))) * _FACTOR
    steps = kind.step(exact)
    return judged(op, name, tensors[name], exact, kind.stored(exact) - exact, steps, inner, LOWERED_RATIO)


def counterpart(after: Level, name: str, tensors: Mapping[str, Array]) -> str | None:
    """The name that a tensor of an earlier level has in a later one: its own, or that of the last of its parts."""
    if name in tensors and name in after.by_name:
        return name
    parts = [op for op in after.ops if any(part.split("__")[0] == name and "__" in part for part in names(op))]
    return next((found for op in reversed(parts) for found in names(op) if found in tensors), None)


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
    actual = wide(tensors[target]).reshape(exact.shape)
    try:
        rough = compute(_at_precision(call, before, op, after, target))[place]
    except NoGolden:
        rough = exact
    if rough.size != exact.size:
        return None  # an op that finds so many results; at this precision others
    for part in reversed(_chain(after, target, call.name)):
        kinds = after.types(part)[1]
        rough = kinds[0].stored(rough) if kinds and kinds[0] is not None else rough
    inner = _inner(call, place, exact, after, target)
    is_table = later.name == "tpu.Lut"  # what it holds has been computed exactly
    limit = TABLE_RATIO if is_table else LOWERED_RATIO
    within = next((k for part in _chain(after, target, call.name) for k in after.types(part)[1] if k), kind).clipped(
        exact
    )
    with np.errstate(all="ignore"):
        cost = rough - exact
    found = judged(later, target, actual, exact, cost, kind.step(exact), inner, limit)
    if later.name == "tpu.Concat" and found.worst and not call.name.endswith(".Concat"):
        piece = _part(after, later, found.worst)
        found = found if piece is None else replace(found, op=piece, name=names(piece)[0])
    beyond = within != exact
    return replace(found, saturated=float(beyond.mean()) if exact.size else 0.0)


def _part(after: Level, op: MlirOp, place: tuple[int, ...]) -> MlirOp | None:
    """The op that computes the part of a concatenation in which an index lies."""
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
    found: list[MlirOp] = []
    while op is not None and len(found) < 8:
        found.append(op)
        if op.name not in _PREPARING or op.name.split(".")[1] == opcode.split(".")[1]:
            break
        values = [value for value in op.operands if after.mlir.op_defining(value, op.line) is not None]
        producer = after.mlir.op_defining(values[0], op.line) if values else None
        op = producer if producer is not None and producer.name.startswith("tpu.") else None
    return found


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
    whole = _WEIGHT.match(kind.storage)
    if whole is None or place != 1 or call.name not in LINEAR:
        return array
    bits = int(main.attributes.get("weight_bits", 8))
    greatest = 2.0 ** (bits - 1) - 1
    if "OnlyShift" in str(main.attributes.get("quant_mode", "")):
        greatest /= 2  # scales are powers of two, in the worst case twice as large as need be
    if main.name == "tpu.A16MatMul" and bits == 4:
        rows = np.swapaxes(array, -1, -2)
        groups = rows.reshape(-1, min(_GROUP, rows.shape[-1])) if rows.size % _GROUP == 0 else rows.reshape(1, -1)
        scale = np.abs(groups).max(axis=1, keepdims=True) / greatest
        found = np.rint(groups / np.where(scale > 0, scale, 1)) * scale
        return np.swapaxes(found.reshape(rows.shape), -1, -2)
    is_matrix = call.name.endswith("MatMul")
    rows = array.reshape(1, -1) if is_matrix else array.reshape(array.shape[0], -1)
    scale = np.abs(rows).max(axis=1, keepdims=True) / greatest
    return (np.rint(rows / np.where(scale > 0, scale, 1)) * scale).reshape(array.shape)


def _inner(call: Call, place: int, exact: Array, after: Level, target: str) -> float:
    """Typical error of the arithmetic in between: several ops of the later level, each rounding to its own format."""
    kinds = [kind for part in _chain(after, target, call.name) for kind in after.types(part)[1] if kind is not None]
    errors = []
    for kind in kinds:
        if kind.storage in HALF and not kind.is_quantised:
            finite = np.abs(exact[np.isfinite(exact)])
            errors.append(HALF[kind.storage] * float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0)
    reach = float(np.sqrt(np.mean(np.square(exact[np.isfinite(exact)])))) if np.isfinite(exact).any() else 0.0
    return max([*errors, reach * 2.0**-20])
