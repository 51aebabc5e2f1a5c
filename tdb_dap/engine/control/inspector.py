"""Looking at a program at one moment, and overwriting what it holds: names, expressions, outputs, writers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tdb_dap.engine.control.listener import Listener
from tdb_dap.engine.control.stops import Finding, Reason, Stop
from tdb_dap.engine.expressions.assignment import Part, assign, part_named
from tdb_dap.engine.expressions.evaluator import evaluate
from tdb_dap.engine.expressions.lexer import Level
from tdb_dap.engine.expressions.scope import Scope
from tdb_dap.engine.expressions.values import Value
from tdb_dap.engine.hardware.byte_ranges import ByteRanges
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.views import Constant, View
from tdb_dap.engine.machine.not_computed import NotComputed

if TYPE_CHECKING:
    from tdb_dap.engine.control.breakpoints import Breakpoint
    from tdb_dap.engine.hardware.memory import Memory
    from tdb_dap.engine.machine.machine import Machine
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.reference.reference import Reference


class Inspector:
    """A program on a machine, as it is now: what observers and conditions see of a debugger.

    ``last_stop``: its command is looked at if none is named. ``listener``: receives log points and notes. ``excepted``:
    names of tensors that are never compared with the reference.
    """

    def __init__(self, program: Program, machine: Machine, reference: Reference | None, listener: Listener) -> None:
        self.program = program
        self.machine = machine
        self.reference = reference
        self.listener = listener
        self.excepted: frozenset[str] = frozenset()
        self.last_stop = self.stop("entry")

    @property
    def ordinal(self) -> int:
        """Number of commands executed so far."""
        return self.machine.ordinal

    @property
    def at_end(self) -> bool:
        """Whether every command has been executed."""
        return self.ordinal >= len(self.program.commands)

    @property
    def memory(self) -> Memory:
        """The machine's memories, live."""
        return self.machine.memory

    def scope(self, focus: int | None = None, level: Level | None = None, line: int | None = None) -> Scope:
        """The names visible at a command (default: what the last stop is about), or on a line of final.mlir.

        ``focus``: its ordinal; after the last one the number of commands. BadExpression for any other.
        """
        stop = self.last_stop
        at = stop.focus if focus is None else self.program.require_ordinal(focus)
        return Scope(self.machine, self.reference, at, level or stop.level, line)

    def evaluate(self, expression: str, scope: Scope | None = None) -> Value:
        """Value of an expression; BadExpression says what is wrong with it."""
        return evaluate(expression, scope or self.scope())

    def evaluate_computed(self, expression: str, scope: Scope) -> Value:
        """As ``evaluate``; NotYetComputed, before anything is computed, if some of its numbers are not there."""
        return evaluate(expression, scope, only_computed=True)

    def holds(self, condition: str, scope: Scope) -> bool:
        """Whether any number of an expression is not zero; BadExpression if it is not yet computed."""
        return bool(self.evaluate(condition, scope).computed.any())

    def read(self, what: View | Constant | str) -> Array:
        """Numbers of a view or expression in their logical shape; bf16 widened to float32.

        A tensor that is not yet computed comes marked, see ``outputs``; BadExpression for one that is overwritten.
        """
        if isinstance(what, str):
            value = self.evaluate(what)
            if value.pending:
                return NotComputed.mark(value.array, f"{value.title} is not yet computed", "read of its view")
            return value.array
        return self.machine.read(what)

    def write(self, what: View | str, value: Any) -> None:
        """Overwrite the tensor, slice or element that a view or expression names; ``value`` is broadcast to it."""
        part = part_named(what, self.scope()) if isinstance(what, str) else Part(f"%{what.name}", what)
        assign(self.machine, part, value)

    def outputs(self, raw: bool = False, partial: bool = False) -> dict[str, Array]:
        """The net's outputs by name; integers as (stored - zero point) * scale unless ``raw``.

        An output whose size depends on the data has the shape that the run gave it. One that is not computed yet is
        marked: to use its numbers raises NotFinished; with ``partial`` it is what memory happens to hold.
        """
        arrays: dict[str, Array] = {}
        for tensor in self.program.outputs:
            bits = self.memory.read(tensor.view)
            shape = self.machine.shapes.get(tensor.name)
            if shape is not None:
                bits = bits.reshape(-1)[: math.prod(shape)].reshape(shape)
            numbers = tensor.dtype.widen(bits) if raw else tensor.raise_(bits)
            if not partial and not self._is_computed(tensor.name):
                if numbers.dtype.kind == "f":  # what numpy.asarray takes the mark away from is no number either
                    numbers = np.full_like(numbers, np.nan)
                numbers = NotComputed.mark(numbers, f"{tensor.name} is not computed: {self._why_not_finished()}")
            arrays[tensor.name] = numbers
        return arrays

    def _is_computed(self, name: str) -> bool:
        """Whether the subnets that an output of the net comes from have been executed to their ends."""
        ends = [s.stop for s in self.program.subnets if any(tensor.name == name for tensor in s.outputs)]
        return self.ordinal >= max(ends, default=len(self.program.commands))

    def _why_not_finished(self) -> str:
        finding = self.last_stop.finding
        why = f" ({finding.text})" if finding is not None and self.last_stop.ordinal == self.ordinal else ""
        return f"{self.ordinal:,} of {len(self.program.commands):,} commands are executed{why}"

    def who_wrote(self, what: View | str) -> int | None:
        """Ordinal of the last executed command that wrote any byte of a place, or None."""
        place = part_named(what, self.scope()).ranges if isinstance(what, str) else ByteRanges.of(what)
        return self.machine.accesses.last_writer(place, self.ordinal)

    def _core_of(self, focus: int) -> int:
        """The core that a stop is about; at the end the one that did the last op: others may only have waited."""
        commands = self.program.commands
        if focus >= len(commands):
            last = self.program.source.last_owned
            focus = len(commands) - 1 if last is None else last
        return commands[focus].core if len(commands) else 0

    def stop(
        self,
        reason: Reason,
        focus: int | None = None,
        finding: Finding | None = None,
        breakpoints: tuple[Breakpoint, ...] = (),
        level: Level = "op",
    ) -> Stop:
        """A stop at this moment; ``focus``: the command it is about, default: the next one."""
        focus = self.ordinal if focus is None else focus
        return Stop(
            reason,
            self.ordinal,
            focus,
            core=self._core_of(focus),
            description=finding.title if finding else "",
            text=finding.text if finding else "",
            breakpoints=breakpoints,
            finding=finding,
            level=level,
        )
