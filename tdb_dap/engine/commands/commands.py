"""The commands of a program in execution order: columns of numbers, and one object per command on demand."""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Protocol, overload

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from tdb_dap.engine.bmodel import SubnetInfo
from tdb_dap.engine.files.file_bytes import FileBytes
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import Description, EncodedCommands, LazyMapping, Ruling, Target
from tdb_dap.engine.hardware.views import Operand, View
from tdb_dap.errors import NotSimulated

ENGINES = ("tiu", "dma", "cdma", "cpu", "dynamic", "sdma", "hau", "host", "gde")
_LETTERS = {"tiu": "B", "dma": "D", "cdma": "C", "sdma": "M", "host": "H"}
_WITHOUT_CORE = ("cpu", "dynamic", "host")
_CACHED = 1 << 14
_CACHED_OF_MORE = 1 << 10
"""Commands that are kept of a program with more than ``_CACHED``: a run through all of it finds none of them again."""


class Columns(Struct, frozen=True):
    """One entry per command. ``engine`` indexes ENGINES; ``kind`` is the target's instruction kind or -1;

    ``offset``: first byte of the descriptor in the payload; ``subnet``: index (not id) of the subnet in the stage;
    ``listed``: the dependency as the vendor's listing prints it.
    """

    engine: NDArray[np.int8]
    core: NDArray[np.int16]
    subnet: NDArray[np.int32]
    kind: NDArray[np.int32]
    offset: NDArray[np.int64]
    id: NDArray[np.int64]
    dependency: NDArray[np.int64]
    listed: NDArray[np.int64]

    def continuing(self, before: Columns) -> Columns:
        """The same commands with ids that go on after those of ``before``: every group of a subnet starts at 1."""
        is_dma = self.engine == ENGINES.index("dma")
        last_tiu, last_dma = (int(before.id[before.engine == engine].max(initial=0)) for engine in (0, 1))
        others = np.where(is_dma, last_tiu, last_dma)
        return replace(
            self,
            id=self.id + np.where(is_dma, last_dma, last_tiu),
            dependency=self.dependency + np.where(self.dependency > 0, others, 0),
            listed=self.listed + np.where(self.listed > 0, others, 0),
        )


