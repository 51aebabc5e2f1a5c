"""Comparing every operand and result of a whole run with the reference.

Two ways: in a *cascade* each op gets what the ops before it have computed, as on the chip; *standalone* each op gets
the reference's numbers, so that an error shows at the op that makes it and nowhere else.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Literal
from weakref import WeakValueDictionary

import numpy as np

from tdb_dap.engine.compare.assembly import Assembly, Whole
from tdb_dap.engine.compare.finding import Checked, Reason, Role
from tdb_dap.engine.compare.judging import Gathered, misfit
from tdb_dap.engine.compare.segments import put
from tdb_dap.engine.control.observers import Observer, next_of
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.reference.reference import Reference, numbers_from, words_of
from tdb_dap.engine.source.mapped_tensor import MappedTensor, layer_names
from tdb_dap.engine.source.op_records import is_doubtful

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.commands.net_tensors import Tensor
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.program.program import Subnet
    from tdb_dap.engine.source.source_map import OpRecord

Mode = Literal["cascade", "standalone"]
Key = tuple[int, Role, int, str]
_CLOSE = 1e-3
_CLOSE_ABSOLUTE = 1e-8
_FEW = 1 << 14
_AT_ONCE = 1 << 15
"""Elements to compare at once: they fit the processor's caches."""
_SOME = 16
"""Stride of the elements to compare before all others."""


_FROM_REFERENCE = "not computed: its dynamic subnet was not run, and the numbers are the reference's"
_SUBNETS = ("cpu", "dynamic")
"""Engines whose one command stands for a subnet; copies of the host and what is not decoded are only parts of one."""


