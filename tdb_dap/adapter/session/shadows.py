"""Shadows of the tensors of the loaded program, made when they are first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tdb_dap.engine.source.mapped_tensor import layer_names
from tdb_dap.errors import BadInput
from tdb_dap.tools.golden.reference import numbers
from tdb_dap.tools.shadow.shadow import Shadow

if TYPE_CHECKING:
    from tdb_dap.engine.control.debugger import Debugger
    from tdb_dap.engine.hardware.dtypes import Array
    from tdb_dap.engine.source.source_map import MappedTensor


class Shadows:
    """State of a session: what the tensors of its program would be, at their precision and ideally."""

    def __init__(self) -> None:
        self._of: Debugger | None = None
        self._shadow: Shadow | None = None

    def has(self, debugger: Debugger, named: MappedTensor) -> bool:
        """Whether the compilation's text is there and knows the tensor; nothing is computed."""
        return self._name(debugger, named) is not None

    def of(self, debugger: Debugger, named: MappedTensor) -> dict[str, Array]:
        """``expected`` and ``ideal`` in the shape of the value, float64, as far as there are goldens."""
        shadow, name = self._of_program(debugger), self._name(debugger, named)
        arrays: dict[str, Array] = {}
        if shadow is None or name is None:
            return arrays
        for title, tensors in (("expected", shadow.expected), ("ideal", shadow.ideal)):
            tensor = tensors.get(name)
            try:
                part = named.expected(tensor) if tensor is not None else None
            except (ValueError, IndexError):
                continue  # laid out in another way
            if part is not None and named.view is not None and part.size == named.view.size:
                arrays[title] = part.reshape(named.view.shape)
        return arrays

    def _name(self, debugger: Debugger, named: MappedTensor) -> str | None:
        shadow = self._of_program(debugger)
        if shadow is None or named.rearranged:
            return None
        return next((name for name in layer_names(named.name) if shadow.knows(name)), None)

    def _of_program(self, debugger: Debugger) -> Shadow | None:
        if self._of is not debugger:
            self._of, self._shadow = debugger, None
            program, words = debugger.program, debugger.machine.inputs
            try:
                if words:
                    self._shadow = Shadow(program.context.bmodel, numbers(words, program.inputs))
            except BadInput:
                pass  # compiled without --debug
        return self._shadow
