"""final.mlir and the files next to it: lines, ops, records, and the tensors that they name."""
