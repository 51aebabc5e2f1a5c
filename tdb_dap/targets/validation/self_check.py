"""Self-check of a chip's page and its instruction table, without a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import Struct

from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.declaration.instruction_set import Instruction
from tdb_dap.targets.families import FAMILIES
from tdb_dap.targets.validation.evidence import Evidence, evidence


class Report(Struct, frozen=True):
    """``problems``: contradictions in the table; ``undescribed``: registers whose operands nobody has declared;

    ``simulated``: instruction forms that have a semantic function, of ``forms`` that have operands; ``evidence``: how
    many of the forms rest on what.
    """

    problems: tuple[str, ...]
    undescribed: tuple[str, ...]
    forms: int
    simulated: int
    evidence: Mapping[Evidence, int]


def check(chip: Chip) -> Report:
    """Fields side by side without gap or overlap, lengths as declared, heads told apart, mnemonics unique."""
    instructions = chip.instruction_set.instructions
    problems = [problem for instruction in _registers(instructions) for problem in _layout(instruction)]
    problems += _repeated(instructions)
    described = [i for i in instructions if i.register in FAMILIES and FAMILIES[i.register].results]
    return Report(
        tuple(problems),
        tuple(sorted({i.register for i in instructions if i.register not in FAMILIES})),
        len(described),
        sum(is_simulated(chip, instruction) for instruction in described),
        Counter(evidence(chip.name, instruction) for instruction in described),
    )


def is_simulated(chip: Chip, instruction: Instruction) -> bool:
    """Whether a form is executed: it has a semantic function, or concerns order and registers only."""
    family = FAMILIES.get(instruction.register)
    if (
        family is None
        or chip.rules is None
        or instruction.is_unproven
        or chip.rules.does_lack(family.name, instruction.sub)
    ):
        return False
    return (family.name, instruction.sub) in chip.semantics or family.name in ("system", "registers")


def _registers(instructions: Sequence[Instruction]) -> list[Instruction]:
    """One instruction per register layout."""
    return list({instruction.register: instruction for instruction in instructions}.values())


def _layout(instruction: Instruction) -> list[str]:
    problems: list[str] = []
    next_bit = 0
    for name, bit, width in instruction.fields:
        if bit != next_bit:
            problems.append(f"{instruction.register}.{name} starts at bit {bit} instead of {next_bit}")
        next_bit = bit + width
    if next_bit > instruction.bits:
        problems.append(f"{instruction.register} lists {next_bit} bits and declares {instruction.bits}")
    return problems


def _repeated(instructions: Sequence[Instruction]) -> list[str]:
    """A mnemonic may stand for a long and a short form, not for two operations."""
    pairs = {(i.engine, i.mnemonic, i.kind, i.sub) for i in instructions}
    counts = Counter((engine, mnemonic) for engine, mnemonic, _, _ in pairs)
    return [
        f"{engine} mnemonic {mnemonic} stands for {count} operations"
        for (engine, mnemonic), count in sorted(counts.items())
        if count > 1
    ]
