"""Use of the fields of instruction forms, and which of the others have no effect.

A command is simulated only if every field that is not zero is used or known to have no effect: whatever else it asks
for is refused by the field's name. What is used is not written down but found: views are bound to random fields that
note who looks at them, and the names that a semantic function and what it calls contain are read from their code.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from scripts.robustness.fuzz_simulator.without_effect import reason_of
from tdb_dap.engine.hardware.geometry import Geometry
from tdb_dap.errors import TdbError
from tdb_dap.targets.chips.chip import Chip
from tdb_dap.targets.declaration.fields import Conventions, Fields
from tdb_dap.targets.declaration.instruction_set import Instruction
from tdb_dap.targets.families import FAMILIES

_DRAWS = 800
_REGISTERS = (5, 6, 32, 33)
"""Configuration registers that views look at."""

_PACKAGE = "tdb_dap.targets."
_AXES = "nchw"


class _Watched(Fields):
    """Fields that note which of them are read; subclasses have a property for each name."""

    def __init__(
        self,
        values: Mapping[str, int],
        sub: int,
        geometry: Geometry,
        read: set[str],
        registers: Mapping[int, int],
        conventions: Conventions,
    ) -> None:
        self.__dict__["_read"] = read
        super().__init__(values, sub, geometry, 0, registers, conventions)

    def four(self, prefix: str, suffix: str = "") -> tuple[int, int, int, int]:
        names = (f"{prefix}_{axis}{suffix}" for axis in _AXES)
        n, c, h, w = (self.number(name) if self.has(name) else 1 for name in names)
        return n, c, h, w


def _noting(name: str) -> property:
    def get(fields: _Watched) -> int:
        values = fields.__dict__
        values["_read"].add(name)
        number: int = values[name]
        return number

    return property(get)


def used_fields(chip: Chip, kind: int) -> frozenset[str]:
    """Shared names of the fields that views or semantics of a form of a chip look at."""
    form, geometry = chip.shared_form(kind), chip.geometry
    family = FAMILIES[form.register]
    names = {name for name, _, _ in form.fields}
    watched = type("_WatchedForm", (_Watched,), {name: _noting(name) for name in names})
    read: set[str] = set()
    for values, registers in _drawn(form, geometry):
        fields = watched(values, form.sub, geometry, read, registers, chip.rules or Conventions())
        for _, row in (*family.operands, *family.results):
            try:
                row.bind(fields)
            except (TdbError, AttributeError, ArithmeticError, ValueError, KeyError):
                continue
    semantic = chip.semantics.get((family.name, form.sub))
    if semantic is not None:
        read |= names & _names_in(semantic)
    return frozenset(read)


def _addresses(form: Instruction) -> list[tuple[str, str]]:
    """Pairs of fields that hold an address: its low 32 bits, and the bits above."""
    names = {name for name, _, _ in form.fields}
    addresses: list[tuple[str, str]] = []
    for low, high in (("l32", "h8"), ("l32", "h13"), ("h32", "l8")):
        pairs = ((name, f"{name[: -len(low)]}{high}") for name in sorted(names) if name.endswith(f"_start_addr_{low}"))
        addresses += [pair for pair in pairs if pair[1] in names]
    return addresses


def _drawn(form: Instruction, geometry: Geometry) -> Iterator[tuple[dict[str, int], dict[int, int]]]:
    """Random fields and configuration registers, the same for a form each time.

    Mostly small numbers: 0, 1, less than 8 or less than 64; addresses are in existing memories.
    """
    draw = random.Random(f"{form.register} {form.sub}")
    numbers = np.random.default_rng(draw.getrandbits(64))
    names = [name for name, _, _ in form.fields]
    widths = np.array([width for _, _, width in form.fields])
    kinds = numbers.integers(0, 4, (_DRAWS, len(names)))
    large = numbers.integers(0, 1 << np.minimum(widths, 6), kinds.shape)
    small = numbers.integers(0, 8, kinds.shape) & ((1 << np.minimum(widths, 3)) - 1)
    addresses = _addresses(form)
    for row in np.where(kinds < 2, kinds, np.where(kinds == 2, small, large)).tolist():
        values = dict(zip(names, row, strict=True))
        for low, high in addresses:
            address = draw.choice(geometry.windows).start
            values[low], values[high] = address & 0xFFFFFFFF, address >> 32
        yield values, {number: draw.choice((0, draw.getrandbits(12))) for number in _REGISTERS}


@cache
def _names_in(function: FunctionType) -> frozenset[str]:
    """Names and words in the code of a function and of those of the package that it calls."""
    names: set[str] = set()
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        current = waiting.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        for code in _codes(current.__code__):
            referenced = {*code.co_names, *_words(code.co_consts)}
            names |= referenced
            if "four" in code.co_names:
                names |= {f"{word}_{axis}" for word in _words(code.co_consts) for axis in _AXES}
            waiting += _called(current, code.co_names)
        waiting += [cell.cell_contents for cell in current.__closure__ or () if _is_ours(cell.cell_contents)]
    return frozenset(names)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _words(constants: tuple[Any, ...]) -> Iterator[str]:
    for constant in constants:
        if isinstance(constant, str):
            yield constant
        elif isinstance(constant, tuple | frozenset):
            yield from _words(tuple(constant))


def _called(function: FunctionType, names: tuple[str, ...]) -> list[FunctionType]:
    """Functions of the package among what the names of a function's code stand for."""
    scope = function.__globals__
    values = [scope[name] for name in names if name in scope]
    for module in [value for value in values if isinstance(value, ModuleType)]:
        values += [vars(module)[name] for name in names if name in vars(module)]
    for value in [value for value in values if isinstance(value, dict)]:
        values += list(value.values())
    return [value for value in values if _is_ours(value)]


def _is_ours(value: Any) -> bool:
    return isinstance(value, FunctionType) and value.__module__.startswith(_PACKAGE)


def unused_fields(chip: Chip, kind: int) -> tuple[str, ...]:
    """Shared names of the fields that nothing looks at and that are not known everywhere to have no effect."""
    used = used_fields(chip, kind)
    unused = (name for name, _, _ in chip.shared_form(kind).fields if name not in used and reason_of(name) is None)
    return tuple(dict.fromkeys(unused))
