"""Rules that moves of CV18xx keep. Source: the assertions of the maker's emulator."""

from __future__ import annotations

from tdb_dap.engine.hardware.byte_ranges import are_overwritten, share_a_byte
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import View
from tdb_dap.targets.declaration.family import Bound
from tdb_dap.targets.families.cv18xx.legality import fields_are, has_results_apart

_FILL = 4
"""Special function of a move: a constant is its source."""
_BYTE, _BF16 = 1, 2
"""Formats of a move."""


def _moves_something(bound: Bound) -> str:
    f = bound.fields
    names = [f"dst_{axis}" for axis in "chw"]
    if f.sys_dtype and f.sub != _FILL:
        names += ["src_c", "src_w"]
    elif not (f.sub == _FILL or f.compress_en):
        names += [f"src_{axis}" for axis in "nchw"]
    return next((f"its field {name} is 0" for name in names if not f.number(name)), "")


def _formats_fit(bound: Bound) -> str:
    """On the way into local memory bytes become bfloat16, and not the other way round; a constant has one format."""
    f = bound.fields
    narrows = f.trans_dir == 0 and not f.compress_en and f.src_fmt == _BF16
    differ = f.src_fmt != f.dst_fmt and (f.sub == _FILL or narrows)
    return f"its formats are {f.src_fmt} and {f.dst_fmt}" if differ else ""


def _rows_fit(bound: Bound) -> str:
    """A matrix in local memory has a batch for each row, of one line."""
    f = bound.fields
    if f.trans_dir != 0 or not f.sys_dtype:
        return ""
    if f.src_n != f.src_c or f.dst_h != 1:
        return f"its matrix of {f.src_c} rows goes into {f.src_n}x{f.dst_h}"
    if f.dst_c != -(-f.src_w // f.dst_w):
        return f"its matrix of {f.src_w} columns goes into {f.dst_c}x{f.dst_w}"
    return ""


def _begins_in_ddr(bound: Bound) -> str:
    """Some chips count the bytes of DDR from a number on, and have none below it."""
    f = bound.fields
    for side, view in (("src", bound.operands.get("source")), ("dst", bound.results["destination"])):
        if isinstance(view, View) and view.space is not Space.LOCAL:
            byte = f.number(f"{side}_base_addr_high") << 32 | f.number(f"{side}_base_addr_low")
            if byte < f.conventions.ddr_start:
                return f"its {side} is at byte {byte:,} of DDR, which begins at {f.conventions.ddr_start:,}"
    return ""


def _reads_before_it_writes(bound: Bound) -> str:
    """Elements move one after the other: what was overwritten before its turn is not what was to be moved."""
    source, destination = bound.operands.get("source"), bound.results["destination"]
    if not isinstance(source, View) or not isinstance(destination, View) or not share_a_byte(source, destination):
        return ""
    if source.size != destination.size:
        return "its destination overlaps its source"
    f = bound.fields
    is_copy = source.dtype is destination.dtype and not f.mv_lut_idx and not f.mv_lut_base
    is_late = are_overwritten(source, destination, is_copy)
    return "its destination overlaps its source, elements of which come later" if is_late else ""


MOVES = (
    fields_are(src_fmt=(_BYTE, _BF16), dst_fmt=(_BYTE, _BF16)),
    _moves_something,
    _formats_fit,
    _rows_fit,
    fields_are(lambda f: bool(f.mv_lut_idx), mv_lut_base=0),
    _begins_in_ddr,
    _reads_before_it_writes,
    has_results_apart,
)
