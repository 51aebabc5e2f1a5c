"""Subcommands that look at a model without running it."""
