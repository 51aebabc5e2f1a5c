"""Faults for a program, chosen at random but always the same for a seed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from random import Random

from scripts.robustness.mutate_models.mutant import Fault, dropped, lowered, swapped
from tdb_dap.engine.commands.commands import Command
from tdb_dap.engine.hardware.target import Description
from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.program.program import Program
from tdb_dap.errors import TdbError

DROPPED, SHIFTED, LOWERED = "dropped command", "shifted address", "lowered dependency"
SWAPPED, SHORTENED, SILENT = "swapped order", "shortened DMA", "removed message"
LOST = "lost send or wait"
KINDS = (DROPPED, SHIFTED, LOWERED, SWAPPED, SHORTENED, SILENT, LOST)

_ADDRESS = re.compile(r"(opd\d|res\d)_addr$|(src|dst)_start_addr_(l32|h32)$")
_SIZE = re.compile(r"src_([nchw])size$")
_STEPS = (1, 2, 4, 16, 64)
"""How far an address is shifted: this many times the width of the execution units, back or forth."""


def faults(program: Program, random: Random) -> dict[str, list[Fault]]:
    """All that can be made of a program, by kind, in random order."""
    found = {
        DROPPED: list(_dropped(program, messages=False)),
        SHIFTED: list(_shifted(program, random)),
        LOWERED: list(_lowered(program, random)),
        SWAPPED: list(_swapped(program)),
        SHORTENED: list(_shortened(program, random)),
        SILENT: list(_silenced(program)),
        LOST: list(_dropped(program, messages=True)),
    }
    for made in found.values():
        random.shuffle(made)
    return found


def _group(command: Command) -> str:
    return f"subnet {command.subnet}, core {command.core}"


def _offset(program: Program, command: Command) -> int:
    """First byte of a command in its stream."""
    group = command.subnet_info.groups[command.core][0]
    span = group.tiu if command.engine == "tiu" else group.dma
    return int(program.commands.columns.offset[command.ordinal]) - span.start


def _name(command: Command) -> str:
    return f"{command.ordinal} {command.token} {command.name}"


def _moving(program: Program) -> list[Command]:
    """Commands that move or compute something."""
    plain = [c for c in program.commands if c.engine in ("tiu", "dma") and c.has_descriptor and not c.is_system]
    return [c for c in plain if not program.target.writes_registers(c.kind)]


def _dropped(program: Program, messages: bool) -> Iterator[Fault]:
    commands = [c for c in program.commands if program.message_of(c.ordinal)] if messages else _moving(program)
    for command in commands:
        change = dropped(command.engine, _offset(program, command), command.id)
        kind = LOST if messages else DROPPED
        yield Fault(kind, f"{_name(command)} left out", ((_group(command), change),))


def _silenced(program: Program) -> Iterator[Fault]:
    """All sends of a message, and all waits for it, left out."""
    takers: dict[int, list[Command]] = {}
    for command in program.commands:
        message = program.message_of(command.ordinal)
        if message is not None:
            takers.setdefault(message.number, []).append(command)
    for number, commands in takers.items():
        # From the last of a stream to the first, so that the ids of the others stay what they are.
        commands.sort(key=lambda command: -command.ordinal)
        changes = tuple((_group(c), dropped(c.engine, _offset(program, c), c.id)) for c in commands)
        yield Fault(SILENT, f"message {number} left out, {len(commands)} commands", changes)


def _streams(program: Program) -> dict[tuple[int, int, str], list[Command]]:
    found: dict[tuple[int, int, str], list[Command]] = {}
    for command in program.commands:
        if command.engine in ("tiu", "dma"):
            found.setdefault((command.subnet, command.core, command.engine), []).append(command)
    return found


def _lowered(program: Program, random: Random) -> Iterator[Fault]:
    for commands in _streams(program).values():
        known = 0
        for command in commands:
            if command.dep > known and not program.target.writes_registers(command.kind):
                wait = random.randrange(known, command.dep)
                change = lowered(command.engine, _offset(program, command), wait)
                text = f"{_name(command)} waits for {wait}, not {command.dep}"
                yield Fault(LOWERED, text, ((_group(command), change),))
            known = max(known, command.dep)


def _swapped(program: Program) -> Iterator[Fault]:
    moving = {command.ordinal for command in _moving(program)}
    for commands in _streams(program).values():
        for one, other in pairwise(commands):
            if one.ordinal in moving and other.ordinal in moving and one.descriptor != other.descriptor:
                change = swapped(one.engine, _offset(program, one))
                yield Fault(SWAPPED, f"{_name(one)} behind {_name(other)}", ((_group(one), change),))


def _places(description: Description) -> list[tuple[str, int]]:
    views = (*description.reads, *description.results)
    return [(view.space.value, view.address) for view in views if isinstance(view, View)]


def _shifted(program: Program, random: Random) -> Iterator[Fault]:
    for command in _moving(program):
        fields = [name for name in command.fields if _ADDRESS.search(name)]
        random.shuffle(fields)
        for field in fields:
            step = random.choice(_STEPS) * random.choice((-1, 1)) * program.target.geometry.eu_bytes
            fault = _edited(program, command, SHIFTED, {field: command.fields[field] + step})
            if fault is not None:
                yield fault


def _shortened(program: Program, random: Random) -> Iterator[Fault]:
    for command in _moving(program):
        if command.engine != "dma":
            continue
        axes = [axis for axis in "nchw" if command.fields.get(f"src_{axis}size", 1) > 1]
        for axis in axes:
            size = command.fields[f"src_{axis}size"]
            less = random.randrange(size // 2, size)
            sides = {f"{side}_{axis}size" for side in ("src", "dst")} & set(command.fields)
            same = {name: max(less, 1) for name in sides if command.fields[name] == size}
            fault = _edited(program, command, SHORTENED, same)
            if fault is not None:
                yield fault


def _edited(program: Program, command: Command, kind: str, values: dict[str, int]) -> Fault | None:
    """A fault in fields of a command; None where it changes nothing of what the command touches."""
    if any(value < 0 for value in values.values()):
        return None
    target = program.target
    registers = program.commands.registers(command.core, command.ordinal)
    descriptor = target.encode(command.kind, command.descriptor, values)
    try:
        changed = target.describe(command.kind, descriptor, command.core, registers)
        before, after = command.description, changed
        if kind == SHIFTED and _places(before) == _places(after):
            return None
        if kind == SHORTENED and [v.memref for v in _views(before)] == [v.memref for v in _views(after)]:
            return None
    except TdbError:
        return None
    text = ", ".join(f"{name} = {value} instead of {command.fields[name]}" for name, value in sorted(values.items()))
    offset = int(program.commands.columns.offset[command.ordinal])
    return Fault(kind, f"{_name(command)}: {text}", offset=offset, descriptor=descriptor)


def _views(description: Description) -> list[View]:
    return [view for view in (*description.reads, *description.results) if isinstance(view, View)]