class Walk(Observer):
    """Looks at the tensors of each op as the program runs, and hands out each of them when it is whole.

    ``found``: receives the tensors, not judged yet, in the order in which they are complete. A result is looked at
    after the last command of each of its op's instances (slice, core), an operand before the first one; one that is not
    there yet then (an op may load part of it itself) again after the last. ``ordinals``: the part of the program that
    runs, [start, stop). ``wanted``: the keys of the tensors that are looked at, None: all; the net's borders always
    are.
    """

    def __init__(
        self,
        mode: Mode,
        take: Callable[[Gathered], None],
        ordinals: tuple[int, int] = (0, sys.maxsize),
        wanted: Collection[Key] | None = None,
    ) -> None:
        self._wanted = wanted
        self._mode = mode
        self._found = take
        self._ordinals = ordinals
        self._left: dict[Key, int] | None = None
        self._parts: dict[Hashable, int] = {}
        self._open: dict[Key, Assembly] = {}
        self._made: WeakValueDictionary[str, Assembly] = WeakValueDictionary()
        """By name what was put together last as a result, as long as it is there."""
        self._firsts: dict[Key, int] = {}
        self._late: dict[tuple[int, int], Array] = {}
        self._said: set[str] = set()
        self._doubtful: set[Key] = set()
        self._looks: list[int] | None = None

    def next_look(self, inspector: Inspector) -> int:
        """The first and the last command of each op, and what is not made of commands."""
        if self._looks is None:
            without = np.flatnonzero(inspector.program.commands.columns.kind < 0)
            self._looks = sorted({*inspector.program.source.borders, *without.tolist()})
        return next_of(self._looks, inspector.ordinal)

    def before_op(self, inspector: Inspector, record: OpRecord) -> None:
        for index, value in enumerate(record.operands):
            if not self._is_wanted(record, "operand", index, value):
                continue
            if _is_elsewhere(inspector, value):
                self._take(inspector, record, "operand", index, value, None)
                continue
            expected = self._expected(inspector, value)
            words = None if expected is None else words_of(inspector.machine, value)
            if words is None or expected is None or _is_close(_shaped(value, words, expected), expected):
                self._take(inspector, record, "operand", index, value, words)
            else:
                self._late[record.index, index] = words

    def after_op(self, inspector: Inspector, record: OpRecord) -> None:
        for index, value in enumerate(record.operands):
            early = self._late.pop((record.index, index), None)
            if early is not None:
                late = words_of(inspector.machine, value)
                better = early if late is None else self._nearer(inspector, value, early, late)
                self._take(inspector, record, "operand", index, value, better)
        for index, value in enumerate(record.results):
            if self._is_last_part(inspector, record, value):
                if self._is_wanted(record, "result", index, value):
                    words = words_of(inspector.machine, value) if _has_expected(inspector, value) else None
                    self._take(inspector, record, "result", index, value, words)
                self._said.add(value.name)
                if self._mode == "standalone":
                    self._put_right(inspector, value)

    def before_command(self, inspector: Inspector, command: Command) -> None:
        """Inputs of subnets that are not made of commands, which no record describes."""
        if command.engine in _SUBNETS:
            tensors = dict(enumerate(_subnet(inspector, command).inputs))
            self._borders(inspector, tensors, "operand", command.name, command.ordinal)

    def after_command(self, inspector: Inspector, command: Command) -> None:
        """Their outputs."""
        if command.engine in _SUBNETS:
            tensors = dict(enumerate(_subnet(inspector, command).outputs))
            self._borders(inspector, tensors, "output", command.name, command.ordinal)

    def finished(self, inspector: Inspector) -> None:
        """The net's outputs as a reader gets them; not again those that are unchanged since their op."""
        outputs = inspector.program.outputs
        self._said -= {tensor.name for tensor in outputs if not self._is_settled(inspector, tensor)}
        self._borders(inspector, dict(enumerate(outputs)), "output", "output", inspector.ordinal - 1)

    def _is_settled(self, inspector: Inspector, tensor: Tensor) -> bool:
        """Whether an op that was compared left its result at the output, and no command has written there since."""
        place = ByteRanges.of(tensor.view)
        made = [
            (record.last, value)
            for record in self._records(inspector)
            for value in record.results
            if value.name == tensor.name and value.view is not None
        ]
        if not all(value.view is not None and ByteRanges.of(value.view).overlaps(place) for _, value in made):
            return False
        last = max((last for last, _ in made), default=None)
        if last is None or tensor.name not in self._said:
            return False
        later = inspector.program.accesses.touching(place, reads=False, writes=True, start=last + 1)
        return next(later, None) is None

    def _borders(
        self, inspector: Inspector, tensors: Mapping[int, Tensor], role: Role, opcode: str, ordinal: int
    ) -> None:
        """``tensors``: by their number."""
        reference = inspector.reference
        for index, tensor in tensors.items():
            shape = reference.shape(tensor.name) if reference is not None else None
            if reference is None or shape is None or tensor.name in self._said:
                continue
            self._said.add(tensor.name)
            dtype = tensor.dtype
            actual = tensor.raise_(inspector.memory.read(tensor.view)).astype(np.float32)
            made = partial(Checked, 0, opcode, tensor.name, role, index, dtype.name, ordinal, ordinal)
            if reference.tolerances.excepts(tensor.name) or tensor.name in inspector.excepted:
                self._found(Gathered(made("excepted")))
            elif inspector.machine.expected.get(tensor.name):
                self._found(Gathered(made("unknown", "from the reference", _FROM_REFERENCE)))
            elif actual.size != math.prod(shape):
                self._found(Gathered(made("unknown", "other size", misfit(shape, actual.shape))))
            else:
                numbers = Whole(actual.reshape(shape), None)
                self._found(Gathered(made("unknown"), numbers, dtype, abs(tensor.scale) or 1.0, tensor.shape))

    def _is_wanted(self, record: OpRecord, role: Role, index: int, value: MappedTensor) -> bool:
        return self._wanted is None or (record.line, role, index, value.name) in self._wanted

    def _expected(self, inspector: Inspector, value: MappedTensor) -> Array | None:
        """Numbers that a value should hold, where they can be compared."""
        expected = inspector.reference.expected(value) if inspector.reference is not None else None
        is_fitting = expected is not None and value.view is not None and value.view.size == expected.size
        return expected if is_fitting else None

    def _nearer(self, inspector: Inspector, value: MappedTensor, early: Array, late: Array) -> Array:
        """Of the words of an operand before and after its op those that are nearer to what they should be."""
        if np.array_equal(early, late) or (expected := self._expected(inspector, value)) is None:
            return early
        distances = [_distance(_shaped(value, words, expected), expected) for words in (late, early)]
        return late if distances[0] < distances[1] else early

    def _take(
        self, inspector: Inspector, record: OpRecord, role: Role, index: int, value: MappedTensor, words: Array | None
    ) -> None:
        """Look at the stored words of a value."""
        key: Key = (record.line, role, index, value.name)
        self._firsts.setdefault(key, record.first)
        if is_doubtful(record, value):
            self._doubtful.add(key)
        elif words is not None:
            assert inspector.reference is not None
            if key not in self._open:
                source = self._made.get(value.name) if role == "operand" else None
                self._open[key] = _assembly(inspector.reference, value, source)
            if role == "result":
                self._made[value.name] = self._open[key]
            self._open[key].add(value, words)
        if self._count_down(inspector, key):
            self._found(self._gathered(inspector, record, key, value))

    def _gathered(self, inspector: Inspector, record: OpRecord, key: Key, value: MappedTensor) -> Gathered:
        line, role, index, name = key
        dtype = value.view.dtype if value.view else None
        first = self._firsts.pop(key)
        made = partial(Checked, line, record.opcode, name, role, index, dtype.name if dtype else "", first, record.last)
        assembly = self._open.pop(key, None)
        reference = inspector.reference
        if reference is not None and (reference.tolerances.excepts(name) or name in inspector.excepted):
            return Gathered(made("excepted"))
        if key in self._doubtful and reference is not None and reference.shape(name) is not None:
            return Gathered(made("unknown", "not certain", "which commands compute which part of it is not certain"))
        if inspector.machine.expected.get(name):
            return Gathered(made("unknown", "from the reference", _FROM_REFERENCE))
        if assembly is None or reference is None:
            return Gathered(made("unknown", *_reason(inspector, value)))
        checked = made("unknown", pieces=assembly.pieces, covered=assembly.covered)
        return Gathered(checked, assembly.whole, dtype, abs(value.scale), value.whole_shape)

    def _put_right(self, inspector: Inspector, value: MappedTensor) -> None:
        """The reference's numbers in the place of what was computed, for the ops that read it."""
        if _is_elsewhere(inspector, value):
            return
        if inspector.reference is not None and put(inspector.machine, inspector.reference, value):
            inspector.machine.backend.edited()

    # How often each tensor is looked at

    def _count_down(self, inspector: Inspector, key: Key) -> bool:
        """Whether this was the last look at a tensor."""
        self._prepare(inspector)
        assert self._left is not None
        self._left[key] -= 1
        return self._left[key] == 0

    def _is_last_part(self, inspector: Inspector, record: OpRecord, value: MappedTensor) -> bool:
        """Of the same part written by several cores, only the last writer makes it whole."""
        self._prepare(inspector)
        return self._parts[_part(record, value)] == record.index

    def _prepare(self, inspector: Inspector) -> None:
        if self._left is not None:
            return
        self._left = {}
        for record in sorted(self._records(inspector), key=lambda r: r.last):
            for value in record.results:
                self._parts[_part(record, value)] = record.index
        for record in self._records(inspector):
            for role, index, value in _looks(record):
                if role == "operand" or self._parts[_part(record, value)] == record.index:
                    key: Key = (record.line, role, index, value.name)
                    self._left[key] = self._left.get(key, 0) + 1

    def _records(self, inspector: Inspector) -> list[OpRecord]:
        """The op instances that run: none is cut in two."""
        start, stop = self._ordinals
        records = inspector.program.source.records
        return [record for record in records if record.ordinals and start <= record.first < stop]


