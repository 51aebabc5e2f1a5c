"""The same model with inputs that differ in the last place: what each op makes of it, and what it must make of it.

No reference is needed. The difference of two exact results on the operands of the two runs is the condition of the op;
what the chip's results differ otherwise is rounding, or an op that is not stable, or one that computes something else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from tdb_dap.engine.compare.recording import record
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.machine.input_data import load_inputs
from tdb_dap.engine.machine.npz import write_npz
from tdb_dap.engine.source.mlir_file import MlirOp
from tdb_dap.errors import BadInput, NotSimulated
from tdb_dap.system.notices import picked_up
from tdb_dap.system.scratch import scratch_directory
from tdb_dap.tools.golden.bounds import spread
from tdb_dap.tools.golden.formats import TensorType
from tdb_dap.tools.golden.level import Level, names
from tdb_dap.tools.golden.library import Call, NoGolden, compute
from tdb_dap.tools.golden.reference import numbers, text_of
from tdb_dap.tools.opening import open_debugger
from tdb_dap.tools.perturb.schema import Amplified, Perturbed, Verdict
from tdb_dap.tools.programs import is_dynamic, open_program
from tdb_dap.version import __version__

_LIMIT = 2.0
"""Excess over the roundings of both runs from which on it is not rounding: each may go to the other neighbour."""

_GAIN = 0.1
"""Difference from 1 of the part of the exact movement that an op has, from which on it computes something else ..."""

_SURE = 8.0
"""... if it is so many times what roundings give."""

_SHARE = 0.1
"""Share of the elements of a quantised input that move; all of them in one direction would be another input."""

_NARROW = ("f16", "bf16")

Opened = tuple[Path, "str | None", "int | None"]
"""Context, net and stage."""


def perturbed(
    context: Path,
    inputs: Path | None,
    runs: int,
    net: str | None = None,
    stage: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> Perturbed:
    """Run a model as it is and with ``runs`` perturbations; BadInput, NotSimulated if that cannot be done."""
    program = open_program(context, net, stage, inputs=inputs)
    if is_dynamic(program):
        raise NotSimulated(f"{context}: its dynamic subnets make their commands while they run; perturb needs static")
    data = inputs or program.context.inputs
    if data is None:
        raise BadInput(f"{context}: perturb needs --inputs X.npz: zeros have no last place")
    picked_up(inputs=data if inputs is None else None)
    source = text_of(context)
    level = Level(source.stem, source)
    given = numbers(load_inputs(data, program.inputs), program.inputs)
    lacking = [name for name in level.inputs() if name not in given]
    if lacking:
        raise BadInput(f"{source}: its inputs are {', '.join(lacking)}; {data} has {', '.join(given) or 'none'}")
    plain = _run((context, net, stage), given)
    progress(1)
    worst: dict[str, Amplified] = {}
    for seed in range(runs):
        moved = {name: _moved(level, name, array, seed) for name, array in given.items()}
        for row in _rows(level, {**given, **plain}, {**moved, **_run((context, net, stage), moved)}):
            if row.name not in worst or _order(row) < _order(worst[row.name]):
                worst[row.name] = row
        progress(2 + seed)
    judged = {name for op in level.ops if op.name != "top.Input" for name in names(op) if name in plain}
    return Perturbed(
        tool=f"tdb-dap {__version__}",
        model=str(context),
        chip=program.chip,
        source=str(source),
        runs=runs,
        still=len(judged - worst.keys()),
        rows=tuple(sorted(worst.values(), key=_order)),
    )


def _order(row: Amplified) -> tuple[bool, float, float]:
    return row.verdict != "beyond", -row.ratio, -row.amplification


def _run(opened: Opened, inputs: Mapping[str, Array]) -> dict[str, Array]:
    """All tensors of a run, float64."""
    context, net, stage = opened
    with scratch_directory() as folder:
        data = folder / "inputs.npz"
        write_npz(data, {name: np.asarray(array, np.float32) for name, array in inputs.items()})
        debugger = open_debugger(context, data, history_limit=0, net=net, stage=stage)
    try:
        return {name: np.asarray(array, np.float64) for name, array in record(debugger).items()}
    finally:
        debugger.close()


def _moved(level: Level, name: str, array: Array, seed: int) -> Array:
    """An input, each element (of a quantised one: some) one unit in the last place up or down.

    The unit is that of the narrowest format in which the model takes it: less would be rounded away.
    """
    random = np.random.default_rng(seed)
    array = np.asarray(array, np.float64)
    kinds = _taken_as(level, name)
    if any(kind.limits is not None and not kind.is_quantised for kind in kinds):
        return array  # an index has no last place
    quantised = [kind for kind in kinds if kind.is_quantised]
    direction = random.choice((-1.0, 1.0), array.shape)
    if quantised:
        unit = np.full(array.shape, max(kind.scale for kind in quantised))
        direction = np.where(random.random(array.shape) < _SHARE, direction, 0.0)
    else:
        narrow = [kind.step(array) for kind in kinds if kind.storage in _NARROW]
        unit = np.maximum.reduce(narrow) if narrow else TensorType(None, "f32").step(array)
    return array + direction * unit


def _taken_as(level: Level, name: str) -> list[TensorType]:
    """Formats in which a model takes an input: its own and, where it is only cast, that of the casts."""
    own = level.type_named(name)
    readers = [op for op in level.ops if name in level.operand_names(op)]
    cast = [kinds[0] for op in readers if op.name == "tpu.Cast" and (kinds := level.types(op)[1])]
    if readers and len(cast) == len(readers):
        return [kind for kind in cast if kind is not None]
    return [own] if own is not None else []


def _rows(level: Level, plain: Mapping[str, Array], moved: Mapping[str, Array]) -> Iterator[Amplified]:
    for op in level.ops:
        if op.name == "top.Input" or not any(name in plain and name in moved for name in names(op)):
            continue
        inside = _moved_in(level, op, plain, moved)
        if not inside:
            continue
        try:
            calls = level.call(op, plain), level.call(op, moved)
            exact = compute(calls[0]), compute(calls[1])
        except NoGolden as reason:
            for name in names(op):
                if name in plain:
                    yield _row(op, name, "unknown", inside, plain, moved, str(reason))
            continue
        for place, name in enumerate(names(op)):
            if name in plain and name in moved and place < len(exact[0]):
                yield _judged(op, place, calls, (exact[0][place], exact[1][place]), inside, plain, moved)


def _moved_in(level: Level, op: MlirOp, plain: Mapping[str, Array], moved: Mapping[str, Array]) -> float:
    """Relative difference of the operand that has moved most."""
    differences = [0.0]
    for name in level.operand_names(op):
        if name in plain and name in moved and np.size(plain[name]) == np.size(moved[name]):
            differences.append(_relative(np.ravel(plain[name]), np.ravel(moved[name])))
    return max(differences)


def _row(
    op: MlirOp,
    name: str,
    verdict: Verdict,
    inside: float,
    plain: Mapping[str, Array],
    moved: Mapping[str, Array],
    reason: str = "",
    **more: float,
) -> Amplified:
    outside = _relative(np.ravel(plain[name]), np.ravel(moved[name]))
    return Amplified(
        name=name,
        opcode=op.name,
        line=op.line,
        verdict=verdict,
        moved_in=inside,
        moved_out=outside,
        reason=reason,
        **more,
    )


def _judged(
    op: MlirOp,
    place: int,
    calls: tuple[Call, Call],
    exact: tuple[Array, Array],
    inside: float,
    plain: Mapping[str, Array],
    moved: Mapping[str, Array],
) -> Amplified:
    name = names(op)[place]
    kind = calls[0].result_types[place] if place < len(calls[0].result_types) else None
    if kind is None or any(one.size != np.size(plain[name]) for one in (*exact, moved[name])):
        return _row(op, name, "unknown", inside, plain, moved, "no type, or another size")
    mode = str(calls[0].get("round_mode", "HalfAwayFromZero"))
    with np.errstate(all="ignore"):
        must = exact[1] - exact[0]
        has = np.reshape(moved[name], must.shape) - np.reshape(plain[name], must.shape)
        other = has - must
        roundings = [_rms(kind.stored(one, mode) - one) for one in exact]
    inner = [spread(call, place, one, kind) for call, one in zip(calls, exact, strict=True)]
    rounding = math.hypot(*roundings, *inner)
    excess = _rms(other)
    gain = _gain(has, must)
    is_beyond = excess > _LIMIT * rounding * (1 + 1 / math.sqrt(max(1, must.size)))
    # Roundings have no direction: what they add along the exact difference is one of them, whatever the size.
    along = abs(gain - 1) * _rms(must) * math.sqrt(must.size)
    is_beyond |= abs(gain - 1) > _GAIN and along > _SURE * rounding
    return _row(
        op,
        name,
        "beyond" if is_beyond else "within",
        inside,
        plain,
        moved,
        must=_relative(np.ravel(exact[0]), np.ravel(exact[1])),
        gain=gain,
        excess=excess,
        rounding=rounding,
    )


def _gain(has: Array, must: Array) -> float:
    """Part of the exact difference that a difference holds: 1 where the op does what it must."""
    with np.errstate(all="ignore"):
        usable = np.isfinite(has) & np.isfinite(must)
        square = float(np.square(must[usable]).sum())
        return float((has[usable] * must[usable]).sum()) / square if square else 1.0


def _relative(one: Array, other: Array) -> float:
    with np.errstate(all="ignore"):
        usable = np.isfinite(one) & np.isfinite(other)
        reach = _rms(one[usable])
        difference = _rms(other[usable] - one[usable])
    return difference / reach if reach else (math.inf if difference else 0.0)


def _rms(array: Array) -> float:
    finite = array[np.isfinite(array)]
    return float(np.sqrt(np.mean(np.square(finite)))) if finite.size else 0.0
