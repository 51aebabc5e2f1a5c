"""Instruction families: what the fields of each instruction mean, once for all chips.

Importing this package declares them all.
"""

from tdb_dap.targets.declaration.family import FAMILIES, Bound, Family
from tdb_dap.targets.families import (
    arithmetic,
    bm1684,
    compare,
    convolution,
    convolution_backward,
    cv18xx,
    dma,
    gather,
    lane_arithmetic,
    linear,
    matrix,
    pooling,
    quantize,
    random_numbers,
    reduction,
    special,
    system,
    transpose,
    vector,
)

__all__ = [
    "FAMILIES",
    "Bound",
    "Family",
    "arithmetic",
    "bm1684",
    "compare",
    "convolution",
    "convolution_backward",
    "cv18xx",
    "dma",
    "gather",
    "lane_arithmetic",
    "linear",
    "matrix",
    "pooling",
    "quantize",
    "random_numbers",
    "reduction",
    "special",
    "system",
    "transpose",
    "vector",
]
