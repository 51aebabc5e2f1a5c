"""Every tensor that ops compute, put together from its slices and cores, at the moment at which it is complete."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.questions.passes import Pass, Progress, ignore
from tdb_dap.engine.questions.tracing import Place
from tdb_dap.engine.reference.reference import numbers_of
from tdb_dap.engine.source.mapped_tensor import MappedTensor, shape_of
from tdb_dap.errors import TdbError

if TYPE_CHECKING:
    from tdb_dap.engine.control.inspector import Inspector
    from tdb_dap.engine.source.op_records import OpRecord

_Key = tuple[str, str, int]


class WholeTensor(Struct, frozen=True):
    """``numbers``: real numbers in the shape of the whole tensor, None where they cannot be read, and ``why`` not;
    ``place``: of the op that has completed it; ``parts``: instances (slices, cores) that it comes from.
    """

    name: str
    place: Place
    numbers: Array | None
    parts: int
    why: str = ""


class WholeTensors:
    """The results of a run. ``stopped``: why it ended early."""

    def __init__(self, inspector: Inspector, progress: Progress = ignore) -> None:
        self._inspector = inspector
        self._going = Pass(inspector, progress)
        self._left: Counter[_Key] = Counter()
        self._open: dict[_Key, _Parts] = {}

    @property
    def stopped(self) -> str:
        return self._going.stopped

    def walk(self) -> Iterator[WholeTensor]:
        """Each tensor once per launch, in the order in which they are complete. Without ops: each command's results."""
        source = self._inspector.program.source
        ending: dict[int, list[OpRecord]] = defaultdict(list)
        for record in source.records:
            if record.ordinals:
                ending[record.last + 1].append(record)
                self._left.update(self._key(record, value) for value in record.results)
        with self._going.beside():
            if not ending:
                yield from self._of_commands()
                return
            for moment in self._going.moments(sorted(ending)):
                with self._going.as_left():
                    for record in ending[moment]:
                        if not self._inspector.machine.passes_over(record.last):
                            yield from self._ended(record, moment)

    def _key(self, record: OpRecord, value: MappedTensor) -> _Key:
        program = self._inspector.program
        launch = program.launch_at(record.first) if program.launches else None
        # Cores may have an op each, on lines of their own, for parts of the same tensor.
        return value.name, record.opcode, launch.number if launch is not None else -1

    def _ended(self, record: OpRecord, moment: int) -> Iterator[WholeTensor]:
        for value in record.results:
            key = self._key(record, value)
            parts = self._open.setdefault(key, _Parts())
            parts.add(value, numbers_of(self._inspector.machine, value))
            self._left[key] -= 1
            if not self._left[key]:
                del self._open[key]
                place = Place.of(self._inspector.program, moment, record.last)
                yield WholeTensor(value.name, place, *parts.complete())

    def _of_commands(self) -> Iterator[WholeTensor]:
        program = self._inspector.program
        for moment in self._going.moments(range(1, len(program.commands) + 1)):
            if self._inspector.machine.passes_over(moment - 1):
                continue
            for view in program.commands[moment - 1].results:
                place = Place.of(program, moment, moment - 1)
                try:
                    yield WholeTensor(f"%{view.name}", place, self._inspector.machine.read(view), 1)
                except TdbError as error:
                    yield WholeTensor(f"%{view.name}", place, None, 1, str(error))


class _Parts:
    """A tensor as far as its instances have ended."""

    def __init__(self) -> None:
        self._whole: Array | None = None
        self._seen: Array | None = None
        self._shape: tuple[int, ...] = ()
        self._count = 0
        self._why = ""

    def add(self, value: MappedTensor, numbers: Array | None) -> None:
        self._count += 1
        if numbers is None or value.rearranged:
            self._why = "its place or layout in memory is not known"
            return
        shape = value.whole_shape
        if self._whole is None or self._seen is None:
            self._whole, self._seen = np.zeros(shape, np.float32), np.zeros(shape, np.bool_)
            own = shape_of(value.type_text.removeprefix("tensor"))
            self._shape = own if math.prod(own) == math.prod(shape) else shape
        try:
            target = value.expected(self._whole)
            target[...] = numbers.reshape(target.shape)
            value.expected(self._seen)[...] = True
        except (ValueError, IndexError):
            self._why = "its slices are not parts of one tensor"

    def complete(self) -> tuple[Array | None, int, str]:
        """Its numbers in the shape of its type in final.mlir, the parts that they come from, or why there are none."""
        if self._whole is None or self._seen is None or self._why:
            return None, self._count, self._why
        if not self._seen.all():
            return None, self._count, "a part of it is written by no op that is known"
        return self._whole.reshape(self._shape), self._count, ""
