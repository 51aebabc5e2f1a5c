"""What ``tdb-dap sanitize`` finds, as text and as reports."""
