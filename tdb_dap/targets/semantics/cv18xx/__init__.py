"""Semantics of CV18xx. Source of every rule: fuzzing and lockstep against the vendor's simulator."""

from tdb_dap.targets.semantics.cv18xx import convolution, elements, matrix, move, windows

__all__ = ["convolution", "elements", "matrix", "move", "windows"]