class Command:
    """One hardware command, or the stand-in of a subnet that is not made of commands (CPU, dynamic).

    ``changed``: another descriptor in place of the program's own.
    """

    def __init__(self, commands: Commands, ordinal: int, changed: bytes | None = None) -> None:
        self._commands = commands
        self._changed = changed
        self.ordinal = ordinal
        columns = commands.columns
        self.core = int(columns.core[ordinal])
        self.subnet = commands.subnets[int(columns.subnet[ordinal])].id
        self.engine = ENGINES[int(columns.engine[ordinal])]
        self.id = int(columns.id[ordinal])
        self.dep = int(columns.dependency[ordinal])
        self.kind = int(columns.kind[ordinal])

    @property
    def subnet_info(self) -> SubnetInfo:
        return self._commands.subnets[int(self._commands.columns.subnet[self.ordinal])]

    @property
    def has_descriptor(self) -> bool:
        """False for the stand-in of a CPU or dynamic subnet."""
        return self.kind >= 0

    @cached_property
    def is_system(self) -> bool:
        """True if the command synchronises or controls and moves no data."""
        return self.has_descriptor and self._commands.target.is_system(self.kind)

    @cached_property
    def name(self) -> str:
        """Mnemonic, e.g. ``conv.normal``; of a subnet without commands its operation."""
        return (
            self._commands.target.kind_name(self.kind)
            if self.has_descriptor
            else self._commands.stand_ins.text(self)[0]
        )

    @cached_property
    def descriptor(self) -> bytes:
        """The command's bytes."""
        if self._changed is not None:
            return self._changed
        if not self.has_descriptor:
            return b""
        start = int(self._commands.columns.offset[self.ordinal])
        return self._commands.payload[start : start + self._commands.target.kind_size(self.kind)].tobytes()

    @cached_property
    def fields(self) -> Mapping[str, int]:
        """Register fields by name; reserved bits are left out."""
        return self._commands.target.fields(self.kind, self.descriptor) if self.has_descriptor else {}

    @property
    def registers(self) -> Mapping[int, int]:
        """The configuration registers before the command."""
        return LazyMapping(lambda: self._commands.registers(self.core, self.ordinal))

    @property
    def register_setup(self) -> tuple[bytes, ...]:
        """Descriptors of the earlier commands whose register writes are still in force, in order."""
        return self._commands.register_setup(self.core, self.ordinal)

    @property
    def target(self) -> Target:
        """The chip with the addresses as they are valid for this command."""
        return self._commands.target_at(self.core, self.ordinal)

    @cached_property
    def description(self) -> Description:
        """Views, roles and attributes; NotSimulated if the instruction form has no description."""
        if not self.has_descriptor:
            return self._commands.stand_ins.description(self)
        try:
            registers = self._commands.registers(self.core, self.ordinal)
            return self.target.describe(self.kind, self.descriptor, self.core, registers)
        except NotSimulated as error:
            raise type(error)(f"command {self.ordinal} ({self.name}): {error}", self.ordinal) from None

    @property
    def operands(self) -> tuple[Operand, ...]:
        """Operands: views of memory, and constants."""
        return self.description.operands

    @property
    def operand_roles(self) -> tuple[str, ...]:
        return self.description.operand_roles

    @property
    def results(self) -> tuple[Operand, ...]:
        """Results: views of memory."""
        return self.description.results

    @property
    def result_roles(self) -> tuple[str, ...]:
        return self.description.result_roles

    @property
    def attributes(self) -> Mapping[str, Any]:
        """Further attributes that the listing shows, by name."""
        return self.description.attributes

    @cached_property
    def asm(self) -> str:
        """One line of our listing."""
        return command_text(self) if self.has_descriptor else self._commands.stand_ins.text(self)[1]

    @cached_property
    def tdb_asm(self) -> str:
        """The line as the vendor's disassembler prints it; of forms that have no description only name and ids."""
        if not self.has_descriptor:
            return self._commands.stand_ins.text(self)[1]
        listed = int(self._commands.columns.listed[self.ordinal])
        try:
            return self._commands.target.vendor_text(self.description, self.engine, (self.id, listed))
        except NotSimulated:
            other = "D" if self.engine == "tiu" else "B"
            return f'%{self.short_token} = "{self.name}"(%{other}{listed})'

    @cached_property
    def broken_rule(self) -> str:
        """The rule of the chip that it breaks, in words; empty if it is legal or the chip's rules are not known."""
        target = self._commands.target
        return target.illegal(self.description) if self.has_descriptor and isinstance(target, Ruling) else ""

    @property
    def mlir_lines(self) -> tuple[int, ...]:
        """Lines of final.mlir whose op owns this command."""
        return self._commands.lines_of(self.ordinal)

    @property
    def place(self) -> str:
        """The command and the line of its op, as errors name them."""
        line = f", line {self.mlir_lines[0]} of final.mlir" if self.mlir_lines else ""
        return f"command {self.ordinal} ({self.token} {self.name}{line})"

    @property
    def short_token(self) -> str:
        """Short name within its core: B23 (TIU), D465 (DMA), M7 (system DMA)."""
        return f"{_LETTERS.get(self.engine, 'S')}{self.id}"

    @property
    def token(self) -> str:
        """Short name: B23; with the core if the program has several: c1.B23. Subnets and the host have no core."""
        return f"{self._core_prefix}{self.short_token}"

    @property
    def awaited_token(self) -> str:
        """Short name of the command of the other engine that it waits for; empty if it waits for none."""
        return f"{self._core_prefix}{'D' if self.engine == 'tiu' else 'B'}{self.dep}" if self.dep else ""

    @property
    def _core_prefix(self) -> str:
        return f"c{self.core}." if self._commands.core_count > 1 and self.engine not in _WITHOUT_CORE else ""

    def __repr__(self) -> str:
        return f"<Command {self.ordinal}: {self.asm}>"


class StandIns(Protocol):
    """Texts and operands of what stands among the commands without a descriptor: subnets and copies of the host."""

    def text(self, command: Command) -> tuple[str, str]:
        """Its name, and its line in the listing."""
        ...

    def description(self, command: Command) -> Description:
        """Its operands and results."""
        ...


