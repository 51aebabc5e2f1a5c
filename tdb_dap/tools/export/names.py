"""Names of tensors in an exported script: those of final.mlir where they fit, else the role and the command."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING

from tdb_dap.engine.hardware.views import View

if TYPE_CHECKING:
    from tdb_dap.engine.commands.commands import Command
    from tdb_dap.engine.program.program import Program
    from tdb_dap.engine.source.mapped_tensor import MappedTensor

_LONGEST = 80
"""Characters of a name: it becomes that of a file as well."""

_RESERVED = {"chip", "np", "main", "Chip", "Constant", "Instruction", "Layout", "Path", "GEOMETRY", "RULES", "DDR"}


def identifier(text: str) -> str:
    """A Python name that resembles ``text``."""
    name = re.sub(r"\W+", "_", text).strip("_")[:_LONGEST] or "tensor"
    if not f"_{name}".isidentifier():  # a letter or digit to a pattern, but not to Python
        name = re.sub(r"\W+", "_", name, flags=re.ASCII)
    if name[0].isdigit() or keyword.iskeyword(name) or name in _RESERVED:
        name = f"t_{name}"
    return name


class TensorNames:
    """Gives each place, shape and number format one name."""

    def __init__(self, program: Program) -> None:
        self._records = {ordinal: record for record in program.source.records for ordinal in record.ordinals}
        self._names: dict[tuple[object, ...], str] = {}
        self._taken: set[str] = set()

    def of(self, view: View, role: str, command: Command) -> tuple[str, bool]:
        """The name of a tensor, and whether it is new: then the script must say where it is."""
        where = (view.space, view.core, view.address, view.lane_mask)
        key = (*where, view.shape, view.dtype.name, view.layout, view.strides, view.width)
        known = self._names.get(key)
        if known is not None:
            return known, False
        wanted = identifier(self._named(view, command) or f"{role}_{command.token}")
        name, number = wanted, 2
        while name in self._taken:
            name, number = f"{wanted}_{number}", number + 1
        self._taken.add(name)
        self._names[key] = name
        return name, True

    def _named(self, view: View, command: Command) -> str:
        record = self._records.get(command.ordinal)
        values: tuple[MappedTensor, ...] = (*record.results, *record.operands) if record is not None else ()
        for value in values:
            other = value.view
            if other is not None and (other.space, other.address, other.core) == (view.space, view.address, view.core):
                return value.name + ("" if other.size == view.size else "_part")
        return ""
