"""Moves of CV18xx: one form for everything, told apart by direction and special function."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.hardware.dtypes import BF16, I8, SI8, UI8, DType
from tdb_dap.engine.hardware.geometry import Space
from tdb_dap.engine.hardware.strides import align
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.errors import NotSimulated
from tdb_dap.targets.declaration.family import Row, family, operand, result_
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.declaration.rows import AddressParts
from tdb_dap.targets.families.cv18xx.move_rules import MOVES

LOAD, STORE, GLOBAL_COPY, LOCAL_COPY = range(4)
COPY, TRANSPOSE, FILL = 0, 1, 4

BLOCK = 16
"""Numbers that are compressed together."""
_HEADING, _MOST_BYTES = 16, 36
"""Bytes of the heading of compressed data; of a block of it, at most."""

_MEMORY_BIT = 40


def dtype_of(f: Fields, side: str) -> DType:
    """Format of one side; bytes are numbers only where a conversion takes them as such."""
    if f.number(f"{side}_fmt") == 2:
        return BF16
    if f.number(f"{side}_fmt") > 2:
        raise NotSimulated(f"the format code {f.number(f'{side}_fmt')} of a move is not known")
    if f.src_fmt == 2 or f.dst_fmt == 2:
        return SI8 if f.int8_sign else UI8
    return I8


def is_local(f: Fields, side: str) -> bool:
    """Whether a side is in local memory."""
    return f.trans_dir in ((STORE, LOCAL_COPY) if side == "src" else (LOAD, LOCAL_COPY))


def _parts(f: Fields, side: str) -> AddressParts:
    if is_local(f, side):
        return AddressParts(((f"{side}_base_addr_low", -1, 0),), Space.LOCAL)
    fields = {f"{side}_base_addr_low": 0, f"{side}_base_addr_high": 32, f"{side}_base_reg_sel": _MEMORY_BIT}
    return AddressParts(tuple([(name, -1, shift) for name, shift in fields.items()]), None)


def is_matrix(f: Fields) -> bool:
    """Rows of a matrix: dense in DDR, cut into blocks of columns in local memory, one lane each."""
    return bool(f.sys_dtype)


def matrix_shape(f: Fields) -> tuple[int, int]:
    """Rows and columns; the side in DDR says them."""
    side = "src" if f.trans_dir == LOAD else "dst"
    return f.number(f"{side}_c"), f.number(f"{side}_w")


def _shape(f: Fields, side: str) -> tuple[int, ...]:
    if is_matrix(f):
        return matrix_shape(f)
    n = f.src_c if f.sub == TRANSPOSE and side == "dst" else f.src_n
    return n, f.number(f"{side}_c"), f.number(f"{side}_h"), f.number(f"{side}_w")


def _strides(f: Fields, side: str) -> tuple[int, ...]:
    itemsize = dtype_of(f, side).itemsize
    n = f.number(f"{side}_n_stride")
    c = f.number(f"{side}_c_stride_low") | f.number(f"{side}_c_stride_high") << 16
    h = f.number(f"{side}_h_stride")
    given = (c, 0, 0) if is_matrix(f) and not is_local(f, side) else (n, c, 0 if is_matrix(f) else h)
    # The compiler leaves any number as the step along an extent of 1.
    extents = (2, 2, 2) if is_matrix(f) else _shape(f, side)[:3]
    if any(step % itemsize for step, extent in zip(given, extents, strict=True) if extent > 1):
        raise NotSimulated(f"{side}: a step of an odd number of bytes between numbers of {itemsize} bytes")
    first, second, third = (step // itemsize for step in given)
    if is_matrix(f) and not is_local(f, side):
        return first, 1
    return first, second, third, 1


def _layout(f: Fields, side: str) -> Layout:
    if not is_local(f, side):
        return Layout.DMA_STRIDE
    return Layout.DMA_MATRIX if is_matrix(f) else Layout.STRIDE


def _width(f: Fields, side: str) -> int:
    return f.number(f"{side}_w") if is_matrix(f) and is_local(f, side) else 0


def _row(side: str, make: Any, **details: Any) -> Row:
    row: Row = make(
        side,
        lambda f: _shape(f, side),
        lambda f: _layout(f, side),
        dtype=lambda f: dtype_of(f, side),
        parts=lambda f: _parts(f, side),
        strides=lambda f: _strides(f, side),
        width=lambda f: _width(f, side),
        **details,
    )
    return row


def is_packed(f: Fields) -> bool:
    return bool(f.compress_en)


def numbers_moved(f: Fields) -> int:
    """Numbers of the destination."""
    count = 1
    for extent in _shape(f, "dst"):
        count *= extent
    return count


def _packed_shape(f: Fields) -> tuple[int]:
    blocks = -(-numbers_moved(f) // BLOCK)
    return (_HEADING + align(blocks, BLOCK) + _MOST_BYTES * blocks,)


def _fill(f: Fields) -> bool:
    return f.sub == FILL


@family("cvi.dma", registers=("cvi_load", "cvi_store", "cvi_g2g", "cvi_l2l"))
class Move:
    """Copy of a tensor or matrix, batches and channels exchanged, or a constant.

    Elements go in order, so that both sides may have other shapes. Formats may differ: 8-bit integers become bfloat16
    and back; ``index`` and ``base`` make of bfloat16 the index or the base of a table look-up.
    """

    source = _row("src", operand, constant=_fill, number=lambda f: f.const_val, when=lambda f: not is_packed(f))
    packed = operand(
        "src",
        _packed_shape,
        Layout.STREAM,
        dtype=UI8,
        constant=False,
        parts=lambda f: _parts(f, "src"),
        strides=lambda f: (1,),
        when=is_packed,
    )
    destination = _row("dst", result_)
    rules = MOVES

    @staticmethod
    def attributes(f: Fields) -> dict[str, Any]:
        return {
            "matrix": is_matrix(f),
            "compressed": is_packed(f),
            "toward_zero": bool(f.int8_rnd_mode) and f.src_fmt == 2 and f.dst_fmt != 2,
            "index": bool(f.mv_lut_idx),
            "base": bool(f.mv_lut_base),
        }
