"""The text that the vendor's disassembler prints for one command, including its defects.

Ours is in ``engine.listing``; this one exists so that listings can be compared line by line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tdb_dap.engine.dtypes import BF16
from tdb_dap.engine.views import Constant, Layout, Operand, View, memref_text
from tdb_dap.targets.families.declaration import Bound


def command_text(bound: Bound, name: str, engine: str, own: int, dependency: int) -> str:
    """``{results}, %B{id} = "{op}"({operands}, %D{dep}) {attributes} : (types, none) -> (types, none)``."""
    mine, other = ("B", "D") if engine == "tiu" else ("D", "B")
    operands, results = bound.vendor_operands(), bound.vendor_results()
    if not bound.results:
        return f'%{mine}{own} = "{name}"(%{other}{dependency})'
    if engine == "dma":
        results = results[:1]
    left = ", ".join([*(f"%{r.name}" for r in results), f"%{mine}{own}"])
    arguments = ", ".join([*(_name(o) for o in operands), f"%{other}{dependency}"])
    operand_types = ", ".join([*map(_type, operands), "none"])
    result_types = ", ".join([*map(_type, results), "none"])
    attributes = _attributes(bound.attributes)
    return f'{left} = "{name}"({arguments}) {attributes} : ({operand_types}) -> ({result_types})'


def _attributes(attributes: Mapping[str, Any]) -> str:
    if not attributes:
        return ""
    return re.sub(r":", " =", str(dict(attributes)).replace("'", ""))


def _name(operand: Operand) -> str:
    if isinstance(operand, Constant) and operand.dtype is BF16:
        # Read as float32 there, with the bf16 in the low half.
        return f"%C{float(np.array([operand.bits], np.uint32).view(np.float32)[0])}"
    return f"%{operand.name}"


def _type(operand: Operand) -> str:
    if isinstance(operand, View) and operand.layout is Layout.DMA_LINEAR and len(operand.shape) == 1:
        return f"memref<{operand.shape[0]}x{operand.dtype}, strides: [1,]>"
    if isinstance(operand, View):
        hidden = operand.layout in (Layout.ALIGN_IC, Layout.MATRIX, Layout.MATRIX2)
        return memref_text(operand.shape, operand.dtype, None if hidden else operand.strides)
    return operand.dtype.name
