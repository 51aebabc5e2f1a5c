"""Edits of commands, to see what would follow: fields changed for this run, and what follows from it."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.views import View
from tdb_dap.engine.machine.edits import CommandEdit, Skip
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.errors import BadExpression, NotSimulated

if TYPE_CHECKING:
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.machine.machine import Machine


def change_field(machine: Machine, ordinal: int, field: str, value: int) -> None:
    """From now on command ``ordinal`` is executed with another value in one of its fields; the program stays as it is.

    BadExpression where the field or the value does not exist, the command has been executed already, or it sets up
    registers that other commands depend on.
    """
    if ordinal >= len(machine.program.commands):
        raise BadExpression("the run has ended, there is no next command; go back first: goto N")
    command = machine.command_at(ordinal)
    where = f"command {ordinal} ({command.token} {command.name})"
    if not command.has_descriptor:
        raise BadExpression(f"{where} is a subnet that is not made of commands; it has no fields")
    if ordinal < machine.ordinal:
        raise BadExpression(f"{where} has been executed; go back first: goto {ordinal}")
    target = machine.program.target
    if target.writes_registers(command.kind):
        raise BadExpression(f"{where} sets up registers for other commands; change their own fields instead")
    if field not in command.fields:
        near = get_close_matches(field, command.fields, 3, 0.4) or list(command.fields)[:8]
        raise BadExpression(
            f"{where} has no field {quoted(field)}; it has {', '.join(near)}, ... (info reg lists them)"
        )
    descriptor = target.encode(command.kind, command.descriptor, {field: value})
    if target.fields(command.kind, descriptor)[field] != value:
        raise BadExpression(f"{where}: {value} does not fit into the field {field}")
    if target.kind_of(command.engine, descriptor) != command.kind:
        raise BadExpression(f"{where}: {field} says what kind of command it is and cannot be changed")
    machine.change_command(ordinal, descriptor, f"{where}: {field} = {value} instead of {command.fields[field]}")


class Consequence(Struct, frozen=True):
    """A command whose result is another one because of the edits of this moment."""

    ordinal: int
    different: int
    """Elements of its results that differ."""
    size: int
    largest: float
    """The largest difference of two finite numbers."""


def consequences(machine: Machine, until: int) -> list[Consequence]:
    """Changes of results up to ``until`` by the edits of commands from this moment on.

    Runs twice, without the edits and with them, and comes back; the machine is where it was afterwards. NotSimulated if
    one of the two runs fails.
    """
    here = machine.ordinal
    edits = [edit for edit in machine.edits if isinstance(edit, CommandEdit | Skip) and edit.made_at >= here]
    if not edits:
        raise BadExpression("nothing has been changed here; whatif FIELD = VALUE does")
    with machine.excursion():
        with machine.without(edits):
            plain = _results(machine, until)
        machine.travel(here)
        changed = _results(machine, until)
    changes: list[Consequence] = []
    for ordinal, (before, after) in enumerate(zip(plain, changed, strict=True), here):
        pairs = [(a, b) for a, b in zip(before, after, strict=False)]
        different = sum(_different(a, b) for a, b in pairs) if len(before) == len(after) else -1
        if different:
            size = sum(b.size for _, b in pairs)
            changes.append(Consequence(ordinal, different, size, max(_largest(a, b) for a, b in pairs)))
    return changes


def _results(machine: Machine, until: int) -> list[list[Array]]:
    """The results of the commands from now to ``until``, as numbers."""
    arrays: list[list[Array]] = []
    while machine.ordinal < until:
        command = machine.command_at(machine.ordinal)
        machine.step()
        try:
            results = () if command.is_system else command.results
        except NotSimulated:
            results = ()
        arrays.append([machine.read(view) for view in results if isinstance(view, View)])
    return arrays


def _different(a: Array, b: Array) -> int:
    if a.shape != b.shape:
        return b.size
    same = a == b
    if a.dtype.kind == "f":
        same |= np.isnan(a) & np.isnan(b)
    return int(a.size - np.count_nonzero(same))


def _largest(a: Array, b: Array) -> float:
    if a.shape != b.shape or not a.size:
        return float("nan")
    with np.errstate(all="ignore"):
        difference = np.abs(a.astype(np.float64) - b.astype(np.float64))
    finite = difference[np.isfinite(difference)]
    return float(finite.max()) if finite.size else float("nan")
