"""``tdb-dap dis``: a program as text."""
