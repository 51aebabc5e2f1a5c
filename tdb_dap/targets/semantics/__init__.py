"""Semantics of the instruction families: pure functions over arrays, shared by all chips.

Importing this package registers them all.
"""

from tdb_dap.targets.semantics import (
    arithmetic,
    bm1684,
    compare,
    convolution,
    cv18xx,
    decompress,
    dma,
    gather,
    linear,
    matrix,
    pooling,
    quantize,
    reduction,
    special,
    transpose,
    vector,
)
from tdb_dap.targets.semantics.registry import SEMANTICS

__all__ = [
    "SEMANTICS",
    "arithmetic",
    "bm1684",
    "compare",
    "convolution",
    "cv18xx",
    "decompress",
    "dma",
    "gather",
    "linear",
    "matrix",
    "pooling",
    "quantize",
    "reduction",
    "special",
    "transpose",
    "vector",
]
