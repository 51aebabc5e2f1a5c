"""The vendor debugger's data check, verdict for verdict: when it compares, and what it calls good.

For users who have lists of its verdicts. It hides errors (infinities count as 10000 and NaN as 0, one bad channel of
many passes) and finds some that are none (a result of several cores is judged before the last core has written its
part), so it is never the default.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.commands.commands import ENGINES
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.reference.tolerance import Tolerance
from tdb_dap.engine.source.mapped_tensor import MappedTensor
from tdb_dap.engine.source.op_records import stream_of

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.source_map import OpRecord

_INFINITY = 10000.0


class Judgement(Struct, frozen=True):
    """``state``: Pass, Fail or Unknown; ``kind``: EQUAL, CLOSE, SIMILAR, NOT_SIMILAR or NOT_MATCH; its metrics."""

    state: str
    kind: str = ""
    close_order: int | None = None
    cosine: float | None = None
    euclidean: float | None = None
    sqnr: float | None = None


class Point(Struct, frozen=True):
    """A value that the vendor compares, and the ordinal before (operand) or after which it does so."""

    record: OpRecord
    value: MappedTensor
    index: int
    """Place in the record's list."""
    is_operand: bool
    ordinal: int
    core: int
    """Whose memory it looks into, that of the command there."""


def judge(actual: Array, expected: Array, tolerance: Tolerance) -> Judgement:
    """The vendor's verdict on two arrays; ``actual`` is taken in the shape of ``expected``."""
    if actual.size != expected.size:
        return Judgement("Fail", "NOT_MATCH")
    a, b = actual.reshape(-1), expected.reshape(-1)
    with np.errstate(all="ignore"):
        if np.array_equal(a, b):
            return Judgement("Pass", "EQUAL")
        for order in (5, 4, 3):
            if np.allclose(a, b, rtol=10.0**-order, atol=1e-8, equal_nan=True):
                return Judgement("Pass", "CLOSE", close_order=order)
        a, b = _tamed(a), _tamed(b)
        cosine = _cosine(a, b)
        error, middle = _norm(a - b), _norm((a + b) / 2) + 1e-7
        euclidean = 0.0 if math.isinf(error) or math.isinf(middle) else 1 - error / middle
        passes = cosine > tolerance.cosine and euclidean > tolerance.euclidean
    return Judgement(
        "Pass" if passes else "Fail",
        "SIMILAR" if passes else "NOT_SIMILAR",
        cosine=cosine,
        euclidean=euclidean,
        sqnr=_sqnr(a, b),
    )


def _tamed(array: Array) -> Array:
    return np.nan_to_num(array, nan=0.0, posinf=_INFINITY, neginf=-_INFINITY)


def _norm(array: Array) -> float:
    return math.sqrt(float(np.square(array).sum()))


def _cosine(a: Array, b: Array) -> float:
    if not a.any() or not b.any():
        return 0.0
    a, b = a.astype(np.float32), b.astype(np.float32)
    return float(np.dot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b)))


def _sqnr(raw: Array, other: Array) -> float:
    noise = raw - other
    signal_power = float(np.square(raw - raw.mean()).sum())
    noise_power = float(np.square(noise - noise.mean()).sum())
    return 10 * math.log10(signal_power / noise_power) if signal_power and noise_power else math.inf


def points(program: Program) -> dict[int, list[Point]]:
    """Everything that the vendor compares: operands under the ordinal before, results under the one after.

    It looks at the operands of a record when all that was emitted earlier on the same core has been executed, and at
    the results when both engines have reached the counters at the record's end; and only where the command at that
    point belongs to a record at all.
    """
    columns = program.commands.columns
    ids = [info.id for info in program.stage.subnets]
    streams: dict[tuple[int, int, int], Array] = {}

    def after(record: OpRecord, counters: tuple[int, int]) -> int:
        """Number of commands executed when the record's core has reached both counters; 0 at its start."""
        count = 0
        for counter, engine in zip(counters, ("tiu", "dma"), strict=True):
            key = (record.subnet, record.core, ENGINES.index(engine))
            if key not in streams:
                streams[key] = stream_of(columns, ids, *key)
            if counter > 0:
                count = max(count, int(streams[key][counter - 1]) + 1)
        return count

    before: dict[int, list[Point]] = defaultdict(list)
    last = 0
    for record in program.source.records:
        if record.raw.before == record.raw.after:
            continue
        start = max(after(record, record.raw.before), last)
        stop = last = after(record, record.raw.after)
        for is_operand, ordinal in ((True, start), (False, stop - 1)):
            if ordinal >= len(program.commands) or not program.source.records_of(ordinal):
                continue
            core = program.commands[ordinal].core
            for index, value in _values(record, is_operand):
                where = ordinal if is_operand else stop
                before[where].append(Point(record, value, index, is_operand, where, core))
    return before


def _values(record: OpRecord, is_operand: bool) -> Iterator[tuple[int, MappedTensor]]:
    """Values with their place in the record's list, in which absent ones have one, too."""
    entries = record.raw.list_of("operands" if is_operand else "results")
    values = iter(record.operands if is_operand else record.results)
    for index, entry in enumerate(entries):
        if entry:
            yield index, next(values)


def check(debugger: Debugger, tolerance: Tolerance | None = None) -> Iterator[tuple[Point, Judgement]]:
    """Run a debugger from where it is to the end, comparing as the vendor does; stops where the simulator does."""
    limits = tolerance or Tolerance()
    wanted = points(debugger.program)
    for ordinal in range(debugger.ordinal, len(debugger.program.commands) + 1):
        for point in sorted(wanted.get(ordinal, ()), key=lambda p: p.is_operand):
            yield point, _compared(debugger, point, limits)
        if ordinal < len(debugger.program.commands):
            debugger.machine.step()


def _compared(debugger: Debugger, point: Point, tolerance: Tolerance) -> Judgement:
    value, reference = point.value, debugger.reference
    reference_value = reference.named(value.name, value.name.removeprefix("load_")) if reference is not None else None
    if reference_value is None or value.view is None:
        return Judgement("Unknown")
    expected = value.expected(reference_value)
    stored = debugger.machine.read(_on_core(value.view, point.core)).astype(np.float32)
    return judge((stored - np.float32(value.zero_point)) * np.float32(value.scale), expected, tolerance)


def _on_core(view: View, core: int) -> View:
    return view if view.core == core else replace(view, core=core)
