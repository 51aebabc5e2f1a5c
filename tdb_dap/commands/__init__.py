"""The subcommands of ``tdb-dap``: one module each, imported when it is chosen."""