def _is_elsewhere(inspector: Inspector, value: MappedTensor) -> bool:
    """Whether a recorded run has never written a tensor: the chip's processor holds shapes in separate memory."""
    if not inspector.program.verifies or value.view is None or not value.view.space.is_shared:
        return False
    return inspector.machine.accesses.last_writer(ByteRanges.of(value.view), inspector.ordinal) is None


def _subnet(inspector: Inspector, command: Command) -> Subnet:
    return next(s for s in inspector.program.subnets if s.id == command.subnet)


def _looks(record: OpRecord) -> Iterator[tuple[Role, int, MappedTensor]]:
    for index, value in enumerate(record.operands):
        yield "operand", index, value
    for index, value in enumerate(record.results):
        yield "result", index, value


def _part(record: OpRecord, value: MappedTensor) -> Hashable:
    """Records with the same answer write parts of the same tensor in the same place, one per core."""
    if value.view is None or not value.view.space.is_shared:
        return record.index
    return record.line, value.name, value.slice_text, value.address


def _has_expected(inspector: Inspector, value: MappedTensor) -> bool:
    return inspector.reference is not None and inspector.reference.fits(value)


def _assembly(reference: Reference, value: MappedTensor, source: Assembly | None) -> Assembly:
    name, shape = value.name, reference.shape(value.name)
    assert shape is not None
    return Assembly(shape, partial(_whole, reference, name, value.whole_shape, shape), source)


