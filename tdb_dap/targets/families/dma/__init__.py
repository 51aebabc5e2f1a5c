"""Instruction families of the DMA engine."""

from tdb_dap.targets.families.dma import chip_to_chip, indexed, lossy, matrix_short, packed, tensors

__all__ = ["chip_to_chip", "indexed", "lossy", "matrix_short", "packed", "tensors"]
