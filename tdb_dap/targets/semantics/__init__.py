"""Semantics of the instruction families: pure functions over arrays, shared by all chips.

Importing this package registers those that chips share; ``Chip.semantics`` those of its own, too.
"""

from tdb_dap.targets.semantics import (
    arithmetic,
    compare,
    convolution,
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
    "compare",
    "convolution",
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
