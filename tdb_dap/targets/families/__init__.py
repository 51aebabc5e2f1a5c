"""Instruction families: what the fields of each instruction mean, once for all chips.

Importing this package declares those that chips share; chips with families of their own import these (``Chip.room``).
"""

from tdb_dap.targets.declaration.family import FAMILIES, Bound, Family
from tdb_dap.targets.families import (
    arithmetic,
    compare,
    convolution,
    convolution_backward,
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
    "compare",
    "convolution",
    "convolution_backward",
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
