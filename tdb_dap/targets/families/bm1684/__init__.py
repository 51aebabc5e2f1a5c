"""Instruction families of BM1684, whose instruction set has nothing in common with those of later chips."""

from tdb_dap.targets.families.bm1684 import arithmetic, dma, functions, matrix, seldom, windows

__all__ = ["arithmetic", "dma", "functions", "matrix", "seldom", "windows"]
