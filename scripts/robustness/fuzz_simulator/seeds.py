"""Commands to start from: one or a few of every form that compiled models hold, and made ones of the other forms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.target import Description
from tdb_dap.errors import TdbError
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.declaration.fields import shared_name
from tdb_dap.targets.declaration.instruction_set import Instruction
from tdb_dap.targets.families import FAMILIES
from tdb_dap.targets.validation.self_check import is_simulated
from tdb_dap.tools.programs import open_program

_PER_FORM = 6
"""Different commands of one form that are kept; forms are told apart by mnemonic and number formats."""


@dataclass(frozen=True)
class Case:
    """A command on its own, as a backend wants it. ``registers``: the configuration registers that it finds;

    ``made``: no model holds the form; its fields are those of another one, and its shape has still to be drawn.
    """

    chip: Chip = field(repr=False)
    kind: int
    descriptor: bytes
    registers: dict[int, int] = field(default_factory=dict)
    register_setup: tuple[bytes, ...] = ()
    core: int = 0
    made: bool = False

    @property
    def instruction(self) -> Instruction:
        return self.chip.instruction_set.instructions[self.kind]

    @property
    def target(self) -> Chip:
        return self.chip

    @property
    def engine(self) -> str:
        return self.instruction.engine

    @property
    def name(self) -> str:
        """Mnemonic, and which form where compilers emit another one."""
        return form_name(self.chip, self.kind)

    @property
    def family(self) -> str:
        return FAMILIES[self.instruction.register].name

    @cached_property
    def description(self) -> Description:
        return self.chip.describe(self.kind, self.descriptor, self.core, self.registers)


def form_name(chip: Chip, kind: int) -> str:
    """Mnemonic of a form, and whether it is the short one of a move: compilers emit the long ones."""
    form = chip.instruction_set.instructions[kind]
    others = (i for i in chip.instruction_set.instructions if (i.engine, i.mnemonic) == (form.engine, form.mnemonic))
    is_short = form.engine != "tiu" and any(other.has_short for other in others) and not form.has_short
    return f"{form.mnemonic} (short)" if is_short else form.mnemonic


def made_seeds(chip: Chip, seeds: dict[str, list[Case]]) -> dict[str, list[Case]]:
    """Commands of the simulated forms that no model holds, with the fields of those that are most like them."""
    known = [case for cases in seeds.values() for case in cases]
    kinds = {case.kind for case in known}
    made: dict[str, list[Case]] = {}
    computed = chip.semantics
    for kind, form in enumerate(chip.instruction_set.instructions):
        family = FAMILIES.get(form.register)
        if kind in kinds or family is None or (family.name, form.sub) not in computed or not is_simulated(chip, form):
            continue
        usual = _LIKE.get(family.name, family.name)
        donors = [case for case in known if case.engine == form.engine and case.family == family.name]
        donors = donors or [case for case in known if case.engine == form.engine and case.family == usual]
        cases = [_copied(chip, kind, donor) for donor in donors[:: max(1, len(donors) // _PER_FORM)]]
        if cases:
            made.setdefault(form_name(chip, kind), []).extend(cases)
    return made


_LIKE = {
    "lin": "quant",
    "cmp": "arith",
    "sfu": "quant",
    "vc": "arith",
    "sgl": "sg",
    "mm": "mm2",
    "dma.scatter": "dma.gather",
    "dma.masked_select": "dma.tensor",
    "dma.nonzero": "dma.tensor",
    "dma.cw_transpose": "dma.tensor",
    "dma.reverse": "dma.tensor",
    "dma.general": "dma.tensor",
}
"""Families whose fields serve those that no model of the chip holds."""
_HEAD = (
    "cmd_short",
    "cmd_long",
    "tsk_typ",
    "tsk_eu_typ",
    "cmd_type",
    "cmd_special_function",
    "special_func",
    "all_reduce_code",
    "trans_dir",
    "spec_func",
    "tens_lookup",
)
"""Fields that say the kind of a command."""


def _set_address(values: dict[str, int], side: str, parts: tuple[int, int]) -> None:
    """An address of two fields, under the names that the chips have for them, where there is none yet."""
    for names in (("h32", "l8"), ("l32", "h8"), ("l32", "h13")):
        for name, part in zip(names, parts, strict=True):
            values.setdefault(f"{side}_start_addr_{name}", part)


def _copied(chip: Chip, kind: int, donor: Case) -> Case:
    """A command of a kind with the fields of another one; what that has not is taken from its like."""
    form = chip.instruction_set.instructions[kind]
    values = {shared_name(name): value for name, value in donor.instruction.decode(donor.descriptor).items()}
    for low, high in (("h32", "l8"), ("l32", "h8"), ("l32", "h13")):
        for side in ("src", "dst"):
            if f"{side}_start_addr_{low}" in values and f"{side}_start_addr_{high}" in values:
                parts = values[f"{side}_start_addr_{low}"], values[f"{side}_start_addr_{high}"]
                _set_address(values, side, parts)
    ddr = chip.geometry.device_address(Space.GLOBAL, 1 << max(chip.geometry.tag_shift, 0))
    for side in ("index", "mask"):
        _set_address(values, side, (ddr & 0xFFFFFFFF, ddr >> 32))
    values.setdefault("opd1_prec", values.get("opd0_prec", 0))
    values.setdefault("opd0_prec", values.get("res0_prec", 0))
    values |= {"mask_data_format": 0, "index_data_format": 4}
    names = {name: shared_name(name) for name, _, _ in form.fields}
    fields = {name: values[shared] for name, shared in names.items() if shared in values and shared not in _HEAD}
    return Case(chip, kind, form.encode(chip.instruction_set.blank(kind), **fields), made=True)


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
    for cases in found.values():
        by_name[cases[0].name] += cases
    return dict(by_name)


def _models(chip: Chip, directories: Iterable[Path]) -> list[Path]:
    """Context directories of a chip: those in a folder of its name, or else of a chip with the same instructions."""
    folders = [directory / chip.name.lower() for directory in directories]
    if not any(folder.is_dir() for folder in folders):
        folders = [directory / str(chip.table) for directory in directories]
    return [path for folder in folders if folder.is_dir() for path in sorted(folder.iterdir()) if path.is_dir()]
