"""Floats of 20 bits, packed: 51 of them in a block of 128 bytes. Written from the fields."""

from __future__ import annotations

from typing import Any

from tdb_dap.engine.hardware.dtypes import F32, UI8
from tdb_dap.engine.hardware.views import Layout
from tdb_dap.targets.declaration.family import Row, family
from tdb_dap.targets.declaration.fields import Fields
from tdb_dap.targets.families.dma.tensors import Shape4, default_strides, lane_mask, located, side

_REDUCTIONS = {0: "none", 1: "mul", 2: "max", 3: "min", 4: "add"}


def _shape(f: Fields) -> Shape4:
    return f.src_nsize, f.src_csize, f.src_hsize, f.src_wsize


def _plain(name: str, is_result: bool) -> Row:
    """The float32 side: three strides, columns adjacent."""

    def strides(f: Fields) -> Shape4:
        if f.stride_enable:
            return f.number(f"{name}_nstride"), f.number(f"{name}_cstride"), f.number(f"{name}_hstride"), 1
        return default_strides(f, *located(f, name), _shape(f), F32)

    mask = lane_mask if is_result else None
    return side(name, _shape, is_result, storage=Layout.STRIDE, dtype=F32, strides=strides, lane_mask=mask)


def _packed(name: str, is_result: bool) -> Row:
    """Start of the packed side."""
    byte = (1, 1, 1, 1)
    return side(name, byte, is_result, storage=Layout.STRIDE, dtype=UI8, strides=lambda f: byte)


def _attributes(f: Fields) -> dict[str, Any]:
    return {"reduce": _REDUCTIONS.get(f.all_reduce_code & 7, f.all_reduce_code)}


@family("dma.lossy_compress", registers=("DMA_lossy_compress",), evidence="fields")
class LossyCompress:
    """float32 to packed 20-bit floats."""

    source = _plain("src", is_result=False)
    destination = _packed("dst", is_result=True)
    attributes = staticmethod(_attributes)


@family("dma.lossy_decompress", registers=("DMA_lossy_decompress",), evidence="fields")
class LossyDecompress:
    """Packed 20-bit floats to float32."""

    source = _packed("src", is_result=False)
    destination = _plain("dst", is_result=True)
    attributes = staticmethod(_attributes)
