"""Fields that views and semantics do not read because only one value of them is known to be right.

Flipping them changes what the vendor's simulator does, or ends it; compilers give them the value that follows from the
rest of the command.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.dma import tensors as dma

Expected = Callable[[Fields], tuple[int, ...]]


def _all_lanes(name: str) -> Expected:
    """Every lane takes part; no lane matters where neither side is in local memory."""

    def expected(f: Fields) -> tuple[int, ...]:
        sides = [dma.located(f, side)[0] for side in ("src", "dst")]
        low, everything = name.endswith("l32"), (1 << f.geometry.lanes) - 1
        needed = everything & 0xFFFFFFFF if low else everything >> 32
        value = f.number(name)
        return (value,) if Space.LOCAL not in sides or value & needed == needed else (needed,)

    return expected


def _like_source(axis: str) -> Expected:
    """The size that follows from the source, or none."""
    return lambda f: (0, f.number(f"src_{axis}size"))


def _local_matrix(side: str, what: str) -> Expected:
    """Rows and blocks of the side that is cut into blocks; the dense side has neither."""

    def expected(f: Fields) -> tuple[int, ...]:
        other = "src" if side == "dst" else "dst"
        if not dma.is_local(f, side) or dma.is_local(f, other):
            return 0, 1
        height, width = f.number(f"{other}_hsize"), f.number(f"{other}_wsize")
        rows, columns = (width, height) if f.sub == dma.TRANSPOSE else (height, width)
        return (rows,) if what == "n" else (-(-columns // max(1, f.number(f"{side}_wsize"))),)

    return expected


_CONSTANT_OF_BM1684 = 4  # ``families.bm1684.dma.CONSTANT``, which other chips do not import


def _direction(f: Fields) -> tuple[int, ...]:
    """Between which memories a move of BM1684 goes: a constant comes from where it goes to."""
    comes_from_local, goes_to_local = (dma.located(f, side)[0] is Space.LOCAL for side in ("src", "dst"))
    if f.sub == _CONSTANT_OF_BM1684:
        return (3,) if goes_to_local else (2,)
    return ({(False, True): 0, (True, False): 1, (False, False): 2, (True, True): 3}[comes_from_local, goes_to_local],)


def _third(name: str, value: Expected) -> Expected:
    """A size of the third operand of CV18xx, where there is one."""
    return lambda f: value(f) if f.tsk_opd_num == 3 else (f.number(name),)


_THIRD = {
    "opd2_n": lambda f: (1,),
    "opd2_c": lambda f: (f.res0_c,),
    "opd2_h": lambda f: (1,),
    "opd2_w": lambda f: (1, f.res0_w),
}
_EVERY_LANE = (1 << 64) - 1
_EXPECTED: tuple[tuple[str, str, Expected], ...] = (
    ("dma.matrix", "stride_enable", lambda f: (1,)),
    ("dma.matrix", "src_nsize", _local_matrix("src", "n")),
    ("dma.matrix", "src_csize", _local_matrix("src", "c")),
    ("dma.matrix", "dst_nsize", _local_matrix("dst", "n")),
    ("dma.matrix", "dst_csize", _local_matrix("dst", "c")),
    ("dma.tensor@1", "dst_wsize", _like_source("w")),
    ("dma.tensor@1", "nchw_copy", lambda f: (0, 1)),
    ("dma.tensor@3", "dst_nsize", _like_source("n")),
    ("dma.tensor@3", "dst_wsize", _like_source("w")),
    (r"dma.tensor@.|dma.cw_transpose@.", "dst_hsize", _like_source("h")),
    (r"dma\..*", "localmem_mask_l32", _all_lanes("localmem_mask_l32")),
    (r"dma\..*", "localmem_mask_h32", _all_lanes("localmem_mask_h32")),
    ("dma.decompress", "nchw_copy", lambda f: (0, 1)),
    # The later emulators insist on sizes that say the same twice.
    ("dma.gather", "index_hsize", lambda f: (f.src_hsize if f.nchw_copy else f.dst_hsize,)),
    ("dma.scatter", "index_hsize", lambda f: (f.src_hsize,)),
    *(("dma.reverse", f"dst_{axis}size", _like_source(axis)) for axis in "nchw"),
    ("dma.tensor@4", "dst_csize", lambda f: (0, f.src_nsize)),
    ("dma.tensor@4", "dst_nsize", lambda f: (0, f.src_csize)),
    ("dma.general", "stride_enable", lambda f: (0, 1)),
    *(("dma.general", f"src_{axis}size", lambda f: (0, 1)) for axis in "nch"),
    ("lin", "opd0_prec", lambda f: (f.res0_prec,)),
    ("lin", "opd0_sign", lambda f: (f.res0_sign,) if f.sign_tells(f.opd0_prec) else (0, 1)),
    ("arith@17", "opd2_prec", lambda f: (f.opd0_prec,)),
    ("mm2|conv", "opd1_prec", lambda f: (f.opd0_prec,)),
    ("sg", "opd0_prec", lambda f: (f.res0_prec,)),
    ("sg@0", "opd0_h", lambda f: (1,)),
    ("sg@[01]", "opd1_w", lambda f: (0, 1)),
    ("sg@1", "opd1_prec", lambda f: (3, 4)),
    ("sg", "opd1_c", lambda f: (f.res0_c,)),
    # Compiled models have these, and what was recorded of them agrees bit for bit.
    ("sg@1", "opd3_const", lambda f: (0, 1)),
    ("arith", "res0_sign", lambda f: (0, 1)),
    ("bm1684.dma", "direction", _direction),
    (r"bm1684\..*", "tsk_lane_num", lambda f: (_EVERY_LANE,)),
    *(
        ("bm1684.linear", name, lambda f: (0, 1))
        for name in (
            *(f"opd{index}_{axis}" for index in (0, 1) for axis in "nchw"),
            *("relu", "shift_typ", "res_op_x_str", "res_op_y_str"),
        )
    ),
    ("bm1684.linear", "tsk_opd_num", lambda f: (3,)),
    # Hints of CV18xx: other values end the vendor's simulator, or change nothing.
    *((r"cvi\..*", name, lambda f: (0, 1)) for name in ("shift_typ", "double_conv", "opd2_seg", "opd2_sign")),
    *((r"cvi\..*", name, _third(name, value)) for name, value in _THIRD.items()),
    *(("cvi.lut", name, lambda f: (0, 1)) for name in ("opd0_seg", "opd0_sign", "opd1_seg", "opd1_sign")),
    ("cvi.lut", "tens_lookup", lambda f: (1,)),
    ("cvi.conv", "opd1_str", lambda f: (0, 1)),
    ("cvi.pool", "opd2_str", lambda f: (f.opd2_str,)),
)


@cache
def _rule(family: str, sub: int, field: str) -> Expected | None:
    for pattern, name, rule in _EXPECTED:
        if name == field and re.fullmatch(pattern, f"{family}@{sub}" if "@" in pattern else family):
            return rule
    return None


def is_zero(family: str, sub: int, field: str) -> bool:
    """Whether a field that nothing reads must be zero in every command of a form."""
    return _rule(family, sub, field) is None


def is_expected(family: str, f: Fields, field: str) -> bool:
    """Whether a field that nothing reads has the value that follows from the rest of its command: mostly zero."""
    rule = _rule(family, f.sub, field)
    value = f.number(field)
    return value == 0 if rule is None else value in rule(f)
