"""Commands to start from: one or a few of every form that compiled models hold."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tdb_dap.engine.target import Description
from tdb_dap.errors import TdbError
from tdb_dap.opening import open_program
from tdb_dap.targets.chip import Chip
from tdb_dap.targets.families import FAMILIES
from tdb_dap.targets.instruction_set import Instruction

_PER_FORM = 6
"""Different commands of one form that are kept; forms are told apart by mnemonic and number formats."""


@dataclass(frozen=True)
class Case:
    """A command on its own, as a backend wants it. ``registers``: the configuration registers that it finds."""

    chip: Chip = field(repr=False)
    kind: int
    descriptor: bytes
    registers: dict[int, int] = field(default_factory=dict)
    register_setup: tuple[bytes, ...] = ()
    core: int = 0

    @property
    def instruction(self) -> Instruction:
        return self.chip.instruction_set.instructions[self.kind]

    @property
    def engine(self) -> str:
        return self.instruction.engine

    @property
    def name(self) -> str:
        return self.instruction.mnemonic

    @property
    def family(self) -> str:
        return FAMILIES[self.instruction.register].name

    @cached_property
    def description(self) -> Description:
        return self.chip.describe(self.kind, self.descriptor, self.core, self.registers)


def seeds_of(chip: Chip, directories: Iterable[Path]) -> dict[str, list[Case]]:
    """Mnemonic -> commands found in the models of a chip under ``directories``."""
    found: dict[tuple[str, ...], list[Case]] = defaultdict(list)
    for model in _models(chip, directories):
        try:
            program = open_program(model)
        except TdbError:
            continue
        for command in program.commands:
            if not command.has_descriptor or command.is_system or chip.writes_registers(command.kind):
                continue
            try:
                description = command.description
            except TdbError:
                continue
            operands = (*description.operands, *description.results)
            form = (command.name, *(operand.dtype.name for operand in operands))
            if len(found[form]) < _PER_FORM and all(c.descriptor != command.descriptor for c in found[form]):
                found[form].append(Case(chip, command.kind, command.descriptor))
    by_name: dict[str, list[Case]] = defaultdict(list)
    for form, cases in found.items():
        by_name[form[0]] += cases
    return dict(by_name)


def _models(chip: Chip, directories: Iterable[Path]) -> list[Path]:
    """Context directories of a chip: those in a folder of its name."""
    folders = [directory / chip.name.lower() for directory in directories]
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()) if path.is_dir()]
