"""Findings of ``tdb-dap sanitize``, as text and as reports."""
