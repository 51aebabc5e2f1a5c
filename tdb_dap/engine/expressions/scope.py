"""Meaning of names in an expression at one line and moment."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from tdb_dap.engine.expressions.lexer import Level
from tdb_dap.engine.expressions.presence import overwriter_of_border, overwriter_of_operand, overwriter_of_result
from tdb_dap.engine.expressions.values import Value
from tdb_dap.engine.hardware import dtypes
from tdb_dap.engine.hardware.addresses import parse_address
from tdb_dap.engine.hardware.byte_ranges import ByteRanges, share_a_byte
from tdb_dap.engine.hardware.dtypes import Array
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.strides import contiguous
from tdb_dap.engine.hardware.views import Constant, Layout, View, strides_of
from tdb_dap.engine.rendering.printable import quoted
from tdb_dap.engine.source.value_flow import Argument, Definition
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.commands.net_tensors import Tensor
    from tdb_dap.engine.machine.machine import Machine
    from tdb_dap.engine.program.program import Launch, Subnet
    from tdb_dap.engine.reference.reference import Reference
    from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp, Region
    from tdb_dap.engine.source.source_map import MappedTensor, OpRecord


def _nobody() -> str:
    return ""


_OF_LAUNCHES: dict[str, Callable[[Launch], int | None]] = {
    "token": lambda launch: launch.token,
    "layer": lambda launch: launch.layer,
    "launch": lambda launch: launch.number,
}
"""Numbers of a language model's run; NaN, which is equal to nothing, in a net that is no layer."""


