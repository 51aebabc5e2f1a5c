"""What the instruction families compute: pure functions over arrays, shared by all chips."""

from tdb_dap.targets.semantics import (
    arithmetic,
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
