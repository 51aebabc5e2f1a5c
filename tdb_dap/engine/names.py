"""What the names of an expression mean at one place and time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tdb_dap.engine import dtypes
from tdb_dap.engine.addresses import parse_address
from tdb_dap.engine.dtypes import Array
from tdb_dap.engine.geometry import Space
from tdb_dap.engine.layouts import contiguous, strides_of
from tdb_dap.engine.values import Value
from tdb_dap.engine.views import Constant, Layout, View
from tdb_dap.errors import BadExpression

if TYPE_CHECKING:
    from tdb_dap.engine.commands import Command
    from tdb_dap.engine.inspection import Inspection
    from tdb_dap.engine.mlir import MlirOp
    from tdb_dap.engine.source_map import NamedValue, OpRecord
    from tdb_dap.engine.tensors import Tensor

Level = Literal["command", "op"]
"""Whether ``in`` and ``out`` mean the operands of the hardware command or of the op in final.mlir."""


@dataclass(frozen=True)
class Scope:
    """The names visible from command ``focus``, seen as a hardware command or as its op."""

    debugger: Inspection
    focus: int
    level: Level = "command"

    @property
    def command(self) -> Command | None:
        """The command in focus; None behind the end of the program."""
        commands = self.debugger.program.commands
        return self.debugger.machine.command_at(self.focus) if self.focus < len(commands) else None

    @property
    def record(self) -> OpRecord | None:
        """The op instance in focus."""
        records = self.debugger.program.source.records_of(self.focus) if self.command else ()
        return records[0] if records else None

    def operands(self) -> list[Value]:
        """Operands of the command or op in focus."""
        if self.level == "op":
            return self._op_operands()
        return self._views("operand_roles", "operands")

    def results(self) -> list[Value]:
        """Results of the command or op in focus, computed or not."""
        if self.level == "op":
            return self._op_results()
        return self._views("result_roles", "results")

    def references(self) -> list[Value]:
        """Expected results of the op in focus."""
        found: list[Value] = []
        for named in self.record.results if self.record else ():
            found.append(Value(f"ref {named.name}", self._expected(named)))
        return found

    def values(self, kind: str) -> Sequence[Value]:
        return {"in": self.operands, "out": self.results, "ref": self.references}[kind]()

    def value(self, name: str) -> Value:
        name = name.split("#")[0]
        mlir = self.debugger.program.source.mlir
        if mlir is None:
            raise BadExpression(f"{name}: this model has no final.mlir")
        line = self._line
        op = mlir.op_defining(name, line) if line is not None else None
        if op is not None:
            for record in self._nearest(lambda r: r.line == op.line):
                for result in record.results:
                    if result.view is not None:
                        return self._named(result, name, self._is_pending(record))
            return self.location(op.location) if op.location else self._unplaced(name)
        return self._argument(name)

    def location(self, name: str) -> Value:
        for record in self._nearest(lambda r: any(v.name == name for v in (*r.results, *r.operands))):
            pending = self._is_pending(record)
            for named, is_result in (*((v, True) for v in record.results), *((v, False) for v in record.operands)):
                if named.name == name and named.view is not None:
                    return self._named(named, pending=pending and is_result)
        program = self.debugger.program
        for tensor in (*program.inputs, *program.outputs):
            if tensor.name == name:
                return Value(name, self._reader(tensor.view), tensor.view)
        raise BadExpression(f"there is no tensor named {name!r}")

    def alias(self, number: int) -> Value:
        mlir = self.debugger.program.source.mlir
        names = mlir.resolve(f"#loc{number}") if mlir else ()
        if not names:
            raise BadExpression(f"there is no #loc{number}")
        return self.location(names[0])

    def memory(self, address: str, core: int | None, dtype: str, shape: tuple[int, ...]) -> Value:
        geometry = self.debugger.program.target.geometry
        space, offset = parse_address(address, geometry)
        number_format = dtypes.BY_NAME.get(dtype)
        if number_format is None:
            raise BadExpression(f"{dtype!r} is not a type; there are {', '.join(dtypes.BY_NAME)}")
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
        return Value(f"ref {value.named.name}", self._expected(value.named))

    def _op_operands(self) -> list[Value]:
        """Operands under their names in final.mlir. The compiler's record has an empty entry for an absent one."""
        record, op = self.record, self._op
        if record is None:
            return []
        names = op.operands if op else ()
        entries: Sequence[object] = record.raw.list_of("operands")
        if len(names) != len(entries):
            return [self._named(named) for named in record.operands]
        present = [name for name, entry in zip(names, entries, strict=True) if entry]
        return [self._named(named, name) for named, name in zip(record.operands, present, strict=True)]

    def _op_results(self) -> list[Value]:
        record, op = self.record, self._op
        if record is None:
            return []
        name = op.results[0] if op and len(op.results) == 1 else ""
        several = len(record.results) > 1
        return [
            self._named(named, f"{name}#{i}" if name and several else name, self._is_pending(record))
            for i, named in enumerate(record.results)
        ]

    @property
    def _line(self) -> int | None:
        """The line of final.mlir that names are looked up at: of the command in focus or the nearest before it."""
        source = self.debugger.program.source
        for ordinal in range(min(self.focus, len(self.debugger.program.commands) - 1), -1, -1):
            if lines := source.lines_of(ordinal):
                return lines[0]
        return None

    @property
    def _op(self) -> MlirOp | None:
        mlir, record = self.debugger.program.source.mlir, self.record
        return mlir.op_at(record.line) if mlir and record else None

    def _views(self, roles: str, views: str) -> list[Value]:
        command = self.command
        if command is None:
            return []
        pending = views == "results" and self.focus >= self.debugger.ordinal
        found: list[Value] = []
        named: Sequence[str] = getattr(command, roles)
        for i, view in enumerate(getattr(command, views)):
            title = f"{named[i]} " if i < len(named) else ""
            found.append(Value(f"{title}%{view.name}", self._reader(view), view, pending=pending))
        return found

    def _is_pending(self, record: OpRecord) -> bool:
        return bool(record.ordinals) and record.last >= self.debugger.ordinal

    def _named(self, named: NamedValue, mlir_name: str = "", pending: bool = False) -> Value:
        if named.view is None:
            return self._unplaced(named.name)
        title = f"{mlir_name} {named.name}".strip()
        return Value(title, self._reader(named.view), named.view, named, pending)

    def _reader(self, view: View | Constant) -> Callable[[], Array]:
        return lambda: self.debugger.machine.read(view)

    def _unplaced(self, name: str) -> Value:
        def fail() -> Array:
            raise BadExpression(f"{name} has no place in memory that is known")

        return Value(name, fail)

    def _expected(self, named: NamedValue) -> Callable[[], Array]:
        def read() -> Array:
            reference = self.debugger.reference
            if reference is None:
                raise BadExpression("no reference is loaded")
            expected = reference.expected(named)
            if expected is None:
                raise BadExpression(f"the reference has no {named.name!r} of this size")
            return expected

        return read

    def _argument(self, name: str) -> Value:
        """A value without an operation of its own: an argument of the function, or of the op's neighbours."""
        for value in self._op_operands():
            if value.title.split(" ")[0] == name:
                return value
        if re.fullmatch(r"%arg\d+", name):
            inputs = self._arguments()
            number = int(name.removeprefix("%arg"))
            if number < len(inputs):
                return Value(f"{name} {inputs[number].name}", self._reader(inputs[number].view), inputs[number].view)
        raise BadExpression(f"{name} is not defined in this function")

    def _arguments(self) -> Sequence[Tensor]:
        """Inputs of the subnet in focus, which are the arguments of its function."""
        program, command = self.debugger.program, self.command
        for subnet in program.subnets:
            if command is not None and subnet.id == command.subnet:
                return subnet.inputs
        return program.inputs

    def _nearest(self, wanted: Callable[[OpRecord], bool]) -> Iterator[OpRecord]:
        """Records that fit: the one in focus, then those before it from the last on, then later ones."""
        source = self.debugger.program.source
        here = self.record
        if here is not None and wanted(here):
            yield here
        matching = [r for r in source.records if wanted(r) and r is not here]
        done = [r for r in matching if not r.ordinals or r.last < self.focus]
        yield from sorted(done, key=lambda r: r.last if r.ordinals else -1, reverse=True)
        yield from (r for r in matching if r.ordinals and r.last >= self.focus)
