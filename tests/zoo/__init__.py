"""Tests of ``tdb-dap zoo``."""
