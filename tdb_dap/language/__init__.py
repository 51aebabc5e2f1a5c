"""A language server for final.mlir: what the compiled model says about its text, without a session."""