def _whole(reference: Reference, name: str, shape: tuple[int, ...], own: tuple[int, ...]) -> Array:
    """The reference's numbers in the model's order of axes, listed in a shape of the reference's."""
    array = reference.whole(name, shape)
    assert array is not None
    return array.reshape(own)


def _shaped(value: MappedTensor, words: Array, expected: Array) -> Array:
    return numbers_from(value, words).reshape(expected.shape)


def _distance(actual: Array, expected: Array) -> float:
    with np.errstate(all="ignore"):
        off = np.abs(actual - expected)
        off[(actual == expected) | (np.isnan(actual) & np.isnan(expected))] = 0
    return float(np.where(np.isfinite(off), off, np.inf).sum(dtype=np.float64))


def _is_close(actual: Array, expected: Array) -> bool:
    if actual.size > _FEW:  # what is wrong is wrong in many places: a part of them tells
        axis = int(np.argmax(actual.shape))
        some = (slice(None),) * axis + (slice(None, None, _SOME),)
        if not _is_close(actual[some], expected[some]):
            return False
    one, other = actual.reshape(-1), expected.reshape(-1)
    return all(_are_close(one[i : i + _AT_ONCE], other[i : i + _AT_ONCE]) for i in range(0, one.size, _AT_ONCE))


def _are_close(actual: Array, expected: Array) -> bool:
    with np.errstate(all="ignore"):
        bound = np.abs(expected)
        bound *= np.float32(_CLOSE)
        bound += np.float32(_CLOSE_ABSOLUTE)
        off = np.subtract(actual, expected)
        np.abs(off, out=off)
        if np.isfinite(bound.max(initial=0.0)) and (off <= bound).all():
            return True
    return bool(np.allclose(actual, expected, rtol=_CLOSE, atol=_CLOSE_ABSOLUTE, equal_nan=True))


def _reason(inspector: Inspector, value: MappedTensor) -> tuple[Reason, str]:
    """Why a tensor could not be compared, in general and for this one."""
    reference = inspector.reference
    shape = reference.shape(value.name) if reference is not None else None
    if shape is None:
        is_ambiguous = reference is not None and not reference.ambiguous.isdisjoint(layer_names(value.name))
        note = "several results of its op have this name" if is_ambiguous else "not in the reference"
        return _kind(inspector, value), note
    if value.rearranged:
        return "rearranged", "stored with its channels spread for the convolution after it"
    if value.view is None:
        return "unknown layout", f"layout {value.layout} is not described"
    if _is_elsewhere(inspector, value):
        return "not in memory", "the recorded run has written it to no memory of the chip"
    if value.element_type is None:
        return "unknown type", f"the type {value.type_text} is not known"
    return "other size", misfit(shape, value.reshape or value.shape)


def _kind(inspector: Inspector, value: MappedTensor) -> Reason:
    """Kind of a tensor that the reference has no name for: it holds what ops compute, not what is moved to them."""
    mlir = inspector.program.source.mlir
    known = mlir.by_location if mlir is not None else {}
    made_by = {op.name for name in layer_names(value.name) for op in known.get(name, ())}
    if "top.Weight" in made_by:
        return "weight"
    return "load or store" if made_by and made_by <= {"tpu.Load", "tpu.Store"} else "no such name"
