"""Damaged commands, compared with the vendor's simulator: what it does not execute must be refused here, too.

A mutant is a command of a model with one field, bit or byte changed. Nothing is known of it but what both sides do:

- ``agree``: both execute it, to the same bytes; ``refused``: it is illegal, not simulated or outside of memory here
- ``silent``: the vendor's simulator ends and ours computes without a word; ``differs``: both compute, something else
- ``failed``: ours raises an error that is none for users
- ``undefined``: the vendor's simulator does not agree with itself
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from scripts.robustness.fuzz_simulator.bench import Bench
from scripts.robustness.fuzz_simulator.contents import Random
from scripts.robustness.fuzz_simulator.mutation import move_into_bench, with_registers
from scripts.robustness.fuzz_simulator.seeds import Case
from scripts.robustness.fuzz_simulator.variant import Variant
from tdb_dap.engine.hardware.views import View
from tdb_dap.errors import NotSimulated, TdbError
from tdb_dap.targets.declaration.fields import shared_name

BROKEN = ("silent", "differs", "failed")
"""Verdicts that are faults of ours."""


@dataclass(frozen=True)
class Mutant:
    """A damaged command. ``change``: the field, and its numbers before and after."""

    case: Case
    sound: Case
    """The command as it was: what is known of its form must not hide the damage."""
    change: str


def mutants(seeds: dict[str, list[Case]], random: Random, ddr_start: int) -> Iterator[Mutant]:
    """Mutants of all seeds in turn, without an end; each operation is as frequent as any other."""
    names = sorted(seeds)
    while True:
        for name in names:
            seed = seeds[name][int(random.integers(len(seeds[name])))]
            variant = Variant(seed, random, "finite", ddr_start)
            move_into_bench(variant)
            mutant = _damaged(with_registers(variant.finished(seed.kind), random), random)
            if mutant is not None:
                yield mutant


def neighbours(seeds: dict[str, list[Case]], random: Random, ddr_start: int, bits: int) -> Iterator[Mutant]:
    """Of each operation one command, with every other number in each field of at most so many bits."""
    for name in sorted(seeds):
        seed = seeds[name][int(random.integers(len(seeds[name])))]
        variant = Variant(seed, random, "finite", ddr_start)
        move_into_bench(variant)
        case = with_registers(variant.finished(seed.kind), random)
        before = case.instruction.decode(case.descriptor)
        for field, _, width in _fields(case):
            for value in range(1 << width if width <= bits else 0):
                descriptor = case.instruction.encode(case.descriptor, **{field: value})
                mutant = _made(case, bytes(descriptor), f"{shared_name(field)}: {before[field]} -> {value}")
                if mutant is not None:
                    yield mutant


def _fields(case: Case) -> list[tuple[str, int, int]]:
    """Names, positions and widths of the fields that a command has, but those that order commands."""
    before = case.instruction.decode(case.descriptor)
    names = before.keys() - {*case.chip.id_fields, *case.chip.dependency_fields}
    return [each for each in case.instruction.fields if each[0] in names]


def _damaged(case: Case, random: Random) -> Mutant | None:
    """The command with one field, bit or byte changed; None where that makes it no command at all."""
    instruction = case.instruction
    before = instruction.decode(case.descriptor)
    descriptor, fields = bytearray(case.descriptor), _fields(case)
    name, position, width = fields[int(random.integers(len(fields)))]
    if random.random() < 0.5:
        bit = position + int(random.integers(width))
        descriptor[bit // 8] ^= 1 << bit % 8
    else:
        value = before[name]
        most = (1 << width) - 1
        choices = (0, 1, 2, most, value + 1, value - 1, 2 * value, value // 2, int(random.integers(min(most, 64) + 1)))
        value = choices[int(random.integers(len(choices)))] & most
        descriptor = bytearray(instruction.encode(case.descriptor, **{name: value}))
    after = instruction.decode(bytes(descriptor)).get(name, 0)
    return _made(case, bytes(descriptor), f"{shared_name(name)}: {before[name]} -> {after}")


def _made(case: Case, descriptor: bytes, change: str) -> Mutant | None:
    """None if nothing is changed, or the bytes are no command."""
    kind = case.chip.kind_of(case.engine, descriptor)
    if descriptor == case.descriptor or kind is None:
        return None
    made = replace(case, kind=kind, descriptor=descriptor)
    if (
        made.instruction.size != len(descriptor)
        or made.instruction.register not in _known()
        or made.instruction.writes_registers
        or case.chip.is_system(kind)
    ):
        return None
    return Mutant(made, case, change)


def _known() -> frozenset[str]:
    from tdb_dap.targets.families import FAMILIES

    return frozenset(FAMILIES)


def walk(bench: Bench, damaged: Iterable[Mutant], random: Random, show: int) -> dict[str, Counter[str]]:
    """Verdicts of mutants by operation; prints up to ``show`` broken ones of each operation and field."""
    rows: dict[str, Counter[str]] = defaultdict(Counter)
    shown: Counter[str] = Counter()
    for mutant in damaged:
        outcome = bench.run_mutant(mutant.case, mutant.sound, random)
        rows[mutant.case.name][outcome.verdict] += 1
        key = f"{mutant.case.name} {mutant.change.split(':')[0]} {outcome.verdict}"
        shown[key] += 1
        if outcome.verdict in BROKEN and shown[key] <= show:
            print(f"{bench.chip.name} {mutant.case.name} {outcome.verdict}: {mutant.change}: {_short(outcome.text)}")
            print(f"    {_text(mutant.case)}", flush=True)
    return dict(rows)


def _short(text: str) -> str:
    """The assertion out of what the vendor's simulator said, and not where its source was."""
    return text.split("it said: ")[-1].rsplit("/", 1)[-1][:260]


def _text(case: Case) -> str:
    try:
        bound = case.description.binding
        named = [*bound.operands.items(), *((f"-> {role}", view) for role, view in bound.results.items())]
        parts = [f"{role} {each.memref if isinstance(each, View) else each.value}" for role, each in named]
        return f"{', '.join(parts)} {dict(case.description.attributes)}"
    except (NotSimulated, TdbError, ArithmeticError) as error:
        return str(error)
