"""Comparison and selection."""

from __future__ import annotations

from tdb_dap.engine.hardware.dtypes import DType
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.declaration.family import RESULT_SHAPE, Storage, family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.formats import among, moved_as_they_are

GREATER_AND_SELECT, SELECT_GREATER, SELECT_EQUAL, LESS_AND_SELECT, SELECT_LESS = 22, 23, 24, 25, 26


def _storage(name: str) -> Storage:
    """Storage code 3 means one number per channel here."""
    layouts = {0: Layout.ALIGN_EU, 1: Layout.COMPACT, 2: Layout.PER_CHANNEL, 3: Layout.PER_CHANNEL}

    def layout(f: Fields) -> Layout:
        code = f.number(name)
        if code not in layouts:
            raise NotSimulated(f"operand storage code {code} is not defined")
        return layouts[code]

    return layout


def _selected_dtype(f: Fields) -> DType:
    """Selected numbers are moved, not interpreted: they carry no sign."""
    return f.dma_dtype(f.opd2_prec)


def _two_results(f: Fields) -> bool:
    return f.sub in (GREATER_AND_SELECT, LESS_AND_SELECT)


@family("cmp", registers=("sCMP", "CMP"))
class Compare:
    """condition(left, right) ? when_true : when_false; two forms also give the greater or lesser of left and right."""

    left = operand("opd0", RESULT_SHAPE, _storage("opd0_str"))
    right = operand("opd1", RESULT_SHAPE, _storage("opd1_str"), dtype="opd0_prec", sign="opd0_sign")
    when_true = operand("opd2", RESULT_SHAPE, dtype=_selected_dtype)
    when_false = operand("opd3", RESULT_SHAPE, dtype=_selected_dtype)
    chosen = result_("res0", RESULT_SHAPE, dtype="opd0_prec", sign="opd0_sign", when=_two_results)
    selected = result_(
        "res0",
        RESULT_SHAPE,
        dtype=_selected_dtype,
        address=lambda f: "res1_addr" if _two_results(f) else "res0_addr",
    )
    rules = (among("opd2_prec", moved_as_they_are, "chosen numbers"),)
