"""A chip of four lanes that tdb-dap knows once this package is installed."""
