"""``tdb-dap check``: a whole run against the reference, the op at fault, and the report about both."""