class Scope(Struct, frozen=True):
    """The names visible from command ``focus``, seen as a hardware command or as its op.

    ``line``: where value ids are looked up in final.mlir; None: at the line of the op in focus.
    """

    machine: Machine
    reference: Reference | None
    focus: int
    level: Level = "command"
    line: int | None = None

    @property
    def command(self) -> Command | None:
        """The command in focus; None past the end of the program."""
        commands = self.machine.program.commands
        return self.machine.command_at(self.focus) if self.focus < len(commands) else None

    @property
    def record(self) -> OpRecord | None:
        """The op instance in focus."""
        records = self.machine.program.source.records_of(self.focus) if self.command else ()
        return records[0] if records else None

    @property
    def moment(self) -> str:
        """Suffix that gives a name the same meaning for the whole session: ``@202``, ``@op202``, ``@202:40``."""
        if self.line is not None:
            return f"@{self.focus}:{self.line}"
        return f"@op{self.focus}" if self._is_op else f"@{self.focus}"

    def seen_from(self, focus: int, level: Level, line: int | None) -> Scope:
        """The names as command ``focus`` sees them, whatever has been executed."""
        count = len(self.machine.program.commands)
        if not 0 <= focus <= count:
            raise BadExpression(f"@{focus}: there is no such command; there are {count}, from 0")
        return Scope(self.machine, self.reference, focus, level, line)

    @property
    def _is_op(self) -> bool:
        """A command that belongs to no op is always seen as the command it is."""
        return self.level == "op" and self.record is not None

    def operands(self) -> list[Value]:
        """Operands of the command or op in focus."""
        return self._op_operands() if self._is_op else self._views("operand_roles", "operands")

    def results(self) -> list[Value]:
        """Results of the command or op in focus, computed or not."""
        return self._op_results() if self._is_op else self._views("result_roles", "results")

    def references(self) -> list[Value]:
        """Expected results of the op in focus."""
        values: list[Value] = []
        for named in self.record.results if self.record else ():
            values.append(self._reference(named))
        return values

    def values(self, kind: str) -> Sequence[Value]:
        return {"in": self.operands, "out": self.results, "ref": self.references}[kind]()

    def value(self, name: str) -> Value:
        """The tensor of a value id: the own operand or result of the op in focus, else as it is meant in its region."""
        for value in self._own_values() if self._looks_at_own_op else ():
            if value.title.partition(" ")[0] == name:
                return value
        mlir = self.machine.program.source.mlir
        if mlir is None:
            raise BadExpression(f"{name}: this model has no final.mlir")
        region = mlir.region_at(self.line if self.line is not None else self._line or 0)
        base = name.partition("#")[0]
        op = mlir.op_visible_in(region, name)
        if op is None and not base.startswith("%arg"):
            op = self._only(name, list(self._elsewhere(mlir, region, base)))
        if op is None:
            return self._argument(name, region)
        if op.result_count > 1 and name == base:
            raise BadExpression(f"{name} stands for {op.result_count} values; write {name}#0 to #{op.result_count - 1}")
        return self._result(name, op)

    @property
    def _looks_at_own_op(self) -> bool:
        record = self.record
        return record is not None and self.line in (None, record.line)

    def _own_values(self) -> list[Value]:
        return [*self._op_operands(), *self._op_results()]

    def _elsewhere(self, mlir: MlirFile, region: Region | None, name: str) -> Iterator[MlirOp]:
        """Definitions that are not visible from a region: inside of bodies; from ``main``, in any function."""
        if region is not None and region.function in self._functions:
            yield from region.outermost.definitions(name)
        else:
            for function in mlir.bodies:
                yield from function.definitions(name)

    @property
    def _functions(self) -> set[str]:
        return {subnet.function for subnet in self.machine.program.subnets}

    def _only(self, name: str, ops: Sequence[MlirOp]) -> MlirOp | None:
        """The one definition that can be meant; BadExpression if there are several."""
        if len(ops) > 1:
            source = self.machine.program.source
            places = ", ".join(source.place_text(op.line) for op in ops[:4]) + (", ..." if len(ops) > 4 else "")
            firsts = (record.first for op in ops for record in source.records_at(op.line))
            example = next(firsts, None)
            pinned = "" if example is None else f", or write {name}@op{example} for what command {example} sees"
            raise BadExpression(f"{name} stands for {len(ops)} values ({places}); select a frame of one{pinned}")
        return ops[0] if ops else None

    def _result(self, name: str, op: MlirOp) -> Value:
        """A result of an op, in the instance nearest to the focus; of a group or call, what it passes on."""
        flow = self.machine.program.source.flow
        leaves = list(flow.leaves(name, op.region)) if flow is not None else []
        for leaf in leaves:
            if isinstance(leaf, Argument):
                return self._argument(leaf.name, op.region, leaf.function)
            if (computed := self._computed(name, leaf)) is not None:
                return computed
        for leaf in (*leaves, Definition(op, op.result_index(name))):
            if isinstance(leaf, Definition) and (locations := leaf.op.locations):
                return self.location(locations[leaf.index if leaf.index < len(locations) else 0])
        return self._unplaced(name)

    def _computed(self, name: str, definition: Definition) -> Value | None:
        """Result of an op, as its records have it."""
        for record in self._nearest(lambda r: r.line == definition.op.line):
            result = record.result(definition.index)
            if result is not None and result.view is not None:
                return self._result_of(record, result, name)
        return None

    def location(self, name: str) -> Value:
        if name in _OF_LAUNCHES and (launch := self._launch) is not None:
            number = _OF_LAUNCHES[name](launch)
            return Value(name, lambda: np.asarray(np.nan if number is None else number))
        if (border := self._in_its_own_memory(name)) is not None:
            return border
        for record in self._nearest(lambda r: any(v.name == name for v in (*r.results, *r.operands))):
            for named, is_result in (*((v, True) for v in record.results), *((v, False) for v in record.operands)):
                if named.name == name and named.view is not None:
                    return self._result_of(record, named) if is_result else self._operand_of(record, named)
        program = self.machine.program
        for tensor in program.inputs:
            if tensor.name == name:
                return self._border("input", tensor, 0)
        for tensor in program.outputs:
            if tensor.name == name:
                return Value(name, self._reader(tensor.view), tensor.view, pending=not self._is_written(tensor))
        raise BadExpression(f"there is no tensor named {quoted(name)}")

    def _in_its_own_memory(self, name: str) -> Value | None:
        """An input or output of the net that ops have a copy of, which others may overwrite; None for all else.

        Where the op in focus has the tensor, its copy is meant; of an output also before it is copied from there.
        """
        program, record = self.machine.program, self.record
        if record is not None and any(value.name == name for value in (*record.operands, *record.results)):
            return None
        launch = program.launch_at(min(self.focus, len(program.commands) - 1)) if program.launches else None
        inputs, outputs = program.borders_of(launch) if launch is not None else (program.inputs, program.outputs)
        tensor = next((tensor for tensor in (*inputs, *outputs) if tensor.name == name), None)
        if tensor is None or (tensor not in inputs and not self._is_written(tensor)):
            return None
        used = (v.view for r in program.source.records for v in (*r.operands, *r.results) if v.name == name)
        places = {(view.space, view.address) for view in used if view is not None and view.space.is_shared}
        if not places or (tensor.view.space, tensor.view.address) in places:
            return None
        return Value(name, self._reader(tensor.view), tensor.view)

    def _is_written(self, tensor: Tensor) -> bool:
        return self.machine.accesses.last_writer(ByteRanges.of(tensor.view), self.machine.ordinal) is not None

    def alias(self, number: int) -> Value:
        mlir = self.machine.program.source.mlir
        names = mlir.resolve(f"#loc{number}") if mlir else ()
        if not names:
            raise BadExpression(f"there is no #loc{number}")
        return self.location(names[0])

    def memory(self, address: str, core: int | None, dtype: str, shape: tuple[int, ...]) -> Value:
        geometry = self.machine.program.target.geometry
        space, offset = parse_address(address, geometry)
        number_format = dtypes.BY_NAME.get(dtype)
        if number_format is None:
            raise BadExpression(f"{quoted(dtype)} is not a type; there are {', '.join(dtypes.BY_NAME)}")
        if not shape or any(extent <= 0 for extent in shape):
            raise BadExpression(f"{address}: a shape is a list of positive numbers")
        layout, strides = Layout.CONTIGUOUS, contiguous(shape)
        if space is Space.LOCAL and len(shape) > 1:
            if len(shape) > 4:
                raise BadExpression(f"{address}: tensors in local memory have at most 4 dimensions")
            n, c, h, w = shape = (1,) * (4 - len(shape)) + shape
            layout = Layout.ALIGN_EU
            strides = strides_of(geometry, layout, offset, (n, c, h, w), number_format)
        if core is None:
            core = self.command.core if self.command else 0
        view = View(space, offset, shape, number_format, layout, strides, geometry, core=core)
        return Value(address, self._reader(view), view)

    def at(self, address: str) -> Value:
        name = address.lstrip("%")
        for value in (*self._views("operand_roles", "operands"), *self._views("result_roles", "results")):
            if isinstance(value.view, View) and value.view.name == name:
                return value
        raise BadExpression(f"{name} is not an operand here; to read memory add a type: {name}:f32[1,64,8,8]")

    def expected(self, value: Value) -> Value:
        if value.named is None:
            raise BadExpression(f"{value.title} has no name that a reference could know; write ref(%16) or ref(in[0])")
        return self._reference(value.named)

    def border(self, kind: str, name: str) -> Value:
        """An input or output of the net by its name, or of the subnet in focus; or a weight."""
        program = self.machine.program
        if kind == "weight":
            named = program.source.weights.get(name)
            if named is not None:
                return self._named(named)
            raise BadExpression(f"there is no weight named {quoted(name)}")
        subnet = self._subnet
        for part, end in ((program, len(program.commands)), *(((subnet, subnet.stop),) if subnet is not None else ())):
            for tensor in part.inputs if kind == "input" else part.outputs:
                if tensor.name == name:
                    return self._border(kind, tensor, end)
        raise BadExpression(f"there is no {kind} named {quoted(name)}")

    def _border(self, kind: str, tensor: Tensor, end: int, title: str = "") -> Value:
        """An input, or an output that is there when command ``end`` is reached."""
        pending = kind == "output" and self.machine.ordinal < end
        read = self._reader(tensor.view)
        who = self._saying(lambda: overwriter_of_border(self.machine, tensor.view, -1)) if kind == "input" else _nobody
        return Value(title or tensor.name, read, tensor.view, pending=pending, overwriter=who)

    @property
    def _launch(self) -> Launch | None:
        """The launch of an answer that the focus is in."""
        launches = self.machine.program.launches
        if not launches or launches[0].token is None:
            return None
        return self.machine.program.launch_at(min(self.focus, launches[-1].stop - 1))

    @property
    def _subnet(self) -> Subnet | None:
        command = self.command
        subnets = self.machine.program.subnets
        return next((s for s in subnets if command is not None and s.id == command.subnet), None)

    def _op_operands(self) -> list[Value]:
        """Operands under their names in final.mlir. The compiler's record has an empty entry for an absent one."""
        record, op = self.record, self._op
        if record is None:
            return []
        names = op.operands if op else ()
        entries: Sequence[object] = record.raw.list_of("operands")
        if len(names) != len(entries):
            return [self._operand_of(record, named) for named in record.operands]
        present = [name for name, entry in zip(names, entries, strict=True) if entry]
        return [self._operand_of(record, named, name) for named, name in zip(record.operands, present, strict=True)]

    def _op_results(self) -> list[Value]:
        record, op = self.record, self._op
        if record is None:
            return []
        name = op.results[0] if op and len(op.results) == 1 else ""
        several = len(record.results) > 1
        return [
            self._result_of(record, named, f"{name}#{i}" if name and several else name)
            for i, named in enumerate(record.results)
        ]

    @property
    def _line(self) -> int | None:
        """The line of final.mlir that names are looked up at.

        That of the command in focus or of the nearest one before it; past the end, where ``main`` returns.
        """
        source = self.machine.program.source
        if self.command is None and source.mlir is not None:
            return source.mlir.last_line_of_main
        for ordinal in range(self.focus, -1, -1):
            if lines := source.lines_of(ordinal):
                return lines[0]
        return None

    @property
    def _op(self) -> MlirOp | None:
        record = self.record
        return self.machine.program.source.op_of(record) if record else None

    def _views(self, roles: str, views: str) -> list[Value]:
        command = self.command
        if command is None:
            return []
        pending = views == "results" and self.focus >= self.machine.ordinal
        listed: list[Value] = []
        named: Sequence[str] = getattr(command, roles)
        for i, view in enumerate(getattr(command, views)):
            title = f"{named[i]} " if i < len(named) else ""
            listed.append(Value(f"{title}%{view.name}", self._reader(view), view, pending=pending))
        return listed

    def _is_pending(self, record: OpRecord) -> bool:
        return bool(record.ordinals) and record.last >= self.machine.ordinal

    def _result_of(self, record: OpRecord, named: MappedTensor, mlir_name: str = "") -> Value:
        """A result of an op: not yet computed before it has ended, overwritten once another tensor is there."""
        who = self._saying(lambda: overwriter_of_result(self.machine, record, named))
        is_pending = self._is_pending(record) or self._is_completed_by_others(record, named)
        return self._named(named, mlir_name, is_pending, who)

    def _is_completed_by_others(self, record: OpRecord, named: MappedTensor) -> bool:
        """Whether other cores or slices of this launch have not written their parts of a shared result yet."""
        view = named.view
        if view is None or not view.space.is_shared:
            return False
        program = self.machine.program
        launch = program.launch_at(record.first) if record.ordinals else None
        others = (
            other
            for other in program.source.records_at(record.line)
            if self._is_pending(other) and (launch is None or launch.start <= other.first < launch.stop)
        )
        return any(
            value.name == named.name and value.view is not None and share_a_byte(value.view, view)
            for other in others
            for value in other.results
        )

    def _operand_of(self, record: OpRecord, named: MappedTensor, mlir_name: str = "") -> Value:
        """An operand of an op, there until another tensor is in its place."""
        who = self._saying(lambda: overwriter_of_operand(self.machine, record, named))
        return self._named(named, mlir_name, overwriter=who)

    def _named(
        self,
        named: MappedTensor,
        mlir_name: str = "",
        pending: bool = False,
        overwriter: Callable[[], str] = _nobody,
    ) -> Value:
        if named.view is None:
            return self._unplaced(named.name)
        title = f"{mlir_name} {named.name}".strip()
        return Value(title, self._reader(named.view), named.view, named, pending, overwriter=overwriter)

    def _saying(self, find: Callable[[], int | None]) -> Callable[[], str]:
        """Says which command ``find`` finds: ``B111 (line 39)``; nothing if there is none."""

        def who() -> str:
            ordinal = find()
            if ordinal is None:
                return ""
            command = self.machine.command_at(ordinal)
            source = self.machine.program.source
            place = f" ({source.place_text(command.mlir_lines[0])})" if command.mlir_lines else ""
            return f"{command.token}{place}"

        return who

    def _reader(self, view: View | Constant) -> Callable[[], Array]:
        return lambda: self.machine.read(view)

    def _unplaced(self, name: str) -> Value:
        def fail() -> Array:
            raise BadExpression(f"{name} has no place in memory that is known")

        return Value(name, fail)

    def _expected(self, named: MappedTensor) -> Callable[[], Array]:
        def read() -> Array:
            reference = self.reference
            if reference is None:
                raise BadExpression("no reference is loaded")
            expected = reference.expected(named)
            if expected is None:
                raise BadExpression(f"the reference has no {named.name!r} of this size")
            return expected

        return read

    def _reference(self, named: MappedTensor) -> Value:
        return Value(f"ref {named.name}", self._expected(named), is_real=True)

    def _argument(self, name: str, region: Region | None, function: str = "") -> Value:
        """An argument of a function: an input of its subnet, or of the net."""
        if re.fullmatch(r"%arg\d+", name):
            inputs = self._arguments(function or (region.function if region is not None else ""))
            number = int(name.removeprefix("%arg"))
            if number < len(inputs):
                return self._border("input", inputs[number], 0, f"{name} {inputs[number].name}")
        raise BadExpression(f"{name} is not defined in this function")

    def _arguments(self, function: str) -> Sequence[Tensor]:
        """Inputs of the subnet that a function is of, which are its arguments; else those of the net."""
        program = self.machine.program
        return next((subnet.inputs for subnet in program.subnets if subnet.function == function), program.inputs)

    def _nearest(self, wanted: Callable[[OpRecord], bool]) -> Iterator[OpRecord]:
        """Records that fit: the one in focus, then those before it from the last on, then later ones.

        Of several cores the core in focus comes first: each has its own local memory.
        """
        source = self.machine.program.source
        here, command = self.record, self.command
        core = command.core if command is not None else 0
        if here is not None and wanted(here):
            yield here
        matching = [r for r in source.records if wanted(r) and r is not here]
        done = [r for r in matching if not r.ordinals or r.last < self.focus]
        yield from sorted(done, key=lambda r: (r.core == core, r.last if r.ordinals else -1), reverse=True)
        yield from sorted((r for r in matching if r.ordinals and r.last >= self.focus), key=lambda r: r.core != core)
