"""A chip made of its data: geometry, instruction table, families and arithmetic rules."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tdb_dap.engine.geometry import Geometry
from tdb_dap.engine.memory import Memory
from tdb_dap.engine.target import Description, Stream
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.backends.numpy_backend import execute
from tdb_dap.targets.families import FAMILIES, Bound
from tdb_dap.targets.families.fields import Fields
from tdb_dap.targets.instruction_set import Instruction, InstructionSet, column
from tdb_dap.targets.semantics.rules import Rules
from tdb_dap.targets.static_tables import Table, fill
from tdb_dap.targets.vendor_text import command_text


@dataclass(frozen=True)
class Chip:
    """A target. ``table``: name of the instruction table; ``id_fields``: own id and dependency, per engine.

    ``end_commands``: (engine, type, sub type) of the commands that end a stream.
    """

    name: str
    table: str
    geometry: Geometry
    rules: Rules
    static_tables: tuple[Table, ...]
    id_field: str = "cmd_id"
    dependency_field: str = "cmd_id_dep"
    end_commands: tuple[tuple[str, int, int], ...] = (("tiu", 15, 31), ("dma", 6, 0))

    @cached_property
    def instruction_set(self) -> InstructionSet:
        return InstructionSet.load(self.table)

    def _instruction(self, kind: int) -> Instruction:
        return self.instruction_set.instructions[kind]

    def decode_stream(self, engine: str, data: NDArray[np.uint8], count: int, what: str) -> Stream:
        offsets, kinds = self.instruction_set.split(engine, data, count, what)
        ids, dependencies = np.zeros(count, np.int64), np.zeros(count, np.int64)
        is_end = np.zeros(count, np.bool_)
        # A field may begin near the end of the last command: let it read on.
        padded = np.concatenate([data, np.zeros(8, np.uint8)])
        for kind in np.unique(kinds):
            instruction = self._instruction(int(kind))
            chosen = kinds == kind
            for target, name in ((ids, self.id_field), (dependencies, self.dependency_field)):
                if name in instruction.by_name:
                    target[chosen] = column(padded, offsets[chosen], instruction.by_name[name])
            is_end[chosen] = (engine, instruction.kind, instruction.sub) in self.end_commands
        return Stream(engine, data, offsets, kinds, ids, dependencies, is_end)

    def kind_name(self, kind: int) -> str:
        return self._instruction(kind).mnemonic

    def kind_size(self, kind: int) -> int:
        return self._instruction(kind).size

    def is_system(self, kind: int) -> bool:
        family = FAMILIES.get(self._instruction(kind).register)
        return family is not None and family.name == "system"

    def fields(self, kind: int, descriptor: bytes) -> dict[str, int]:
        return self._instruction(kind).decode(descriptor)

    def bind(self, kind: int, descriptor: bytes, core: int) -> Bound:
        """The family of a command applied to its fields."""
        instruction = self._instruction(kind)
        family = FAMILIES.get(instruction.register)
        if family is None:
            raise NotSimulated(
                f"{instruction.mnemonic}: the instruction form {instruction.register} has no description yet"
            )
        return family.bind(Fields(instruction.decode(descriptor), instruction.sub, self.geometry, core))

    def describe(self, kind: int, descriptor: bytes, core: int) -> Description:
        bound = self.bind(kind, descriptor, core)
        roles, operands = bound.shown()
        return Description(
            name=self._instruction(kind).mnemonic,
            family=bound.family.name,
            summary=bound.family.summary,
            operands=tuple(operands),
            operand_roles=tuple(roles),
            results=tuple(bound.results.values()),
            result_roles=tuple(bound.results),
            attributes=bound.attributes,
            reads=tuple(bound.operands.values()),
            binding=bound,
        )

    def vendor_text(self, description: Description, engine: str, ids: tuple[int, int]) -> str:
        return command_text(description.binding, description.name, engine, *ids)

    def fill_static_memory(self, memory: Memory, tables: str) -> None:
        for core in range(memory.cores):
            fill(memory.static(core), self.static_tables, packed=tables != "tdb")

    def execute(self, description: Description, memory: Memory) -> None:
        execute(description.name, description.binding, memory, self.rules)
