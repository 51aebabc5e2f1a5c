"""final.mlir and the files beside it: lines, ops, records, and the tensors that they name."""
