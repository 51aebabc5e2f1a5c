"""A chip made of its data: geometry, instruction table, families and arithmetic rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace
from numpy.typing import NDArray

from tdb_dap.engine.hardware.geometry import Geometry, Space
from tdb_dap.engine.hardware.memory import Memory
from tdb_dap.engine.hardware.runs import distinct
from tdb_dap.engine.hardware.target import (
    Cost,
    Description,
    EncodedCommands,
    Form,
    LazyMapping,
    Message,
    Stream,
    Watched,
    Words,
)
from tdb_dap.engine.hardware.views import Layout, View
from tdb_dap.errors import Illegal, NotSimulated
from tdb_dap.targets.chips.observed_forms import ObservedForms
from tdb_dap.targets.chips.static_tables import Table, fill, size_of_tables
from tdb_dap.targets.chips.vendor_library import VendorLibrary
from tdb_dap.targets.chips.vendor_text import PLAIN, Style, command_text
from tdb_dap.targets.declaration.family import message_of
from tdb_dap.targets.declaration.field_evidence import refused_fields
from tdb_dap.targets.declaration.fields import Conventions, Fields, shared_name
from tdb_dap.targets.declaration.instruction_set import Instruction, InstructionSet, column
from tdb_dap.targets.declaration.legality import broken_rule
from tdb_dap.targets.families import FAMILIES, Bound, system
from tdb_dap.targets.families.expected import is_expected, is_zero
from tdb_dap.targets.plans.forms import Encoding
from tdb_dap.targets.rules import Rules
from tdb_dap.targets.timing import Timing, cost_of

if TYPE_CHECKING:
    from tdb_dap.targets.plans.plan import Plans
    from tdb_dap.targets.semantics.registry import Semantic


class Chip(Struct, frozen=True, dict=True):
    """A target."""

    name: str
    table: str | Mapping[str, Any]
    """An instruction table of this package by name, or one in its form."""
    geometry: Geometry
    rules: Rules | None
    """None for chips that are decoded but not simulated."""
    static_tables: tuple[Table, ...]
    """Constants in static memory from byte 0 on."""
    room: str = ""
    """The package below ``families`` and ``semantics`` with its instructions, if it shares none with other chips."""
    l2_tables: tuple[Table, ...] = ()
    """Constants in L2 from ``l2_tables_start`` on."""
    l2_tables_start: int = 0
    id_fields: tuple[str, ...] = ()
    """Where a command's own id may be (none: its position in the stream, from 1)."""
    dependency_fields: tuple[str, ...] = ("cmd_id_dep",)
    """The same for the id it waits for."""
    dependency_mask: int = 0xFFFFF
    """Bits of the dependency that count."""
    message_engines: int = 2
    """Engines of a core that a barrier counts."""
    same_commands: Mapping[str, str] = field(default_factory=dict)
    """Engine -> the one whose commands it takes."""
    vendor_style: Style = PLAIN
    end_commands: tuple[tuple[str, int, int], ...] = (("tiu", 15, 31), ("dma", 6, 0))
    """(engine, type, sub type) of the commands that end a stream."""
    idle_commands: Mapping[str, tuple[str, Mapping[str, int]]] = field(default_factory=dict)
    """By engine a command, with some of its fields, that the vendor's simulator is known to pass over."""
    has_golden: bool = True
    """Whether the arithmetic of the ops that are compiled for it is known, apart from that of its commands."""
    narrow_floats: bool = False
    """Whether it computes what the compiler types as f32 in bfloat16."""
    gelu_by_tanh: bool = False
    """Whether the compiler's library forms GELU by tanh on it, whatever the op's ``approx_mode``."""
    layer_field: str = ""
    """Where commands have the number of the compiler's layer."""
    packet_mark: int = 0
    """First byte of each packet, where one stream holds the commands of both engines."""
    needs_kernel: bool = True
    """Whether a board's runtime refuses a bmodel without a kernel module."""
    known_problems: tuple[str, ...] = ()
    """Contradictions of the table that are the maker's own (see ``self_check``)."""
    vendor_library: VendorLibrary | None = None
    """The vendor's simulator, None where how to drive it is not known."""
    timing: Timing | None = None
    """Its speeds, None where they are not known."""
    is_lenient: bool = False
    """Whether it computes commands that break a rule of the chip as if there were none."""
    linked_to: Chip | None = None
    """The chip that this is with other addresses, for one net of several; None: it is itself."""

    def inexact(self) -> Chip:
        """The same chip with sums of products of floats left to BLAS: fast, and not what the chip computes."""
        return self if self.rules is None else replace(self, rules=replace(self.rules, fast=True))

    def leniently(self) -> Chip:
        """The same chip, which computes illegal commands too: not what the chip does with them."""
        return replace(self, is_lenient=True)

    def with_bases(self, bases: Mapping[int, int]) -> Chip:
        """The same chip in a run; see ``Geometry.with_bases``."""
        return replace(self, geometry=self.geometry.with_bases(bases))

    def linked(self, moves: Sequence[tuple[int, int, int]]) -> Chip:
        """The same chip for one net of several; see ``Geometry.linked``."""
        return replace(self, geometry=self.geometry.linked(moves), linked_to=self.linked_to or self)

    @cached_property
    def instruction_set(self) -> InstructionSet:
        if self.room:
            import_module(f"tdb_dap.targets.families.{self.room}")
        return InstructionSet.load(self.table) if isinstance(self.table, str) else InstructionSet(self.table)

    def _instruction(self, kind: int) -> Instruction:
        return self.instruction_set.instructions[kind]

    def decode_stream(self, engine: str, data: NDArray[np.uint8], count: int | None, what: str) -> Stream:
        engine = self.same_commands.get(engine, engine)
        offsets, kinds = self.instruction_set.split(engine, data, count, what)
        return self._stream(engine, data, offsets, kinds)

    def decode_packets(self, data: NDArray[np.uint8], what: str) -> tuple[Stream, Stream, NDArray[np.bool_]]:
        engines, offsets, kinds = self.instruction_set.split_packets(data, self.packet_mark, what)
        is_dma = np.array([engine == "dma" for engine in engines], np.bool_)
        tiu, dma = (
            self._stream(engine, data, offsets[own], kinds[own]) for engine, own in (("tiu", ~is_dma), ("dma", is_dma))
        )
        return tiu, dma, is_dma

    def _stream(
        self, engine: str, data: NDArray[np.uint8], offsets: NDArray[np.int64], kinds: NDArray[np.int32]
    ) -> Stream:
        """The commands of one engine at these offsets."""
        count = offsets.size
        ids, dependencies = np.arange(1, count + 1, dtype=np.int64), np.zeros(count, np.int64)
        borrows = np.zeros(count, np.bool_)
        is_end = np.zeros(count, np.bool_)
        # A field may begin near the end of the last command: let it read on.
        padded = np.concatenate([data, np.zeros(8, np.uint8)])
        for kind in distinct(kinds):
            instruction = self._instruction(kind)
            chosen = kinds == kind
            for target, names in ((ids, self.id_fields), (dependencies, self.dependency_fields)):
                for name in names:
                    if name in instruction.by_name:
                        target[chosen] = column(padded, offsets[chosen], instruction.by_name[name])
            is_end[chosen] = (engine, instruction.kind, instruction.sub) in self.end_commands
            borrows[chosen] = instruction.writes_registers
        dependencies &= self.dependency_mask
        # A register write has no separate dependency: it belongs to the command that follows.
        listed = dependencies.copy()
        for index in np.flatnonzero(borrows)[::-1].tolist():
            follows = index + 1 < count and not self.is_system(int(kinds[index + 1]))
            dependencies[index] = dependencies[index + 1] if follows else 0
            lost = self.vendor_style.loses_dependencies and index + 1 < count and borrows[index + 1]
            listed[index] = 0 if lost else dependencies[index]
        return Stream(engine, data, offsets, kinds, ids, dependencies, listed, is_end)

    def layers(self, commands: EncodedCommands) -> NDArray[np.int64] | None:
        if not self.layer_field:
            return None
        numbers = np.zeros(commands.kinds.size, np.int64)
        for kind in np.unique(commands.kinds[commands.kinds >= 0]).tolist():
            chosen = commands.kinds == kind
            field = self._instruction(kind).by_name.get(self.layer_field)
            if field is not None:
                numbers[chosen] = column(commands.payload, commands.offsets[chosen], field)
        return numbers

    def kind_name(self, kind: int) -> str:
        return self._instruction(kind).mnemonic

    def kind_size(self, kind: int) -> int:
        return self._instruction(kind).size

    def reserved_bits(self, kind: int, descriptor: bytes = b"") -> int:
        instruction = self._instruction(kind)
        # Compilers leave what was on their stack in the source of a move that fills with a constant.
        is_fill = bool(descriptor) and bool(self.fields(kind, descriptor).get("fill_constant_en"))
        return instruction.reserved_bits & ~(instruction.bits_after_source if is_fill else 0)

    def is_system(self, kind: int) -> bool:
        family = FAMILIES.get(self._instruction(kind).register)
        return family is not None and family.name == "system"

    def _moves_nothing(self, kind: int) -> bool:
        """Whether commands of a kind change no memory: what they write into registers is known before a run."""
        return self.is_system(kind) or self.writes_registers(kind)

    def message(self, kind: int, descriptor: bytes, engines: int = 2) -> Message | None:
        f = self.fields_of(kind, descriptor, 0, {})
        message = message_of(f)
        if message is None:
            return None
        number, count = message
        # An engine that moves nothing is counted as well; its sends are left out.
        return Message(f.sub in (3, 8), number, count * min(engines, self.message_engines) // self.message_engines)

    def fields(self, kind: int, descriptor: bytes) -> dict[str, int]:
        return self._instruction(kind).decode(descriptor)

    def encode(self, kind: int, descriptor: bytes, values: Mapping[str, int]) -> bytes:
        return self._instruction(kind).encode(descriptor, **values)

    def has_engine(self, engine: str) -> bool:
        known = self.same_commands.get(engine, engine)
        return any(instruction.engine == known for instruction in self.instruction_set.instructions)

    def idle(self, engine: str, id: int) -> bytes | None:
        mnemonic, fields = self.idle_commands.get(engine, ("", {}))
        for kind, instruction in enumerate(self.instruction_set.instructions):
            if (instruction.engine, instruction.mnemonic) == (engine, mnemonic):
                own = {name: id for name in self.id_fields if name in instruction.by_name}
                return instruction.encode(self.instruction_set.blank(kind), **own, **fields)
        return None

    def kind_of(self, engine: str, descriptor: bytes) -> int | None:
        return self.instruction_set.kind_of(self.same_commands.get(engine, engine), descriptor)

    def writes_registers(self, kind: int) -> bool:
        return self._instruction(kind).writes_registers

    def register_writes(self, kind: int, descriptor: bytes) -> Mapping[int, int]:
        if not self.writes_registers(kind):
            return {}
        return system.register_writes(self.fields_of(kind, descriptor, 0, {}))

    def fields_of(self, kind: int, descriptor: bytes, core: int, registers: Mapping[int, int]) -> Fields:
        form = self.shared_form(kind)
        conventions = self.rules or Conventions()
        return Fields(form.decode(descriptor), form.sub, self.geometry, core, registers, conventions)

    def shared_form(self, kind: int) -> Instruction:
        """The instruction with its fields under the names that all chips share."""
        form = self._shared_forms.get(kind)
        if form is None:
            form = self._shared_forms[kind] = self._instruction(kind).renamed(shared_name)
        return form

    def named_fields(self, kind: int) -> list[tuple[str, str, int]]:
        """Name in the table, shared name and width in bits of the fields of a form."""
        return [(name, shared_name(name), width) for name, _, width in self._instruction(kind).fields]

    @cached_property
    def _refused(self) -> dict[int, tuple[tuple[str, ...], tuple[str, ...], frozenset[str]]]:
        """Fields of a form that are not simulated: those that must be zero, the others, and all."""
        return {}

    @cached_property
    def _shared_forms(self) -> dict[int, Instruction]:
        return {}

    def bind(self, kind: int, descriptor: bytes, core: int, registers: Mapping[int, int]) -> Bound:
        """The family of a command applied to its fields."""
        instruction = self._instruction(kind)
        family = FAMILIES.get(instruction.register)
        if family is None:
            raise NotSimulated(
                f"{instruction.mnemonic}: the instruction form {instruction.register} has no description yet"
            )
        return family.bind(self.fields_of(kind, descriptor, core, registers), kind)

    def describe(self, kind: int, descriptor: bytes, core: int, registers: Mapping[int, int]) -> Description:
        bound = self.bind(kind, descriptor, core, registers)
        roles, operands = bound.shown()
        return Description(
            name=self._instruction(kind).mnemonic,
            family=bound.family.name,
            summary=bound.family.summary,
            operands=tuple(operands),
            operand_roles=tuple(roles),
            results=tuple(bound.results.values()),
            result_roles=tuple(bound.results),
            attributes=LazyMapping(lambda: bound.attributes),
            reads=tuple(bound.operands.values()),
            binding=bound,
            unread=bound.family.unread,
        )

    def vendor_text(self, description: Description, engine: str, ids: tuple[int, int]) -> str:
        return command_text(description.binding, description.name, engine, ids, self.vendor_style)

    def fill_tables(self, memory: Memory, tables: str) -> None:
        _ = self._plans  # who has memories will execute: what that takes is loaded now, and not in the first run
        for core in range(memory.cores):
            fill(memory.static(core), self.static_tables, tables)
        fill(memory.l2()[self.l2_tables_start :], self.l2_tables, tables)

    @property
    def l2_table_bytes(self) -> range:
        return range(self.l2_tables_start, self.l2_tables_start + size_of_tables(self.l2_tables))

    @property
    def clock(self) -> float | None:
        return self.timing.clock if self.timing is not None else None

    @property
    def timing_source(self) -> str:
        return self.timing.source if self.timing is not None else ""

    def cost(self, description: Description) -> Cost | None:
        return cost_of(description, self.timing) if self.timing is not None else None

    def carry_out(
        self, kind: int, descriptor: bytes, core: int, memory: Memory, registers: Mapping[int, int] | None = None
    ) -> bool:
        return self._plans is not None and self._plans.carry_out(kind, descriptor, core, memory, registers)

    def carry_out_some(self, commands: EncodedCommands, first: int, stop: int, memory: Memory) -> int:
        return first if self._plans is None else self._plans.carry_out_some(commands, first, stop, memory)

    def carry_out_watched(
        self, commands: EncodedCommands, first: int, stop: int, memory: Memory, watched: Watched
    ) -> int:
        return first if self._plans is None else self._plans.carry_out_some(commands, first, stop, memory, watched)

    @property
    def identity(self) -> str:
        return f"{self.table} {self.geometry!r} {self.rules!r} {self.is_lenient}" if isinstance(self.table, str) else ""

    def recall(self, commands: EncodedCommands) -> None:
        if self._plans is not None:
            self._plans.recall(commands)

    def keep(self) -> None:
        plans: Plans | None = self.__dict__.get("_plans")  # none are made for a chip that has executed nothing
        if plans is not None:
            plans.keep()

    def plan_coverage(self, commands: EncodedCommands) -> dict[int, tuple[int, int]]:
        """Kind -> how many commands change memory, and how many of these are executed one by one, without a plan."""
        return {} if self._plans is None else self._plans.coverage(commands)

    def learn(self, description: Description, descriptor: bytes) -> None:
        """Nothing: a plan is made when the first command of its form is executed. Plugins may still call it."""

    def formed(self, kind: int, descriptor: bytes, core: int) -> tuple[Form, Sequence[int]] | None:
        return self._met.find(kind, int.from_bytes(descriptor, "little"), core)

    def meet(self, description: Description, descriptor: bytes) -> None:
        bound: Bound = description.binding
        if bound.kind >= 0:
            self._met.add(bound, int.from_bytes(descriptor, "little"), self._encoding(bound.kind))

    @cached_property
    def _met(self) -> ObservedForms:
        return ObservedForms(self.geometry)

    def _encoding(self, kind: int) -> Encoding:
        encoding = self._encodings.get(kind)
        if encoding is None:
            names = {shared: own for own, shared, _ in self.named_fields(kind)}
            ids = frozenset({*self.id_fields, *self.dependency_fields})
            encoding = self._encodings[kind] = Encoding(self._instruction(kind), names, ids)
        return encoding

    @cached_property
    def semantics(self) -> Mapping[tuple[str, int], Semantic]:
        """Semantic functions by family name and sub type."""
        # Listings, which most commands of the command line are about, need none of what computes.
        from tdb_dap.targets.semantics import SEMANTICS

        if self.room:
            import_module(f"tdb_dap.targets.semantics.{self.room}")
        return SEMANTICS

    @cached_property
    def _plans(self) -> Plans | None:
        if self.rules is None or not self.semantics:
            return None
        from tdb_dap.targets.plans.known import Instructions
        from tdb_dap.targets.plans.plan import Plans

        kinds = self.kind_name, self.kind_size, self._moves_nothing
        facts = self.geometry, *kinds, self.bind, self._encoding, self._refuse, self._broken_rule
        like = self.linked_to._plans if self.linked_to is not None else None
        return Plans(Instructions(*facts), self.rules, self.identity, like)

    @cached_property
    def _encodings(self) -> dict[int, Encoding]:
        return {}

    def execute(self, description: Description, memory: Words) -> None:
        if self.rules is None or not self.semantics:
            raise NotSimulated(f"{description.name}: what {self.name} computes is not known well enough to simulate it")
        from tdb_dap.targets.semantics.execute import execute, function_of

        bound = description.binding
        self._refuse(description.name, bound)
        broken = self._broken_rule(bound)
        if broken:
            function_of(description.name, bound, self.rules)  # one that is not simulated at all is named as such
            raise Illegal(f"{description.name} is illegal: {broken}")
        execute(description.name, bound, memory, self.rules)

    def is_move(self, description: Description) -> bool:
        """Whether the results of a command are the words of its only tensor, whatever these are."""
        from tdb_dap.targets.semantics.registry import is_move

        bound: Bound = description.binding
        tensors = [operand for operand in bound.operands.values() if isinstance(operand, View)]
        function = self.semantics.get((bound.family.name, bound.fields.sub))
        if function is None or len(tensors) != 1 or tensors[0].layout is Layout.STREAM:  # what is compressed is read
            return False
        return is_move(function, bound.fields)

    def is_choice(self, description: Description) -> bool:
        """Whether its results are words of one of its tensors, whatever these are, which another one chooses."""
        from tdb_dap.targets.semantics.registry import CHOICES

        bound: Bound = description.binding
        return self.semantics.get((bound.family.name, bound.fields.sub)) in CHOICES

    def illegal(self, description: Description) -> str:
        """The rule of the chip that a command breaks, in words; empty if it is legal."""
        bound: Bound = description.binding
        return broken_rule(bound, self._instruction(bound.kind).engine) if bound.kind >= 0 else ""

    def _broken_rule(self, bound: Bound) -> str:
        """The rule for which a command is refused."""
        is_known = self.is_lenient or bound.kind < 0
        return "" if is_known else broken_rule(bound, self._instruction(bound.kind).engine)

    def _refuse(self, command: str, bound: Bound) -> frozenset[str]:
        """The fields that were looked at.

        NotSimulated if one asks for something that neither views nor semantics look at, or puts an operand into a
        memory that it is not known to be in.
        """
        if bound.kind < 0:
            return frozenset()
        refused = self._refused.get(bound.kind)
        if refused is None:
            form = self._instruction(bound.kind)
            if form.is_unproven:
                raise NotSimulated(f"{command}: its long form is not simulated; compilers emit the short one")
            names = refused_fields(self.table, form)
            zeros = tuple(name for name in names if is_zero(bound.family.name, bound.fields.sub, name))
            others = tuple(name for name in names if name not in zeros)
            refused = self._refused[bound.kind] = zeros, others, frozenset(names)
        zeros, others, looked_at = refused
        values = bound.fields.__dict__
        for name in (*[name for name in zeros if values.get(name)], *others):
            if not is_expected(bound.family.name, bound.fields, name):
                value = bound.fields.number(name)
                raise NotSimulated(f"field {name} = {value} of {command} is not simulated")
        for role, row in bound.family.operands:
            view = bound.operands.get(role) if row.local_only else None
            if isinstance(view, View) and view.space is not Space.LOCAL:
                name = role.replace("_", " ")
                raise NotSimulated(f"{command} with its {name} outside of the local memory is not simulated")
        return looked_at
