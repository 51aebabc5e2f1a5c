"""Instruction families of CV18xx: 8-bit integers, bfloat16, and integers of 16 and 32 bits in planes of bytes."""

from tdb_dap.targets.families.cv18xx import convolution, elements, matrix, move, windows

__all__ = ["convolution", "elements", "matrix", "move", "windows"]
