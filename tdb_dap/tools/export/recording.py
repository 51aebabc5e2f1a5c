"""Running what is to be exported, and noting what each command reads that no exported command has written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.runs import Runs, merged
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.errors import BadInput, NotSimulated
from tdb_dap.targets import kernel
from tdb_dap.targets.arithmetic.stored import Value
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.semantics.registry import Operation, Semantic
from tdb_dap.tools.export.runtime import checksum

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.hardware.memory import Memory
    from tdb_dap.targets.chips.chip import Chip
    from tdb_dap.targets.declaration.family import Bound

Key = tuple[Space, int]


class Restored(Struct, frozen=True):
    """Bytes to be put in place before a command: where, and what."""

    space: Space
    core: int
    runs: Runs
    data: bytes


class Step(Struct, frozen=True):
    """One exported command."""

    command: Command
    bound: Bound
    function: Semantic
    fields: dict[str, int]
    """Fields that its arithmetic looks at."""
    registers: dict[int, int]
    """Registers that its arithmetic looks at."""
    restored: tuple[Restored, ...]
    restored_after: tuple[Restored, ...] = ()
    """What is missing of the tensors that are results once it has run."""
    checksum: int = 0
    """CRC-32 of the words of its own results."""


class _Watched(Fields):
    """Fields that remember which of them were looked at."""

    def __init__(self, plain: Fields) -> None:
        values = {name: value for name, value in vars(plain).items() if isinstance(value, int)}
        super().__init__(values, plain.sub, plain.geometry, plain.core, plain.registers)
        self.__dict__["seen"] = {}
        self.__dict__["seen_registers"] = {}

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if type(value) is int and name not in ("sub", "core"):
            super().__getattribute__("__dict__")["seen"][name] = value
        return value

    def has(self, name: str) -> bool:
        return self._note(name)

    @property
    def is_fused(self) -> bool:
        return self._note("rq")

    def _note(self, name: str) -> bool:
        known = self.__dict__
        if name in known:
            known["seen"][name] = known[name]
        return name in known

    def four(self, prefix: str, suffix: str = "") -> tuple[int, int, int, int]:
        for letter in "nchw":
            self._note(f"{prefix}_{letter}{suffix}")
        return super().four(prefix, suffix)

    def register(self, index: int) -> int:
        value = super().register(index)
        self.__dict__["seen_registers"][index] = value
        return value


class _Known:
    """Bytes that the exported script has right at a moment."""

    def __init__(self) -> None:
        self._runs: dict[Key, Runs] = {}

    def missing(self, place: ByteRanges) -> Runs:
        return without(place.runs, self._of(place))

    def add(self, place: ByteRanges) -> None:
        self._runs[place.space, place.core] = merged(np.concatenate([self._of(place), place.runs]))

    def forget(self, place: ByteRanges) -> None:
        self._runs[place.space, place.core] = without(self._of(place), place.runs)

    def _of(self, place: ByteRanges) -> Runs:
        return self._runs.get((place.space, place.core), np.zeros((0, 2), np.int64))


def without(runs: Runs, others: Runs) -> Runs:
    """The bytes of ``runs`` that are not in ``others``; both sorted and disjoint."""
    if not runs.size or not others.size:
        return runs
    extents: list[tuple[int, int]] = []
    first = np.searchsorted(others[:, 1], runs[:, 0], "right")
    for (start, stop), index in zip(runs.tolist(), first.tolist(), strict=True):
        while index < len(others) and others[index, 0] < stop:
            if others[index, 0] > start:
                extents.append((start, int(others[index, 0])))
            start = max(start, int(others[index, 1]))
            index += 1
        if start < stop:
            extents.append((start, stop))
    return np.array(extents, np.int64).reshape(-1, 2)


def record(
    debugger: Debugger, ordinals: Sequence[int], target: Chip, results: Callable[[int], Iterable[View]]
) -> Iterator[Step]:
    """Run the program as far as the last of ``ordinals`` and yield a step for each that computes or moves anything.

    ``results``: the tensors that are wanted once a command has run. BadInput where a command cannot be exported or the
    run stops before.
    """
    wanted = set(ordinals)
    known = _Known()
    for ordinal in range(max(wanted) + 1):
        command = debugger.program.commands[ordinal]
        exported = ordinal in wanted and computes(command, target)
        step = _step(command, debugger.machine.memory, known, target) if exported else None
        debugger.step()
        if debugger.ordinal != ordinal + 1:
            stop = debugger.step()
            raise BadInput(f"{debugger.program.context.bmodel}: {stop.text}; what comes after it cannot be exported")
        for view in _views(command.description.results):
            if step is None:
                known.forget(ByteRanges.of(view))
            else:
                known.add(ByteRanges.of(view))
        if step is not None:
            words = [debugger.machine.memory.read(view) for view in _views(step.bound.results.values())]
            after = _restored(results(ordinal), debugger.machine.memory, known)
            yield replace(step, checksum=checksum(words), restored_after=after)


def computes(command: Command, target: Chip) -> bool:
    """Whether a command computes or moves anything; the others synchronise, or set registers that later ones use."""
    return not command.is_system and not (command.has_descriptor and target.writes_registers(command.kind))


def _step(command: Command, memory: Memory, known: _Known, target: Chip) -> Step:
    if not command.has_descriptor:
        raise BadInput(f"command {command.ordinal} is a {command.engine} subnet: it is not made of commands")
    bound: Bound = command.description.binding
    function = target.semantics.get((bound.family.name, bound.fields.sub))
    if function is None or target.rules is None:
        raise BadInput(f"command {command.ordinal}: {command.name} is not simulated yet")
    restored = _restored(_views(bound.operands.values()), memory, known)
    fields = _Watched(target.fields_of(command.kind, command.descriptor, command.core, bound.fields.registers))
    operation = Operation(
        {role: _value(operand, memory) for role, operand in bound.operands.items()},
        {role: view.dtype for role, view in bound.results.items()},
        {role: view.shape for role, view in bound.results.items() if isinstance(view, View)},
        fields,
        target.rules,
    )
    try:
        # The kernel looks at fewer fields; the script is to run where there is none, too.
        with np.errstate(all="ignore"), kernel.switched(False):
            function(operation)
    except NotSimulated as error:
        raise BadInput(f"command {command.ordinal} ({command.name}) cannot be exported: {error}") from None
    seen, registers = vars(fields)["seen"], vars(fields)["seen_registers"]
    return Step(command, bound, function, dict(seen), dict(registers), restored)


def _restored(views: Iterable[View], memory: Memory, known: _Known) -> tuple[Restored, ...]:
    """The bytes of tensors that the script does not have, which it has from then on."""
    restored: list[Restored] = []
    for view in views:
        place = _whole(view, memory)
        runs = known.missing(place)
        if runs.size:
            data = b"".join(memory.read_bytes(view.space, a, b - a, view.core) for a, b in runs.tolist())
            restored.append(Restored(place.space, place.core, runs, data))
            known.add(place)
    return tuple(restored)


def _whole(view: View, memory: Memory) -> ByteRanges:
    """The bytes of a view; of data whose length is in itself as many as there are."""
    if view.layout is not Layout.STREAM:
        return ByteRanges.of(view)
    region = memory.region(view.space, view.address, view.address + 1, view.core)
    size = min(view.size, region.stop - view.address)
    return ByteRanges(view.space, 0, np.array([[view.address, view.address + size]], np.int64))


def _views(operands: Any) -> list[View]:
    return [operand for operand in operands if isinstance(operand, View)]


def _value(operand: Any, memory: Memory) -> Value:
    if isinstance(operand, View):
        return Value(memory.read(operand), operand.dtype)
    word = operand.bits & ((1 << (8 * operand.dtype.itemsize)) - 1)
    bits: Array = np.full((1, 1, 1, 1), word, operand.dtype.bits_dtype)
    return Value(bits, operand.dtype, is_constant=True)
