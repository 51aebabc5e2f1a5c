"""Semantics of the instruction families of BM1684."""

from tdb_dap.targets.semantics.bm1684 import arithmetic, dma, functions, matrix, windows

__all__ = ["arithmetic", "dma", "functions", "matrix", "windows"]
