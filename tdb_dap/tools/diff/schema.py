"""Schema of the difference of two compiled models, as written to JSON."""

from __future__ import annotations

from typing import Literal

from tdb_dap.tools.check.schema import Row
from tdb_dap.tools.report_schema import Measured


class Side(Measured, frozen=True, kw_only=True):
    """One of the models. ``commands``: engine -> number of commands."""

    model: str
    net: str
    chip: str
    compiler: str
    commands: dict[str, int]


class Change(Measured, frozen=True, kw_only=True):
    """One thing in which they differ; an empty side has no such thing."""

    what: str
    a: str
    b: str


class LayerChange(Measured, frozen=True, kw_only=True):
    """A layer of both models that is compiled differently. Lines are those of each final.mlir."""

    name: str
    line_a: int
    line_b: int
    changes: tuple[Change, ...]


class LayerOf(Measured, frozen=True, kw_only=True):
    """A layer that only one model has."""

    name: str
    line: int
    opcode: str


class DiffReport(Measured, frozen=True, kw_only=True):
    """Two models. ``values``: the tensors of B against those of A, empty if values were not compared.

    ``common``: layers that both models have; ``not_compared``: why values were not compared, if they were not;
    ``unlike_inputs``: whether no inputs fit both, so that only the structure counts.
    """

    schema_version: Literal[1] = 1
    tool: str
    a: Side
    b: Side
    common: int
    only_a: tuple[LayerOf, ...]
    only_b: tuple[LayerOf, ...]
    layers: tuple[LayerChange, ...]
    instructions: tuple[Change, ...]
    values: tuple[Row, ...]
    not_compared: str = ""
    unlike_inputs: bool = False

    @property
    def differing_values(self) -> tuple[Row, ...]:
        """Results beyond tolerance, in the order of execution."""
        return tuple(row for row in self.values if row.verdict == "fail" and row.role != "operand")

    @property
    def is_same(self) -> bool:
        """Whether nothing differs, as far as it was compared."""
        return self.is_same_structure and not self.differing_values and not self.unlike_inputs

    @property
    def is_same_structure(self) -> bool:
        """Whether both consist of the same layers, compiled alike."""
        return not (self.only_a or self.only_b or self.layers or self.instructions)
