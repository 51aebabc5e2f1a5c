"""``tdb-dap info``: what a compiled model consists of."""
