"""The text that the vendor's disassembler prints for one command, including its defects.

Ours is in ``engine.listing``; this one exists so that listings can be compared line by line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from tdb_dap.engine.hardware.dtypes import BF16
from tdb_dap.engine.hardware.views import Constant, Layout, Operand, View, memref_text
from tdb_dap.targets.declaration.family import Bound


class Style(Struct, frozen=True):
    """Style of the vendor's text for a chip."""

    cores: bool = True
    """Ids carry the core."""
    colon: str = ": "
    """Before the types."""
    decompress: bool = False
    """Moves print the attribute of that name."""
    loses_dependencies: bool = False
    """Of two register writes in a row the first is given no dependency."""
    described: bool = False
    """Commands print what the family's ``vendor_text`` says and no operands."""


PLAIN = Style()


def command_text(bound: Bound, name: str, engine: str, ids: tuple[int, int], style: Style) -> str:
    """``{results}, %B{id} = "{op}"({operands}, %D{dep}) {attributes} : (types, none) -> (types, none)``."""
    if bound.vendor_text and not style.described:
        return bound.vendor_text
    mine, other = ("B", "D") if engine == "tiu" else ("D", "B")
    core = f"C{bound.fields.core}" if style.cores else ""
    own, dependency = f"%{mine}{ids[0]}{core}", f"%{other}{ids[1]}{core}"
    if style.described:
        return f"{own} = {bound.vendor_text}({dependency})"
    attributes = _attributes(bound.vendor_attributes(style.decompress))
    if not bound.results:
        message = bound.message
        if message is not None:
            return f'{own} = "{name}"({dependency}, %msg{message[0]}) {{msg_id = {message[0]}, cnt = {message[1]}}}'
        return f'{own} = "{name}"({dependency})' + (f" {attributes}" if attributes else "")
    operands, results = bound.vendor_operands(), bound.vendor_results()
    if engine == "dma":
        results = results[:1]
    left = ", ".join([*(f"%{r.name}" for r in results), own])
    arguments = ", ".join([*(_name(o) for o in operands), dependency])
    operand_types = ", ".join([*map(_type, operands), "none"])
    result_types = ", ".join([*map(_type, results), "none"])
    between = f" {attributes}{style.colon}" if attributes else f" {style.colon.lstrip()}" if style.cores else "  : "
    return f'{left} = "{name}"({arguments}){between}({operand_types}) -> ({result_types})'


def _attributes(attributes: Mapping[str, Any]) -> str:
    if not attributes:
        return ""
    return str(dict(attributes)).replace("'", "").replace(":", " =")


def _name(operand: Operand) -> str:
    if isinstance(operand, Constant) and operand.dtype is BF16:
        # Read as float32 there, with the bf16 in the low half.
        return f"%C{float(np.array([operand.bits], np.uint32).view(np.float32)[0])}"
    if isinstance(operand, Constant) and operand.dtype.is_float and operand.dtype.itemsize == 1:
        # The stored word.
        return f"%C{operand.bits & 0xFF}"
    return f"%{operand.name}"


def _type(operand: Operand) -> str:
    if isinstance(operand, View) and len(operand.shape) == 1:  # a tuple of one element, as Python writes it
        stride = operand.strides[0] if operand.strides else 1
        return f"memref<{operand.shape[0]}x{operand.dtype}, strides: [{stride},]>"
    if isinstance(operand, View):
        hidden = operand.layout in (Layout.ALIGN_IC, Layout.MATRIX, Layout.MATRIX2)
        return memref_text(operand.shape, operand.dtype, None if hidden else operand.strides)
    # Constants of four bits are listed as bytes.
    return operand.dtype.name.replace("4", "8") if operand.dtype.per_byte > 1 else operand.dtype.name
