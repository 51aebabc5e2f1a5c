"""What the instruction families compute: pure functions over arrays, shared by all chips."""

from tdb_dap.targets.semantics import (
    arithmetic,
    bm1684_arithmetic,
    bm1684_dma,
    bm1684_functions,
    bm1684_matrix,
    bm1684_windows,
    compare,
    convolution,
    dma,
    gather,
    linear,
    matrix,
    pooling,
    quantize,
    special,
    transpose,
    vector,
)
from tdb_dap.targets.semantics.registry import SEMANTICS

__all__ = [
    "SEMANTICS",
    "arithmetic",
    "bm1684_arithmetic",
    "bm1684_dma",
    "bm1684_functions",
    "bm1684_matrix",
    "bm1684_windows",
    "compare",
    "convolution",
    "dma",
    "gather",
    "linear",
    "matrix",
    "pooling",
    "quantize",
    "special",
    "transpose",
    "vector",
]