class Commands(Sequence[Command]):
    """All commands; objects are made when asked for and kept while they are in use.

    ``target_at(core, ordinal)``: the chip with the addresses as they are valid for a command; default: ``target``;
    ``part_at``: see ``encoded_from``.
    """

    def __init__(
        self,
        columns: Columns,
        target: Target,
        payload: NDArray[np.uint8],
        subnets: tuple[SubnetInfo, ...],
        stand_ins: StandIns,
        lines_of: Callable[[int], tuple[int, ...]],
        target_at: Callable[[int, int], Target] | None = None,
        part_at: Callable[[int], tuple[Commands, int] | None] | None = None,
    ) -> None:
        self.columns = columns
        self.target = target
        self._payload = payload
        self.content: FileBytes | None = None
        """The file that the payload may be mapped from."""
        self.subnets = subnets
        self.stand_ins = stand_ins
        self.target_at = target_at or (lambda core, ordinal: target)
        self._has_one_target = target_at is None
        self._part_at = part_at
        self.lines_of = lines_of
        self._kept: OrderedDict[int, Command] = OrderedDict()
        self._register_writes: dict[int, tuple[list[int], list[Mapping[int, tuple[int, int]]]]] | None = None

    @property
    def payload(self) -> NDArray[np.uint8]:
        """The bytes that hold the descriptors; BadInput if they are mapped from a file that was written since."""
        if self.content is not None:
            self.content.require_intact()
        return self._payload

    def registers(self, core: int, ordinal: int) -> Mapping[int, int]:
        """The configuration registers of a core before a command: what its earlier register writes left."""
        return {register: value for register, (value, _) in self._register_state(core, ordinal).items()}

    def register_setup(self, core: int, ordinal: int) -> tuple[bytes, ...]:
        """Descriptors of the commands that left the registers of a core as they are before a command, in order."""
        writers = sorted({writer for _, writer in self._register_state(core, ordinal).values()})
        return tuple(self[writer].descriptor for writer in writers)

    def _register_state(self, core: int, ordinal: int) -> Mapping[int, tuple[int, int]]:
        """Register -> value, and ordinal of the command that wrote it."""
        if self._register_writes is None:
            self._register_writes = self._find_register_writes()
        ordinals, states = self._register_writes.get(core, ([], []))
        position = bisect_left(ordinals, ordinal)
        return states[position - 1] if position else {}

    def _find_register_writes(self) -> dict[int, tuple[list[int], list[Mapping[int, tuple[int, int]]]]]:
        kinds = [k for k in distinct(self.columns.kind) if k >= 0 and self.target.writes_registers(k)]
        writes: dict[int, tuple[list[int], list[Mapping[int, tuple[int, int]]]]] = {}
        for ordinal in np.flatnonzero(np.isin(self.columns.kind, kinds)).tolist():
            command = self[ordinal]
            ordinals, states = writes.setdefault(command.core, ([], []))
            values = self.target.register_writes(command.kind, command.descriptor)
            written = {register: (value, ordinal) for register, value in values.items()}
            ordinals.append(ordinal)
            states.append({**(states[-1] if states else {}), **written})
        return writes

    @cached_property
    def core_count(self) -> int:
        """Cores up to the last that has a command."""
        return max(1, int(self.columns.core.max(initial=0)) + 1)

    @cached_property
    def encoded(self) -> EncodedCommands | None:
        """All commands as they are stored; None where they are not all of one target."""
        if not self._has_one_target:
            return None
        columns = self.columns
        return EncodedCommands(columns.kind, columns.offset, columns.core, self.payload, self.registers)

    def encoded_from(self, ordinal: int) -> tuple[Commands, int] | None:
        """Commands of one target in a row, of which one is at ``ordinal``, and the ordinal of the first of them.

        None where the command is by itself.
        """
        if self.encoded is not None:
            return self, 0
        return self._part_at(ordinal) if self._part_at is not None else None

    def changed(self, ordinal: int, descriptor: bytes) -> Command:
        """A command as it would be with another descriptor of the same kind."""
        return Command(self, ordinal, descriptor)

    def count_engines(self, start: int, stop: int) -> dict[str, int]:
        """Number of the commands [start, stop) that each engine executes."""
        counts = np.bincount(self.columns.engine[start:stop], minlength=len(ENGINES)).tolist()
        return {engine: count for engine, count in zip(ENGINES, counts, strict=True) if count}

    def __len__(self) -> int:
        return self.columns.kind.size

    @overload
    def __getitem__(self, index: int) -> Command: ...
    @overload
    def __getitem__(self, index: slice) -> list[Command]: ...
    def __getitem__(self, index: int | slice) -> Command | list[Command]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        ordinal = index + len(self) if index < 0 else index
        if not 0 <= ordinal < len(self):
            raise IndexError(f"there is no command {index}: the program has {len(self):,}")
        command = self._kept.get(ordinal)
        if command is None:
            command = self._kept[ordinal] = Command(self, ordinal)
            if len(self._kept) > (_CACHED if len(self) <= _CACHED else _CACHED_OF_MORE):
                self._kept.popitem(last=False)
        return command


def operand_text(operand: Operand) -> str:
    """``R0 f32[1,3,32,32]`` for a tensor, ``0.5 f32`` for a constant."""
    if isinstance(operand, View):
        return f"%{operand.name} {operand.dtype}[{','.join(map(str, operand.shape))}]"
    return f"{operand.value} {operand.dtype}"


def command_text(command: Command) -> str:
    """One line of the listing."""
    wait = f"  wait {command.awaited_token}" if command.dep else ""
    try:
        description = command.description
    except NotSimulated:
        return f"{command.token}: {command.name} (operands not known){wait}"
    results = ", ".join(operand_text(r) for r in description.results)
    operands = ", ".join(
        f"{role} = {operand_text(operand)}"
        for role, operand in zip(description.operand_roles, description.operands, strict=True)
    )
    body = f"{command.name}({operands})" if description.results or operands else command.name
    text = f"{command.token}: {results + ' = ' if results else ''}{body}{_attributes(description.attributes)}{wait}"
    return f"{text}  illegal: {command.broken_rule}" if command.broken_rule else text


def _attributes(attributes: Mapping[str, Any]) -> str:
    """Attributes that say something: zero, false and all-zero lists are left out."""
    shown = {name: value for name, value in attributes.items() if _says_something(value)}
    return f" {{{', '.join(f'{name} = {value}' for name, value in shown.items())}}}" if shown else ""


def _says_something(value: Any) -> bool:
    return any(value) if isinstance(value, list) else bool(value)
