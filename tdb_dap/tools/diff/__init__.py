"""``tdb-dap diff``: two compiled models side by side, in structure and in values."""
