"""Arithmetic of one line: the small instruction whose whole descriptor is 128 bits. Written from the fields."""

from __future__ import annotations

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import Row, family, flag, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.arithmetic import CAST

# Addresses have 16 bits and reach every word of a lane.
_ADDRESS_BITS = 16


def _place(f: Fields, address: int) -> tuple[Space, int]:
    """The first lane has its own field."""
    lane_bytes = f.geometry.lane_bytes
    return Space.LOCAL, f.start_tid * lane_bytes + address * max(1, lane_bytes >> _ADDRESS_BITS)


def _line(prefix: str, **details: object) -> Row:
    """An operand of one row per lane; a column stride of zero repeats its first element."""

    def strides(f: Fields) -> tuple[int, ...]:
        step = f.number(f"{prefix}_w_str")
        return 0, f.res0_w if step else 1, 0, step

    return operand(
        prefix,
        (1, "res0_c", 1, "res0_w"),
        Layout.STRIDE,
        strides=strides,
        constant=False,
        space=lambda f: _place(f, f.number(f"{prefix}_addr")),
        **details,
    )


@family("lar", registers=("LAR",), evidence="fields")
class LineArithmetic:
    """One operation per element of one row per lane, from the lane ``first_lane`` on."""

    left = _line("opd0")
    right = _line("opd1", when=lambda f: f.tsk_opd_num > 1)
    third = operand("opd2", (1, 1, 1, 1), dtype="opd0_prec", sign=0, when=flag("opd2_const"))
    result = result_(
        "res0",
        (1, "res0_c", 1, "res0_w"),
        Layout.COMPACT,
        sign=lambda f: f.opd1_sign if f.sub == CAST else f.opd0_sign or f.opd1_sign,
        space=lambda f: _place(f, f.res0_addr),
    )
    attributes = {"first_lane": "start_tid", "round_mode": "opd2_n_str"}
