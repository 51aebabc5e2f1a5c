"""The short form of the matrix move: one field serves the side in DDR, one the local side. Written from the fields."""

from __future__ import annotations

from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import Row, family
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.dma.tensors import TRANSPOSE, is_local, is_store, lane_mask, move_attributes, transfer


def _dense(f: Fields, what: str) -> int:
    """A field of the side in DDR: the source of a load, the destination of a store."""
    return f.number(f"src_{what}/dst_{what}")


def _local(f: Fields, what: str) -> int:
    return f.number(f"dst_{what}/src_{what}")


def _shape(f: Fields, side: str) -> tuple[int, ...]:
    height, width = _dense(f, "hsize"), _dense(f, "wsize")
    if not is_local(f, side):
        return 1, 1, height, width
    return (width, height) if f.sub == TRANSPOSE else (height, width)


def _strides(f: Fields, side: str) -> tuple[int, ...]:
    if is_local(f, side):
        return _local(f, "nstride"), _local(f, "cstride"), 0, 1
    return 0, 0, _dense(f, "hstride"), 1


def _row(side: str) -> Row:
    return transfer(
        side,
        lambda f: _shape(f, side),
        storage=lambda f: Layout.DMA_MATRIX if is_local(f, side) else Layout.DMA_STRIDE,
        strides=lambda f: _strides(f, side),
        width=lambda f: _local(f, "wsize") if is_local(f, side) else 0,
        lane_mask=lambda f: None if is_store(f) or side == "src" else lane_mask(f),
    )


@family("dma.matrix", registers=("sDMA_matrix",), evidence="fields")
class ShortMatrixMove:
    """Copy between a dense matrix in DDR and one cut into blocks of ``wsize`` columns, one lane each."""

    source = _row("src")
    destination = _row("dst")
    vendor_text = "short DMA matrix"
    attributes = staticmethod(move_attributes)
