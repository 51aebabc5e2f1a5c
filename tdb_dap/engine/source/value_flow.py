"""Flow of the values of final.mlir: through the bodies of groups and the functions of subnets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from tdb_dap.engine.source.mlir_attributes import integer
from tdb_dap.system.patterns import pattern

if TYPE_CHECKING:
    from tdb_dap.engine.source.mlir_file import MlirFile, MlirOp, Region

_YIELDS = ("tpu.Yield", "top.Yield")
_CALL = pattern(r"\bcall @([\w.$-]+)\(")

RETURNS = ("return", "func.return")
"""What ends a function."""


class Definition(Struct, frozen=True):
    """Result ``index`` of an operation that computes it."""

    op: MlirOp
    index: int


class Argument(Struct, frozen=True):
    """An argument of a function: ``%arg0``."""

    function: str
    name: str


def called_by(op: MlirOp) -> str | None:
    """Name of the function that an operation calls; None if it is no call."""
    match = _CALL.search(op.text) if op.name in ("call", "func.call") else None
    return match[1] if match else None


class ValueFlow:
    """Follows values out of bodies and called functions. ``calls``: the call of each function that is called."""

    def __init__(self, mlir: MlirFile) -> None:
        self._mlir = mlir
        self._yields: dict[Region, MlirOp] = {}
        self._returns: dict[str, MlirOp] = {}
        self.calls: dict[str, MlirOp] = {}
        for op in mlir.ops.values():
            if op.name in _YIELDS and op.region is not None:
                self._yields[op.region] = op
            elif op.name in RETURNS:
                self._returns[op.function] = op
            elif (function := called_by(op)) is not None:
                self.calls[function] = op

    def is_passed_on(self, op: MlirOp) -> bool:
        """Whether an operation's results are computed inside of it: in its bodies, or in the function it calls."""
        return bool(op.bodies) or called_by(op) in self._returns

    def leaves(self, value: str, region: Region | None) -> Iterator[Definition | Argument]:
        """Definitions that compute a value of a region; one for each body that yields it, none if unknown."""
        open_ = [(value, region)]
        seen: set[tuple[str, Region]] = set()
        while open_:
            name, here = open_.pop(0)
            if here is None or (name, here) in seen:  # a damaged file may call its own caller
                continue
            seen.add((name, here))
            op = self._mlir.op_visible_in(here, name)
            if op is None:
                if name.startswith("%arg"):
                    yield Argument(here.function, name)
            elif self.is_passed_on(op):
                index = op.result_index(name)
                ends = [self._yields.get(body) for body in op.bodies] or [self._returns.get(called_by(op) or "")]
                open_ += [(end.operands[index], end.region) for end in ends if end and index < len(end.operands)]
            else:
                yield Definition(op, op.result_index(name))

    def outside(self, argument: Argument) -> tuple[Definition | Argument, ...]:
        """Definitions in other subnets that compute an argument of a subnet; empty for inputs of the net."""
        call = self.calls.get(argument.function)
        number = argument.name.removeprefix("%arg")
        if call is None or not number.isdigit() or integer(number) >= len(call.operands):
            return ()
        operand = call.operands[int(number)]
        producer = self._mlir.op_visible_in(call.region, operand)
        if producer is None or not self.is_passed_on(producer):
            return ()
        return tuple(self.leaves(operand, call.region))
