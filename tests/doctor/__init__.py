"""Tests of ``tdb-dap doctor``: every line, sound and wrong."""
