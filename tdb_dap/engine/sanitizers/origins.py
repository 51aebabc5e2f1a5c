"""``nan``, ``inf``, ``denormal``: the origin of a special number.

A command is reported if its result holds such a number and none of its operands does. What spreads them is not. A NaN
in a weight has no origin: the first command that takes from the weight is reported.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from tdb_dap.engine.control.observers import Observer, next_of
from tdb_dap.engine.control.stops import Finding
from tdb_dap.engine.hardware.byte_ranges import share_a_byte
from tdb_dap.engine.hardware.dtypes import Array, DType
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Constant, Layout, Operand, View
from tdb_dap.engine.program.program import collected_rows
from tdb_dap.engine.sanitizers.finding_text import title_of
from tdb_dap.engine.sanitizers.float_accesses import FloatAccesses
from tdb_dap.errors import BadAccess, NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.hardware.memory import Memory
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.mlir_file import MlirFile

Test = Callable[[Array, DType], NDArray[np.bool_]]


class Special(Struct, frozen=True):
    """A kind of number."""

    name: str
    title: str
    what: str
    test: Test
    """Finds these numbers among stored words of a format."""
    quick: Callable[[Array, DType], bool] | None = None
    """Whether any of them is one."""

    def occurs(self, words: Array, dtype: DType) -> bool:
        """Whether any of the numbers is one."""
        return self.quick(words, dtype) if self.quick else bool(self.test(words, dtype).any())


def _numbers(words: Array, dtype: DType) -> Array:
    """As floats; without a copy where NumPy has the format."""
    return words.view(dtype.numpy) if dtype.name in ("f32", "f16") else dtype.decode(words)


def _is_nan(words: Array, dtype: DType) -> NDArray[np.bool_]:
    return np.isnan(_numbers(words, dtype))


def _has_nan(words: Array, dtype: DType) -> bool:
    """The same of a whole array, without another one: words above that of infinity, with the sign or without it."""
    infinity = _INFINITIES.get(dtype.name)
    if infinity is None or not words.size:
        return bool(_is_nan(words, dtype).any())
    sign = 1 << (8 * words.itemsize - 1)
    largest = int(words.max())
    if largest < sign:
        return largest > infinity
    signed = words.view(np.int32 if words.itemsize == 4 else np.int16)
    return largest > sign + infinity or int(signed.max()) > infinity


def _is_infinite(words: Array, dtype: DType) -> NDArray[np.bool_]:
    return np.isinf(_numbers(words, dtype))


_INFINITIES = {"f32": 0x7F800000, "f16": 0x7C00, "bf16": 0x7F80}
"""The words of infinity."""

_SMALLEST = {"f32": 2.0**-126, "bf16": 2.0**-126, "f16": 2.0**-14, "f8e5m2": 2.0**-14, "f8e4m3": 2.0**-6}


def _is_subnormal(words: Array, dtype: DType) -> NDArray[np.bool_]:
    numbers = _numbers(words, dtype)
    return (numbers != 0) & (np.abs(numbers) < numbers.dtype.type(_SMALLEST[dtype.name]))


NAN = Special("nan", "Origin of a NaN", "NaN", _is_nan, _has_nan)
INF = Special("inf", "Origin of an infinity", "infinity", _is_infinite)
DENORMAL = Special("denormal", "Origin of a subnormal number", "subnormal number", _is_subnormal)


class Origin(Observer):
    """Looks at the results of each command, and at its operands where these hold something special."""

    looks_back = True

    def __init__(self, special: Special) -> None:
        self._special = special
        self._inherits: tuple[int, bool] = (-1, False)
        self._weights = _Weights(special)
        self._accesses: FloatAccesses | None = None
        self._looks: list[int] | None = None
        self._watches = np.zeros(0, np.int8)
        """The formats of commands of which the result is enough to see, as in ``Watched``."""

    def next_look(self, inspector: Inspector) -> int:
        """Commands with a result of floats, and those that take from a weight with such numbers."""
        if self._looks is None:
            known = self._accesses = FloatAccesses(inspector.program.access_rows, _engines(inspector))
            looks = known.making.copy()
            self._watches = np.zeros(looks.size, np.int8)
            if self._special is NAN:
                takers = list(self._weights.takers(inspector, known))
                self._watches = np.where(looks, known.watched, self._watches)
                self._watches[takers] = 0
                looks &= self._watches == 0
                looks[takers] = True
            self._looks = np.flatnonzero(looks).tolist()
        return next_of(self._looks, inspector.ordinal)

    def watched(self, inspector: Inspector) -> NDArray[np.int8] | None:
        """NaNs in the only results of commands, if operands with floats that these overwrite are the result itself."""
        if self._special is not NAN:
            return None
        self.next_look(inspector)
        return self._watches

    def before_command(self, inspector: Inspector, command: Command) -> None:
        """Operands that the command overwrites can be looked at only now."""
        known = self._known(inspector, command)
        if known is not None:
            own = known.overwritten(command.ordinal)
        else:
            own = [view for view in _floats(command, reads=True) if _is_overwritten(command, view)]
        self._inherits = (command.ordinal, self._any(inspector.memory, own)) if own else (-1, False)

    def after_command(self, inspector: Inspector, command: Command) -> Finding | None:
        memory, known = inspector.memory, self._known(inspector, command)
        if self._special is NAN and (finding := self._weights.taken(inspector, command, known)):
            return finding
        for view in _floats(command, reads=False) if known is None else known.results(command.ordinal):
            if self._has(memory, view):
                break
        else:
            return None
        # As most have it from an operand, this is looked at before the command is described.
        if known is not None and self._any(memory, known.kept(command.ordinal)):
            return None
        if self._inherited(inspector, command):
            return None
        words = memory.read(view)
        special = self._special.test(words, view.dtype).reshape(view.shape)
        count = int(np.count_nonzero(special))
        first = [int(index) for index in np.argwhere(special)[0]]
        text = (
            f"{title_of(command)} makes {count:,} {self._special.what}{'s' if count > 1 else ''} of operands that hold "
            f"none; the first at {first} of %{view.name}"
        )
        return Finding(self._special.name, self._special.title, text, command.ordinal, (command.asm,))

    def after_watched(self, inspector: Inspector, command: Command) -> Finding | None:
        self._inherits = (command.ordinal, False)
        return self.after_command(inspector, command)

    def changed_after(self, inspector: Inspector, moment: int) -> None:
        """An edit may have put such numbers into a weight."""
        self._weights.forget()
        self._looks = None

    def _known(self, inspector: Inspector, command: Command) -> FloatAccesses | None:
        """The accesses of all commands, where those of this one are known without describing it."""
        if self._accesses is None and (rows := collected_rows(inspector.program)) is not None:
            self._accesses = FloatAccesses(rows, _engines(inspector))
        return self._accesses if self._accesses is not None and self._accesses.are_known(command.ordinal) else None

    def _inherited(self, inspector: Inspector, command: Command) -> bool:
        operands = _floats(command, reads=True)
        if any(isinstance(operand, Constant) and self._is(operand) for operand in command.description.reads):
            return True
        if self._any(inspector.memory, [view for view in operands if not _is_overwritten(command, view)]):
            return True
        own = [view for view in operands if _is_overwritten(command, view)]
        if not own:
            return False
        if self._inherits[0] == command.ordinal:
            return self._inherits[1]
        # Time has come from the other side.
        with inspector.machine.excursion():
            inspector.machine.travel(command.ordinal)
            return self._any(inspector.memory, own)

    def _any(self, memory: Memory, views: list[View]) -> bool:
        return any(self._has(memory, view) for view in views)

    def _has(self, memory: Memory, view: View) -> bool:
        try:
            if view.dtype.per_byte > 1 or view.layout is Layout.STREAM:
                return False
            return any(self._special.occurs(piece, view.dtype) for _, piece in memory.pieces(view))
        except BadAccess:
            return False

    def _is(self, constant: Constant) -> bool:
        if not constant.dtype.is_float:
            return False
        word = np.array([constant.bits & ((1 << constant.dtype.bits) - 1)], constant.dtype.bits_dtype)
        return bool(self._special.test(word, constant.dtype).any())


def _engines(inspector: Inspector) -> NDArray[np.int8]:
    return inspector.program.commands.columns.engine


_MERGED = "coeff_merged = true"


class _Weights:
    """Weights of floats, as final.mlir names them, that hold special numbers."""

    def __init__(self, special: Special) -> None:
        self._special = special
        self._starts: list[int] | None = None
        self._views: list[tuple[str, View]] = []
        self._takers: frozenset[int] | None = None
        self._counts: dict[int, int] = {}
        self._reported: dict[int, int] = {}

    def taken(self, inspector: Inspector, command: Command, known: FloatAccesses | None) -> Finding | None:
        """The finding, if a command is the first that takes from a weight with such a number."""
        if known is not None and command.ordinal not in self.takers(inspector, known):
            return None
        if not self._weights(inspector.program) or command.is_system:
            return None
        try:
            reads = command.description.reads
        except NotSimulated:
            return None
        for view in reads:
            if isinstance(view, View) and view.space is Space.GLOBAL:
                starts = self._weights(inspector.program)
                index = bisect_right(starts, view.address) - 1
                if index >= 0 and view.address < starts[index] + self._views[index][1].nbytes:
                    count = self._count(inspector.memory, index)
                    if count and self._reported.setdefault(index, command.ordinal) == command.ordinal:
                        text = (
                            f"{title_of(command)} takes from the weight {self._views[index][0]}, in which "
                            f"{count:,} of {self._views[index][1].size:,} numbers are {self._special.what}"
                        )
                        title = f"A weight holds {self._special.what}"
                        return Finding(self._special.name, title, text, command.ordinal, (command.asm,))
        return None

    def forget(self) -> None:
        """The weights may have changed: each is counted again."""
        self._counts.clear()
        self._takers = None

    def takers(self, inspector: Inspector, known: FloatAccesses) -> frozenset[int]:
        """Ordinals of the commands that read from a weight with such a number."""
        if self._takers is None:
            starts = self._weights(inspector.program)
            special = [number for number in range(len(starts)) if self._count(inspector.memory, number)]
            places = [starts[number] for number in special], [self._views[number][1].nbytes for number in special]
            self._takers = known.reading(*places)
        return self._takers

    def _weights(self, program: Program) -> list[int]:
        """The addresses in DDR at which they begin, ascending."""
        if self._starts is None:
            self._starts = self._collected(program)
        return self._starts

    def _collected(self, program: Program) -> list[int]:
        mlir = program.source.mlir
        names = {n for op in (mlir.ops.values() if mlir else ()) if op.name == "top.Weight" for n in op.locations}
        names -= _merged(mlir) if mlir is not None else set()
        operands: dict[int, tuple[str, View]] = {}
        for record in program.source.records if names else ():
            for value in record.operands:
                view = value.view
                if view is not None and value.name in names and view.space is Space.GLOBAL and view.dtype.is_float:
                    operands.setdefault(view.address, (value.name, view))
        starts = sorted(operands)
        self._views = [operands[start] for start in starts]
        return starts

    def _count(self, memory: Memory, index: int) -> int:
        if index not in self._counts:
            view = self._views[index][1]
            try:
                words = memory.read(view)
                is_there = self._special.occurs(words, view.dtype)
                self._counts[index] = int(np.count_nonzero(self._special.test(words, view.dtype))) if is_there else 0
            except BadAccess:
                self._counts[index] = 0
        return self._counts[index]


def _merged(mlir: MlirFile) -> set[str]:
    """Names of weights that hold several of an op, such as its bias before its filter: no numbers of one format."""
    names: set[str] = set()
    for op in mlir.ops.values():
        if _MERGED not in op.text:
            continue
        for value in op.operands:
            producer = mlir.op_defining(value, op.line)
            if producer is not None and producer.name == "tpu.Load" and producer.operands:
                producer = mlir.op_defining(producer.operands[0], producer.line)
            if producer is not None and producer.name == "top.Weight":
                names.update(producer.locations)
    return names


def _floats(command: Command, reads: bool) -> list[View]:
    """Operands, or results, that hold floats."""
    if command.is_system:
        return []
    try:
        chosen: tuple[Operand, ...] = command.description.reads if reads else command.description.results
    except NotSimulated:
        return []
    return [view for view in chosen if isinstance(view, View) and view.dtype.is_float and view.size]


def _is_overwritten(command: Command, view: View) -> bool:
    """Whether the command writes a byte of its operand."""
    return any(share_a_byte(result, view) for result in command.results)
