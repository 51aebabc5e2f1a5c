"""Writing an op, a stretch of commands or a whole model as NumPy code that runs without tdb-dap."""
