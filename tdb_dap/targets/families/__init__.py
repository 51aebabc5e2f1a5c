"""Instruction families: what the fields of each instruction mean, once for all chips."""

from tdb_dap.targets.families import (
    arithmetic,
    compare,
    convolution,
    dma,
    dma_indexed,
    dma_packed,
    gather,
    linear,
    matrix,
    pooling,
    quantize,
    special,
    system,
    transpose,
    vector,
)
from tdb_dap.targets.families.declaration import FAMILIES, Bound, Family

__all__ = [
    "FAMILIES",
    "Bound",
    "Family",
    "arithmetic",
    "compare",
    "convolution",
    "dma",
    "dma_indexed",
    "dma_packed",
    "gather",
    "linear",
    "matrix",
    "pooling",
    "quantize",
    "special",
    "system",
    "transpose",
    "vector",
]
