"""Subcommands that run a whole model: simulate, check, sanitize, profile."""
