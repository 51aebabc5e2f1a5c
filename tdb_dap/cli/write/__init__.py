"""Subcommands that write a model in another form: a changed copy, NumPy code."""
