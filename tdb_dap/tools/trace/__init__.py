"""``tdb-dap trace``: questions about all moments of a run, answered as tables."""
